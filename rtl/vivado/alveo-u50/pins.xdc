# SPDX-License-Identifier: Apache-2.0
# Alveo U50. No file with the board's pins could be read for this: they are as remembered from public designs. Compare every pin
# with the master XDC that AMD offers for the board (user guide UG1371) before the first bitstream, the alarm's first of all.
# Nobody has built this project for the board yet.
set_property PACKAGE_PIN AF9 [get_ports pcie_reference_p]
set_property PACKAGE_PIN AF8 [get_ports pcie_reference_n]
set_property -dict {PACKAGE_PIN AW27 IOSTANDARD LVCMOS18 PULLUP true} [get_ports pcie_reset_n]
set_property -dict {PACKAGE_PIN J18 IOSTANDARD LVCMOS18 PULLDOWN true} [get_ports hbm_cattrip]

# The hard block's IP places the transceivers of the lanes. Check in its settings (PCIe block and GT quad) that they are the
# quads of the edge connector.
