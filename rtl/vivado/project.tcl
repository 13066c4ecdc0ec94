# Makes a Vivado project with the core behind the UltraScale+ PCIe hard block, ready for synthesis.
#
#   vivado -mode batch -source rtl/vivado/project.tcl -tclargs PART [DIRECTORY] [LANES]
#
# PART is the FPGA, for example xcvu9p-flga2104-2L-e; DIRECTORY is the folder of the project (rtl-vivado); LANES is 8 (256
# bits at 250 MHz) or 16 (512 bits at 250 MHz), both at 8 GT/s. Add your board's constraints for the pins and the reference
# clock to the project.
#
# It follows the documentation of the block (PG213) and has run neither in Vivado nor on a board.

if {[llength $argv] < 1} {
    puts stderr "usage: vivado -mode batch -source rtl/vivado/project.tcl -tclargs PART \[DIRECTORY\] \[LANES\]"
    exit 2
}
set part [lindex $argv 0]
set directory [expr {[llength $argv] > 1 ? [lindex $argv 1] : "rtl-vivado"}]
set lanes [expr {[llength $argv] > 2 ? [lindex $argv 2] : 8}]
if {$lanes ni {8 16}} {
    puts stderr "LANES is $lanes: give 8 or 16"
    exit 2
}
set width [expr {$lanes == 16 ? 512 : 256}]
set here [file dirname [file normalize [info script]]]

create_project pcielab $directory -part $part
add_files [glob $here/../src/*.sv]
add_files -norecurse $here/board_top.sv
set_property generic "DATA_WIDTH=$width LANES=$lanes" [current_fileset]
set_property top board_top [current_fileset]
add_files -fileset constrs_1 $here/timing.xdc

create_ip -name pcie4_uscale_plus -vendor xilinx.com -library ip -module_name pcie4
set_property -dict [list \
    CONFIG.PL_LINK_CAP_MAX_LINK_SPEED {8.0_GT/s} \
    CONFIG.PL_LINK_CAP_MAX_LINK_WIDTH X$lanes \
    CONFIG.AXISTEN_IF_EXT_512 [expr {$lanes == 16 ? "true" : "false"}] \
    CONFIG.axisten_if_width ${width}_bit \
    CONFIG.axisten_freq {250} \
    CONFIG.alignment_mode {DWORD_Aligned} \
    CONFIG.AXISTEN_IF_RC_STRADDLE {false} \
    CONFIG.axisten_if_enable_client_tag {true} \
    CONFIG.extended_tag_field {true} \
    CONFIG.PF0_DEVICE_ID {9038} \
    CONFIG.PF0_CLASS_CODE {118000} \
    CONFIG.PF0_DEV_CAP_MAX_PAYLOAD {1024_bytes} \
    CONFIG.pf0_bar0_64bit {true} \
    CONFIG.pf0_bar0_scale {Kilobytes} \
    CONFIG.pf0_bar0_size {128} \
    CONFIG.pf0_bar2_enabled {true} \
    CONFIG.pf0_bar2_64bit {true} \
    CONFIG.pf0_bar2_prefetchable {true} \
    CONFIG.pf0_bar2_scale {Kilobytes} \
    CONFIG.pf0_bar2_size {32} \
    CONFIG.pf0_msi_enabled {false} \
    CONFIG.pf0_msix_enabled {true} \
    CONFIG.PF0_MSIX_CAP_TABLE_SIZE {000} \
    CONFIG.PF0_MSIX_CAP_TABLE_BIR {BAR_1:0} \
    CONFIG.PF0_MSIX_CAP_TABLE_OFFSET {00002000} \
    CONFIG.PF0_MSIX_CAP_PBA_BIR {BAR_1:0} \
    CONFIG.PF0_MSIX_CAP_PBA_OFFSET {00002800} \
    CONFIG.cfg_flr_if {true} \
] [get_ips pcie4]
generate_target all [get_ips pcie4]
puts "made $directory: add your board's constraints, then synthesize"
