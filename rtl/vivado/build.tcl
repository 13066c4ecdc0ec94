# SPDX-License-Identifier: Apache-2.0
# Builds the core for a board with Vivado: project, synthesis, implementation, timing check, bitstream.
#
#   vivado -mode batch -source rtl/vivado/build.tcl -tclargs BOARD [STEP] [DIRECTORY]
#
# BOARD is a folder beside this file: alveo-u50, alveo-u200, alveo-u250 or kcu116. STEP is `project`, `timing` or `bitstream` (the default); each
# includes the steps in front of it. DIRECTORY is the folder of the project (rtl-BOARD).
#
# It follows the documentation of the hard block (PG213). It has never run in Vivado, and no bitstream of it exists.

set boards {alveo-u50 alveo-u200 alveo-u250 kcu116}
set steps {project timing bitstream}
set board [lindex $argv 0]
set step [expr {[llength $argv] > 1 ? [lindex $argv 1] : "bitstream"}]
set directory [expr {[llength $argv] > 2 ? [lindex $argv 2] : "rtl-$board"}]
if {$board eq "kcu105"} {
    error "kcu105: its hard block is that of UltraScale (PG156), whose ports and sequence numbers differ; give one of $boards"
}
if {$board ni $boards || $step ni $steps} {
    error "usage: -tclargs BOARD \[STEP\] \[DIRECTORY\]: BOARD is one of $boards, STEP one of $steps"
}
set here [file dirname [file normalize [info script]]]

# Sets part, lanes and link_speed, and hard_block and top where they differ.
set hard_block pcie4_uscale_plus
set top board_top
source $here/$board/board.tcl

# ---- project
create_project pcielab $directory -part $part
add_files [lsort [glob $here/../src/*.sv]]
add_files -norecurse [concat $here/board_top.sv [lsort [glob -nocomplain $here/$board/*.sv]]]
add_files -fileset constrs_1 [list $here/clock.xdc $here/$board/pins.xdc]
set_property generic "LANES=$lanes" [current_fileset]
set_property top $top [current_fileset]

# At 8 GT/s x16 and at 16 GT/s x8, the hard block has 512 bits at 250 MHz.
create_ip -name $hard_block -vendor xilinx.com -library ip -module_name pcie4
set_property -dict [list \
    CONFIG.mode_selection {Advanced} \
    CONFIG.PL_LINK_CAP_MAX_LINK_SPEED $link_speed \
    CONFIG.PL_LINK_CAP_MAX_LINK_WIDTH X$lanes \
    CONFIG.axisten_if_width {512_bit} \
    CONFIG.axisten_freq {250} \
    CONFIG.AXISTEN_IF_EXT_512_CQ_STRADDLE {false} \
    CONFIG.AXISTEN_IF_EXT_512_CC_STRADDLE {false} \
    CONFIG.AXISTEN_IF_EXT_512_RQ_STRADDLE {false} \
    CONFIG.AXISTEN_IF_EXT_512_RC_STRADDLE {true} \
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
    CONFIG.pf0_bar4_enabled {true} \
    CONFIG.pf0_bar4_64bit {true} \
    CONFIG.pf0_bar4_scale {Kilobytes} \
    CONFIG.pf0_bar4_size {64} \
    CONFIG.pf0_msi_enabled {false} \
    CONFIG.pf0_msix_enabled {true} \
    CONFIG.MSI_X_OPTIONS {MSI-X_External} \
    CONFIG.PF0_MSIX_CAP_TABLE_SIZE {000} \
    CONFIG.PF0_MSIX_CAP_TABLE_BIR {BAR_1:0} \
    CONFIG.PF0_MSIX_CAP_TABLE_OFFSET {00002000} \
    CONFIG.PF0_MSIX_CAP_PBA_BIR {BAR_1:0} \
    CONFIG.PF0_MSIX_CAP_PBA_OFFSET {00002800} \
] [get_ips pcie4]
generate_target all [get_ips pcie4]
if {$step eq "project"} {
    puts "made the project in $directory"
    return
}

# ---- synthesis, implementation and timing
launch_runs impl_1 -jobs 4
wait_on_run impl_1
if {[get_property PROGRESS [get_runs impl_1]] ne "100%"} {
    error "implementation stopped: [get_property STATUS [get_runs impl_1]]"
}
open_run impl_1
report_timing_summary -file $directory/timing.txt
foreach {kind delay} {setup max hold min} {
    set slack [get_property SLACK [get_timing_paths -delay_type $delay]]
    if {$slack < 0} {
        error "timing is not met: $kind slack is $slack ns; $directory/timing.txt lists the paths"
    }
}
if {$step eq "timing"} {
    puts "timing is met: $directory/timing.txt"
    return
}

# ---- bitstream
launch_runs impl_1 -to_step write_bitstream -jobs 4
wait_on_run impl_1
if {[get_property PROGRESS [get_runs impl_1]] ne "100%"} {
    error "no bitstream: [get_property STATUS [get_runs impl_1]]"
}
puts "wrote $directory/pcielab.runs/impl_1/$top.bit"
