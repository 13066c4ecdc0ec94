# SPDX-License-Identifier: Apache-2.0
# AMD KCU116 (user guide UG1239), with a Kintex UltraScale+ KU5P: the FPGA supports PCIe Gen4 x8. Check in the user guide
# whether your board's slot and revision do; link_speed 8.0_GT/s is the fallback.
set part xcku5p-ffvb676-2-e
set lanes 8
set link_speed 16.0_GT/s
