# SPDX-License-Identifier: Apache-2.0
# AMD Alveo U250 (data sheet DS962): PCIe Gen3 x16.
set part xcu250-figd2104-2L-e
set lanes 16
set link_speed 8.0_GT/s
