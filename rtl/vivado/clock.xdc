# SPDX-License-Identifier: Apache-2.0
# The reference clock of the slot.
create_clock -period 10.000 -name pcie_reference [get_ports pcie_reference_p]
set_false_path -from [get_ports pcie_reset_n]
