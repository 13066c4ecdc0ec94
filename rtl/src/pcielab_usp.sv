// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// The core behind the PCIe hard block of an UltraScale+ device ("Integrated Block for PCIe", PG213): connect ports of
// the same names. rtl/README.md has the configuration of the block.
module pcielab_usp #(
    // 256 or 512.
    parameter DATA_WIDTH = 256,
    parameter TAGS = 64,
    parameter RECORDS = 4096,
    parameter CLOCK_PS = 4000,
    // The hard block's space for completions: cocotbext-pcie's author measured 256 headers, and 32 KiB for headers, 16 bytes
    // each, and data. PG213 lists 128 headers.
    parameter COMPLETION_HEADERS = 256,
    parameter COMPLETION_DATA_BYTES = 32768 - 16 * COMPLETION_HEADERS,
    parameter COMMANDS = 1,
    parameter MEMORY_BYTES = 65536,
    // 1: that memory is behind the AXI port, as HBM is, in the clock of the core; 0: block RAM.
    parameter MEMORY_AXI = 0,
    // 0: the hard block's credit wires (pcie_tfc_nph_av, cfg_fc_ph, cfg_fc_pd) are not connected.
    parameter TRANSMIT_CREDITS = 1,
    // The hard block straddles completions: two with 256 bits, four with 512.
    parameter RC_STRADDLE = 1,
    parameter KEEP_WIDTH = DATA_WIDTH / 32,
    parameter RQ_USER_WIDTH = DATA_WIDTH == 512 ? 137 : 62,
    parameter RC_USER_WIDTH = DATA_WIDTH == 512 ? 161 : 75,
    parameter CQ_USER_WIDTH = DATA_WIDTH == 512 ? 183 : 88,
    parameter CC_USER_WIDTH = DATA_WIDTH == 512 ? 81 : 33
) (
    input  wire logic user_clk,
    input  wire logic user_reset,

    output logic [DATA_WIDTH-1:0] s_axis_rq_tdata,
    output logic [KEEP_WIDTH-1:0] s_axis_rq_tkeep,
    output logic s_axis_rq_tlast,
    input  wire logic s_axis_rq_tready,
    output logic [RQ_USER_WIDTH-1:0] s_axis_rq_tuser,
    output logic s_axis_rq_tvalid,
    input  wire logic [5:0] pcie_rq_seq_num0,
    input  wire logic pcie_rq_seq_num_vld0,
    input  wire logic [5:0] pcie_rq_seq_num1,
    input  wire logic pcie_rq_seq_num_vld1,
    input  wire logic [3:0] pcie_tfc_nph_av,

    input  wire logic [DATA_WIDTH-1:0] m_axis_rc_tdata,
    input  wire logic [KEEP_WIDTH-1:0] m_axis_rc_tkeep,
    input  wire logic m_axis_rc_tlast,
    output logic m_axis_rc_tready,
    input  wire logic [RC_USER_WIDTH-1:0] m_axis_rc_tuser,
    input  wire logic m_axis_rc_tvalid,

    input  wire logic [DATA_WIDTH-1:0] m_axis_cq_tdata,
    input  wire logic [KEEP_WIDTH-1:0] m_axis_cq_tkeep,
    input  wire logic m_axis_cq_tlast,
    output logic m_axis_cq_tready,
    input  wire logic [CQ_USER_WIDTH-1:0] m_axis_cq_tuser,
    input  wire logic m_axis_cq_tvalid,
    output logic [1:0] pcie_cq_np_req,

    output logic [DATA_WIDTH-1:0] s_axis_cc_tdata,
    output logic [KEEP_WIDTH-1:0] s_axis_cc_tkeep,
    output logic s_axis_cc_tlast,
    input  wire logic s_axis_cc_tready,
    output logic [CC_USER_WIDTH-1:0] s_axis_cc_tuser,
    output logic s_axis_cc_tvalid,

    input  wire logic [7:0] cfg_fc_ph,
    input  wire logic [11:0] cfg_fc_pd,
    output logic [2:0] cfg_fc_sel,
    input  wire logic [1:0] cfg_max_payload,
    input  wire logic [2:0] cfg_max_read_req,
    input  wire logic [15:0] cfg_function_status,
    input  wire logic [3:0] cfg_rcb_status,
    input  wire logic [3:0] cfg_flr_in_process,
    output logic [3:0] cfg_flr_done,
    input  wire logic [3:0] cfg_interrupt_msix_enable,
    input  wire logic [3:0] cfg_interrupt_msix_mask,

    output logic [9:0] cfg_mgmt_addr,
    output logic [7:0] cfg_mgmt_function_number,
    output logic cfg_mgmt_write,
    output logic [31:0] cfg_mgmt_write_data,
    output logic [3:0] cfg_mgmt_byte_enable,
    output logic cfg_mgmt_read,
    input  wire logic [31:0] cfg_mgmt_read_data,
    input  wire logic cfg_mgmt_read_write_done,
    output logic cfg_mgmt_debug_access,

    output logic m_axi_awvalid, m_axi_awid, m_axi_wvalid, m_axi_wlast, m_axi_bready, m_axi_arvalid, m_axi_arid, m_axi_rready,
    input  wire logic m_axi_awready, m_axi_wready, m_axi_bvalid, m_axi_bid, m_axi_arready, m_axi_rvalid, m_axi_rid, m_axi_rlast,
    output logic [33:0] m_axi_awaddr, m_axi_araddr,
    output logic [7:0] m_axi_awlen, m_axi_arlen,
    output logic [2:0] m_axi_awsize, m_axi_arsize,
    output logic [1:0] m_axi_awburst, m_axi_arburst,
    input  wire logic [1:0] m_axi_bresp, m_axi_rresp,
    output logic [DATA_WIDTH-1:0] m_axi_wdata,
    output logic [DATA_WIDTH/8-1:0] m_axi_wstrb,
    input  wire logic [DATA_WIDTH-1:0] m_axi_rdata
);
    request_stream #(.DATA_WIDTH(DATA_WIDTH)) tx ();
    completion_stream #(.DATA_WIDTH(DATA_WIDTH)) rx ();
    host_stream #(.DATA_WIDTH(DATA_WIDTH)) host (), store ();
    register_access access ();
    answer_stream #(.DATA_WIDTH(DATA_WIDTH)) answer ();
    memory_read #(.DATA_WIDTH(DATA_WIDTH)) load ();
    logic posted_credit, non_posted_credit, read_entered;
    logic [5:0] number;
    pcielab_pkg::out_t out;

    logic extended_tags_known, extended_tags;

    axi_port #(.DATA_WIDTH(DATA_WIDTH)) axi ();
    assign {m_axi_awvalid, m_axi_awid, m_axi_awaddr, m_axi_awlen, m_axi_awsize, m_axi_awburst}
        = {axi.awvalid, axi.awid, axi.awaddr, axi.awlen, axi.awsize, axi.awburst};
    assign {m_axi_wvalid, m_axi_wdata, m_axi_wstrb, m_axi_wlast, m_axi_bready}
        = {axi.wvalid, axi.wdata, axi.wstrb, axi.wlast, axi.bready};
    assign {m_axi_arvalid, m_axi_arid, m_axi_araddr, m_axi_arlen, m_axi_arsize, m_axi_arburst, m_axi_rready}
        = {axi.arvalid, axi.arid, axi.araddr, axi.arlen, axi.arsize, axi.arburst, axi.rready};
    assign {axi.awready, axi.wready, axi.bvalid, axi.bresp} = {m_axi_awready, m_axi_wready, m_axi_bvalid, m_axi_bresp};
    assign {axi.arready, axi.rvalid, axi.rdata, axi.rresp, axi.rlast}
        = {m_axi_arready, m_axi_rvalid, m_axi_rdata, m_axi_rresp, m_axi_rlast};

    // The descriptors of RQ and RC have tags of 8 bits.
    if (TAGS > 256) $error("the UltraScale+ hard block has tags of 8 bits: TAGS is at most 256");

    benchmark_core #(
        .DATA_WIDTH(DATA_WIDTH), .TAGS(TAGS), .RECORDS(RECORDS), .CLOCK_PS(CLOCK_PS),
        .COMPLETION_HEADERS(COMPLETION_HEADERS), .COMPLETION_DATA_BYTES(COMPLETION_DATA_BYTES),
        .COMMANDS(COMMANDS), .MEMORY_BYTES(MEMORY_BYTES), .MEMORY_AXI(MEMORY_AXI)
    ) core (
        .clk(user_clk), .rst(user_reset), .max_payload({1'b0, cfg_max_payload}), .max_read_request(cfg_max_read_req),
        .bus_master(cfg_function_status[2]), .completion_boundary_128(cfg_rcb_status[0]), .extended_tags_known,
        .extended_tags, .ten_bit_tags(1'b0), .posted_credit, .non_posted_credit, .out, .function_reset(cfg_flr_in_process[0]),
        .function_reset_done(cfg_flr_done[0]), .msix_enable(cfg_interrupt_msix_enable[0]),
        .msix_mask(cfg_interrupt_msix_mask[0]), .tx, .rx, .access, .store, .load, .axi, .test_ended()
    );
    assign cfg_flr_done[3:1] = '0;
    // Request non-posted requests without a limit: the completer holds them up itself.
    assign pcie_cq_np_req = 2'b11;

    usp_device_control device_control (
        .clk(user_clk), .rst(user_reset), .cfg_mgmt_addr, .cfg_mgmt_function_number, .cfg_mgmt_write, .cfg_mgmt_write_data,
        .cfg_mgmt_byte_enable, .cfg_mgmt_read, .cfg_mgmt_read_data, .cfg_mgmt_read_write_done, .cfg_mgmt_debug_access,
        .known(extended_tags_known), .extended_tags
    );
    usp_credits #(.TRANSMIT_CREDITS(TRANSMIT_CREDITS)) credits (
        .clk(user_clk), .rst(user_reset), .bus_master(cfg_function_status[2]), .max_payload(cfg_max_payload),
        .taken(tx.valid && tx.ready), .sop(tx.sop), .eop(tx.eop), .header(tx.header), .number, .read_entered, .pcie_tfc_nph_av,
        .cfg_fc_ph, .cfg_fc_pd, .cfg_fc_sel, .pcie_rq_seq_num0, .pcie_rq_seq_num_vld0, .pcie_rq_seq_num1,
        .pcie_rq_seq_num_vld1, .posted_credit, .non_posted_credit, .out
    );
    usp_rq #(.DATA_WIDTH(DATA_WIDTH)) requests (
        .clk(user_clk), .rst(user_reset), .tx, .number, .read_entered, .s_axis_rq_tdata, .s_axis_rq_tkeep, .s_axis_rq_tlast, .s_axis_rq_tready,
        .s_axis_rq_tuser, .s_axis_rq_tvalid
    );
    usp_rc #(.DATA_WIDTH(DATA_WIDTH), .RC_STRADDLE(RC_STRADDLE)) completions (
        .clk(user_clk), .rst(user_reset), .m_axis_rc_tdata, .m_axis_rc_tkeep, .m_axis_rc_tlast, .m_axis_rc_tready,
        .m_axis_rc_tuser, .m_axis_rc_tvalid, .rx
    );
    usp_cq #(.DATA_WIDTH(DATA_WIDTH)) host_requests (
        .clk(user_clk), .rst(user_reset), .m_axis_cq_tdata, .m_axis_cq_tkeep, .m_axis_cq_tlast, .m_axis_cq_tready,
        .m_axis_cq_tuser, .m_axis_cq_tvalid, .host
    );
    completer #(.DATA_WIDTH(DATA_WIDTH), .COMMANDS(COMMANDS)) host_side (
        .clk(user_clk), .rst(user_reset), .host, .store, .load, .answer, .access
    );
    usp_cc #(.DATA_WIDTH(DATA_WIDTH)) answers (
        .clk(user_clk), .rst(user_reset), .answer, .s_axis_cc_tdata, .s_axis_cc_tkeep, .s_axis_cc_tlast, .s_axis_cc_tready,
        .s_axis_cc_tuser, .s_axis_cc_tvalid
    );
endmodule

`default_nettype wire
