# SPDX-License-Identifier: Apache-2.0
# KCU116. Compare every pin with the master XDC that AMD offers for the board (user guide UG1239) before the first
# bitstream: nobody has built this project for the board yet.
set_property PACKAGE_PIN V7 [get_ports pcie_reference_p]
set_property PACKAGE_PIN V6 [get_ports pcie_reference_n]
set_property PACKAGE_PIN T19 [get_ports pcie_reset_n]
set_property PULLUP true [get_ports pcie_reset_n]
# Add the I/O standard of the reset's bank from the master XDC; without one, the bitstream step stops with NSTD-1:
# set_property IOSTANDARD ... [get_ports pcie_reset_n]

# The hard block's IP places the transceivers of the lanes. Check in its settings (PCIe block and GT quad) that they are the
# quads of the edge connector: 224 and 225, lane 0 in quad 225, according to public designs for the board.
