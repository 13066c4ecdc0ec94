// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Ports of the hard block and of the buffers in front of it, without contents, to check those of board_top.sv. Names and
// widths are those of PG213 for 512 bits ("Port Descriptions"), of the ports that the board uses.
module pcie4 #(
    parameter LANES = `LANES
) (
    input  wire logic sys_clk, sys_clk_gt, sys_reset,
    output logic user_clk, user_reset, user_lnk_up,
    input  wire logic [LANES-1:0] pci_exp_rxp, pci_exp_rxn,
    output logic [LANES-1:0] pci_exp_txp, pci_exp_txn,

    input  wire logic [511:0] s_axis_rq_tdata,
    input  wire logic [15:0] s_axis_rq_tkeep,
    input  wire logic s_axis_rq_tlast, s_axis_rq_tvalid,
    input  wire logic [136:0] s_axis_rq_tuser,
    output logic [3:0] s_axis_rq_tready,
    output logic [5:0] pcie_rq_seq_num0, pcie_rq_seq_num1,
    output logic pcie_rq_seq_num_vld0, pcie_rq_seq_num_vld1,
    output logic [3:0] pcie_tfc_nph_av, pcie_tfc_npd_av,

    output logic [511:0] m_axis_rc_tdata,
    output logic [15:0] m_axis_rc_tkeep,
    output logic m_axis_rc_tlast, m_axis_rc_tvalid,
    output logic [160:0] m_axis_rc_tuser,
    input  wire logic m_axis_rc_tready,

    output logic [511:0] m_axis_cq_tdata,
    output logic [15:0] m_axis_cq_tkeep,
    output logic m_axis_cq_tlast, m_axis_cq_tvalid,
    output logic [182:0] m_axis_cq_tuser,
    input  wire logic m_axis_cq_tready,
    input  wire logic [1:0] pcie_cq_np_req,
    output logic [5:0] pcie_cq_np_req_count,

    input  wire logic [511:0] s_axis_cc_tdata,
    input  wire logic [15:0] s_axis_cc_tkeep,
    input  wire logic s_axis_cc_tlast, s_axis_cc_tvalid,
    input  wire logic [80:0] s_axis_cc_tuser,
    output logic [3:0] s_axis_cc_tready,

    output logic [7:0] cfg_fc_ph, cfg_fc_nph, cfg_fc_cplh,
    output logic [11:0] cfg_fc_pd, cfg_fc_npd, cfg_fc_cpld,
    input  wire logic [2:0] cfg_fc_sel,
    output logic [1:0] cfg_max_payload,
    output logic [2:0] cfg_max_read_req,
    output logic [15:0] cfg_function_status,
    output logic [3:0] cfg_rcb_status,
    input  wire logic [9:0] cfg_mgmt_addr,
    input  wire logic [7:0] cfg_mgmt_function_number,
    input  wire logic cfg_mgmt_write, cfg_mgmt_read, cfg_mgmt_debug_access,
    input  wire logic [31:0] cfg_mgmt_write_data,
    input  wire logic [3:0] cfg_mgmt_byte_enable,
    output logic [31:0] cfg_mgmt_read_data,
    output logic cfg_mgmt_read_write_done,
    output logic [3:0] cfg_flr_in_process,
    input  wire logic [3:0] cfg_flr_done,
    output logic [3:0] cfg_interrupt_msix_enable, cfg_interrupt_msix_mask,
    input  wire logic cfg_interrupt_msix_int,
    input  wire logic [31:0] cfg_interrupt_msix_data,
    input  wire logic [63:0] cfg_interrupt_msix_address,
    input  wire logic cfg_config_space_enable, cfg_link_training_enable, cfg_err_cor_in, cfg_err_uncor_in,
    input  wire logic [3:0] cfg_interrupt_int, cfg_interrupt_pending,
    input  wire logic cfg_power_state_change_ack, cfg_hot_reset_in
);
endmodule

module IBUFDS_GTE4 (
    input  wire logic I, IB, CEB,
    output logic O, ODIV2
);
endmodule

module IBUF (
    input  wire logic I,
    output logic O
);
endmodule

`default_nettype wire
