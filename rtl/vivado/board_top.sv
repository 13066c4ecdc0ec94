// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// A board: the PCIe pins, the hard block, the core. It is neither simulated nor synthesized here, because the block's model
// is Vivado's; a test compares its ports with those that PG213 lists.
module board_top #(
    parameter DATA_WIDTH = 512,
    parameter LANES = 16,
    parameter TAGS = 256
) (
    input  wire logic pcie_reference_p,
    input  wire logic pcie_reference_n,
    input  wire logic pcie_reset_n,
    input  wire logic [LANES-1:0] pcie_rx_p,
    input  wire logic [LANES-1:0] pcie_rx_n,
    output logic [LANES-1:0] pcie_tx_p,
    output logic [LANES-1:0] pcie_tx_n
);
    localparam KEEP_WIDTH = DATA_WIDTH / 32;
    localparam RQ_USER_WIDTH = DATA_WIDTH == 512 ? 137 : 62;
    localparam RC_USER_WIDTH = DATA_WIDTH == 512 ? 161 : 75;
    localparam CQ_USER_WIDTH = DATA_WIDTH == 512 ? 183 : 88;
    localparam CC_USER_WIDTH = DATA_WIDTH == 512 ? 81 : 33;

    logic reference, reference_gt, reset_n, user_clk, user_reset;
    logic [DATA_WIDTH-1:0] rq_tdata, rc_tdata, cq_tdata, cc_tdata;
    logic [KEEP_WIDTH-1:0] rq_tkeep, rc_tkeep, cq_tkeep, cc_tkeep;
    logic [RQ_USER_WIDTH-1:0] rq_tuser;
    logic [RC_USER_WIDTH-1:0] rc_tuser;
    logic [CQ_USER_WIDTH-1:0] cq_tuser;
    logic [CC_USER_WIDTH-1:0] cc_tuser;
    logic rq_tlast, rc_tlast, cq_tlast, cc_tlast, rq_tvalid, rc_tvalid, cq_tvalid, cc_tvalid;
    logic rc_tready, cq_tready;
    // The hard block repeats its ready on four wires.
    logic [3:0] rq_tready, cc_tready;
    logic [5:0] seq_num0, seq_num1;
    logic seq_num_vld0, seq_num_vld1;
    logic [3:0] tfc_nph_av;
    logic [7:0] fc_ph;
    logic [11:0] fc_pd;
    logic [2:0] fc_sel;
    logic [1:0] np_req, max_payload;
    logic [2:0] max_read_request;
    logic [15:0] function_status;
    logic [3:0] flr_in_process, flr_done, msix_enable, msix_mask, rcb_status, mgmt_byte_enable;
    logic [9:0] mgmt_addr;
    logic [7:0] mgmt_function_number;
    logic [31:0] mgmt_write_data, mgmt_read_data;
    logic mgmt_write, mgmt_read, mgmt_read_write_done, mgmt_debug_access;

    IBUFDS_GTE4 reference_buffer (
        .I(pcie_reference_p), .IB(pcie_reference_n), .CEB(1'b0), .O(reference_gt), .ODIV2(reference)
    );
    IBUF reset_buffer (.I(pcie_reset_n), .O(reset_n));

    pcie4 hard_block (
        .sys_clk(reference), .sys_clk_gt(reference_gt), .sys_reset(reset_n), .user_clk, .user_reset, .user_lnk_up(),
        .pci_exp_rxp(pcie_rx_p), .pci_exp_rxn(pcie_rx_n), .pci_exp_txp(pcie_tx_p), .pci_exp_txn(pcie_tx_n),
        .s_axis_rq_tdata(rq_tdata), .s_axis_rq_tkeep(rq_tkeep), .s_axis_rq_tlast(rq_tlast), .s_axis_rq_tready(rq_tready),
        .s_axis_rq_tuser(rq_tuser), .s_axis_rq_tvalid(rq_tvalid),
        .pcie_rq_seq_num0(seq_num0), .pcie_rq_seq_num_vld0(seq_num_vld0), .pcie_rq_seq_num1(seq_num1),
        .pcie_rq_seq_num_vld1(seq_num_vld1), .pcie_tfc_nph_av(tfc_nph_av), .pcie_tfc_npd_av(),
        .m_axis_rc_tdata(rc_tdata), .m_axis_rc_tkeep(rc_tkeep), .m_axis_rc_tlast(rc_tlast), .m_axis_rc_tready(rc_tready),
        .m_axis_rc_tuser(rc_tuser), .m_axis_rc_tvalid(rc_tvalid),
        .m_axis_cq_tdata(cq_tdata), .m_axis_cq_tkeep(cq_tkeep), .m_axis_cq_tlast(cq_tlast), .m_axis_cq_tready(cq_tready),
        .m_axis_cq_tuser(cq_tuser), .m_axis_cq_tvalid(cq_tvalid), .pcie_cq_np_req(np_req), .pcie_cq_np_req_count(),
        .s_axis_cc_tdata(cc_tdata), .s_axis_cc_tkeep(cc_tkeep), .s_axis_cc_tlast(cc_tlast), .s_axis_cc_tready(cc_tready),
        .s_axis_cc_tuser(cc_tuser), .s_axis_cc_tvalid(cc_tvalid),
        .cfg_fc_ph(fc_ph), .cfg_fc_pd(fc_pd), .cfg_fc_nph(), .cfg_fc_npd(), .cfg_fc_cplh(), .cfg_fc_cpld(), .cfg_fc_sel(fc_sel),
        .cfg_max_payload(max_payload), .cfg_max_read_req(max_read_request), .cfg_function_status(function_status),
        .cfg_rcb_status(rcb_status), .cfg_flr_in_process(flr_in_process), .cfg_flr_done(flr_done),
        .cfg_mgmt_addr(mgmt_addr), .cfg_mgmt_function_number(mgmt_function_number), .cfg_mgmt_write(mgmt_write),
        .cfg_mgmt_write_data(mgmt_write_data), .cfg_mgmt_byte_enable(mgmt_byte_enable), .cfg_mgmt_read(mgmt_read),
        .cfg_mgmt_read_data(mgmt_read_data), .cfg_mgmt_read_write_done(mgmt_read_write_done),
        .cfg_mgmt_debug_access(mgmt_debug_access),
        .cfg_interrupt_msix_enable(msix_enable), .cfg_interrupt_msix_mask(msix_mask), .cfg_interrupt_msix_int(1'b0),
        .cfg_interrupt_msix_data('0), .cfg_interrupt_msix_address('0),
        .cfg_config_space_enable(1'b1), .cfg_link_training_enable(1'b1), .cfg_err_cor_in(1'b0), .cfg_err_uncor_in(1'b0),
        .cfg_interrupt_int('0), .cfg_interrupt_pending('0), .cfg_power_state_change_ack(1'b1), .cfg_hot_reset_in(1'b0)
    );

    // No memory behind AXI: commands have block RAM.
    pcielab_usp #(.DATA_WIDTH(DATA_WIDTH), .TAGS(TAGS)) device (
        .user_clk, .user_reset,
        .s_axis_rq_tdata(rq_tdata), .s_axis_rq_tkeep(rq_tkeep), .s_axis_rq_tlast(rq_tlast),
        .s_axis_rq_tready(rq_tready[0]), .s_axis_rq_tuser(rq_tuser), .s_axis_rq_tvalid(rq_tvalid),
        .pcie_rq_seq_num0(seq_num0), .pcie_rq_seq_num_vld0(seq_num_vld0), .pcie_rq_seq_num1(seq_num1),
        .pcie_rq_seq_num_vld1(seq_num_vld1), .pcie_tfc_nph_av(tfc_nph_av), .cfg_fc_ph(fc_ph), .cfg_fc_pd(fc_pd),
        .cfg_fc_sel(fc_sel),
        .m_axis_rc_tdata(rc_tdata), .m_axis_rc_tkeep(rc_tkeep), .m_axis_rc_tlast(rc_tlast), .m_axis_rc_tready(rc_tready),
        .m_axis_rc_tuser(rc_tuser), .m_axis_rc_tvalid(rc_tvalid),
        .m_axis_cq_tdata(cq_tdata), .m_axis_cq_tkeep(cq_tkeep), .m_axis_cq_tlast(cq_tlast), .m_axis_cq_tready(cq_tready),
        .m_axis_cq_tuser(cq_tuser), .m_axis_cq_tvalid(cq_tvalid), .pcie_cq_np_req(np_req),
        .s_axis_cc_tdata(cc_tdata), .s_axis_cc_tkeep(cc_tkeep), .s_axis_cc_tlast(cc_tlast),
        .s_axis_cc_tready(cc_tready[0]), .s_axis_cc_tuser(cc_tuser), .s_axis_cc_tvalid(cc_tvalid),
        .cfg_max_payload(max_payload), .cfg_max_read_req(max_read_request), .cfg_function_status(function_status),
        .cfg_rcb_status(rcb_status), .cfg_flr_in_process(flr_in_process), .cfg_flr_done(flr_done),
        .cfg_interrupt_msix_enable(msix_enable), .cfg_interrupt_msix_mask(msix_mask), .cfg_mgmt_addr(mgmt_addr),
        .cfg_mgmt_function_number(mgmt_function_number), .cfg_mgmt_write(mgmt_write), .cfg_mgmt_write_data(mgmt_write_data),
        .cfg_mgmt_byte_enable(mgmt_byte_enable), .cfg_mgmt_read(mgmt_read), .cfg_mgmt_read_data(mgmt_read_data),
        .cfg_mgmt_read_write_done(mgmt_read_write_done), .cfg_mgmt_debug_access(mgmt_debug_access),
        .m_axi_awready('0), .m_axi_wready('0), .m_axi_bvalid('0), .m_axi_bid('0), .m_axi_bresp('0), .m_axi_arready('0),
        .m_axi_rvalid('0), .m_axi_rid('0), .m_axi_rdata('0), .m_axi_rresp('0), .m_axi_rlast('0), .m_axi_awvalid(), .m_axi_awid(),
        .m_axi_awaddr(), .m_axi_awlen(), .m_axi_awsize(), .m_axi_awburst(), .m_axi_wvalid(), .m_axi_wdata(), .m_axi_wstrb(),
        .m_axi_wlast(), .m_axi_bready(), .m_axi_arvalid(), .m_axi_arid(), .m_axi_araddr(), .m_axi_arlen(), .m_axi_arsize(),
        .m_axi_arburst(), .m_axi_rready()
    );
endmodule

`default_nettype wire
