// The core's requests for the requester request interface (RQ) of the UltraScale+ hard block: dword-aligned, without
// straddling, tags managed by the core ("client tag"). PG213, "Requester Request Descriptor Formats".
module usp_rq #(
    parameter DATA_WIDTH = 256,
    parameter LANES = DATA_WIDTH / 32,
    parameter USER_WIDTH = DATA_WIDTH == 512 ? 137 : 62
) (
    input  logic clk,
    input  logic rst,

    input  logic tx_valid,
    output logic tx_ready,
    input  logic tx_sop,
    input  logic tx_eop,
    input  logic tx_write,
    input  logic [63:0] tx_address,
    input  logic [10:0] tx_dwords,
    input  logic [3:0] tx_first_be,
    input  logic [3:0] tx_last_be,
    input  logic [pcielab_pkg::TAG_WIDTH-1:0] tx_tag,
    input  logic [DATA_WIDTH-1:0] tx_data,

    output logic [DATA_WIDTH-1:0] s_axis_rq_tdata,
    output logic [LANES-1:0] s_axis_rq_tkeep,
    output logic s_axis_rq_tlast,
    input  logic s_axis_rq_tready,
    output logic [USER_WIDTH-1:0] s_axis_rq_tuser,
    output logic s_axis_rq_tvalid
);
    logic [127:0] descriptor;
    logic [3:0] request_type;
    logic first;
    logic [3:0] last_lane;

    assign request_type = tx_write ? 4'b0001 : 4'b0000;
    // The hard block fills in the requester; traffic class and attributes are 0.
    assign descriptor = {24'b0, tx_tag, 16'b0, 1'b0, request_type, tx_dwords, tx_address[63:2], 2'b00};

    add_header #(.DATA_WIDTH(DATA_WIDTH), .HEADER_DWORDS(4)) packet (
        .clk, .rst, .in_valid(tx_valid), .in_ready(tx_ready), .in_sop(tx_sop), .in_eop(tx_eop), .in_header(descriptor),
        .in_dwords(tx_write ? tx_dwords : 11'd0), .in_data(tx_data),
        .out_valid(s_axis_rq_tvalid), .out_ready(s_axis_rq_tready), .out_first(first), .out_last(s_axis_rq_tlast),
        .out_keep(s_axis_rq_tkeep), .out_data(s_axis_rq_tdata)
    );

    always_comb begin
        last_lane = '0;
        for (int lane = 0; lane < LANES; lane++) if (s_axis_rq_tkeep[lane]) last_lane = 4'(lane);
    end

    if (DATA_WIDTH == 512) begin : user
        // first_be, last_be, addr_offset, is_sop and where, is_eop and where; all else 0.
        assign s_axis_rq_tuser = USER_WIDTH'({
            4'b0, last_lane, 1'b0, s_axis_rq_tlast, 4'b0, 1'b0, first, 4'b0, 4'b0, tx_last_be, 4'b0, tx_first_be
        });
    end else begin : user
        assign s_axis_rq_tuser = USER_WIDTH'({tx_last_be, tx_first_be});
    end
endmodule
