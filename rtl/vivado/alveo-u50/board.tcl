# SPDX-License-Identifier: Apache-2.0
# AMD Alveo U50 (data sheet DS965): PCIe Gen3 x16, or Gen4 x8. Its hard block is PCIE4C. The board has HBM, whose alarm
# (CATTRIP) powers the board off while its pin is high: the top ties it low.
set part xcu50-fsvh2104-2-e
set lanes 16
set link_speed 8.0_GT/s
set hard_block pcie4c_uscale_plus
set top alveo_u50_top
