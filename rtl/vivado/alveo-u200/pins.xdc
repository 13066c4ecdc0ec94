# SPDX-License-Identifier: Apache-2.0
# Alveo U200: the pins of LiteX' platform for the board (litex-boards 2023.12), which are those of the U250. Compare every pin
# with the master XDC that AMD offers for the board (user guide UG1289) before the first bitstream: nobody has built this project
# for the board yet.
set_property PACKAGE_PIN AM11 [get_ports pcie_reference_p]
set_property PACKAGE_PIN AM10 [get_ports pcie_reference_n]
set_property -dict {PACKAGE_PIN BD21 IOSTANDARD LVCMOS12 PULLUP true} [get_ports pcie_reset_n]

# The hard block's IP places the transceivers of the lanes. Check in its settings (PCIe block and GT quad) that they are the
# quads of the edge connector.
