# SPDX-License-Identifier: Apache-2.0
# AMD Alveo U200 (data sheet DS962): PCIe Gen3 x16.
set part xcu200-fsgd2104-2-e
set lanes 16
set link_speed 8.0_GT/s
