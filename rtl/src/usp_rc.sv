// Converts the requester completion interface (RC) of the UltraScale+ hard block to the core's completions: dword-aligned,
// without straddling. PG213, "Requester Completion Descriptor Format".
//
// The hard block checks completions too. Its mismatches become completions that fit no request, and damaged data become
// poisoned. Requests that it gave up itself (time-out, function-level reset) are left out: the core has its own time-outs.
module usp_rc #(
    parameter DATA_WIDTH = 256,
    parameter LANES = DATA_WIDTH / 32,
    parameter USER_WIDTH = DATA_WIDTH == 512 ? 161 : 75
) (
    input  logic clk,
    input  logic rst,

    input  logic [DATA_WIDTH-1:0] m_axis_rc_tdata,
    input  logic [LANES-1:0] m_axis_rc_tkeep,
    input  logic m_axis_rc_tlast,
    output logic m_axis_rc_tready,
    input  logic [USER_WIDTH-1:0] m_axis_rc_tuser,
    input  logic m_axis_rc_tvalid,

    completion_stream.source rx
);
    localparam DISCONTINUE = DATA_WIDTH == 512 ? 96 : 42;
    // Error codes of the descriptor.
    localparam logic [3:0] POISONED = 4'b0001, MISMATCH = 4'b0100, FUNCTION_RESET = 4'b1000, TIMED_OUT = 4'b1001;

    logic valid, damaged, left_out, held_left_out;
    logic [95:0] descriptor;
    logic [3:0] error_code;

    strip_header #(.DATA_WIDTH(DATA_WIDTH), .HEADER_DWORDS(3)) packet (
        .clk, .rst, .in_valid(m_axis_rc_tvalid), .in_ready(m_axis_rc_tready), .in_last(m_axis_rc_tlast),
        .in_beyond(m_axis_rc_tkeep[3]), .in_damaged(m_axis_rc_tuser[DISCONTINUE]), .in_data(m_axis_rc_tdata),
        .out_valid(valid), .out_ready(1'b1), .out_sop(rx.sop), .out_eop(rx.eop), .out_header(descriptor),
        .out_damaged(damaged), .out_data(rx.data)
    );

    assign error_code = descriptor[15:12];
    assign left_out = rx.sop ? error_code == FUNCTION_RESET || error_code == TIMED_OUT : held_left_out;
    assign rx.valid = valid && !left_out;
    assign rx.header.lower_address = descriptor[6:0];
    // No request has 0 bytes left.
    assign rx.header.byte_count = error_code == MISMATCH ? '0 : descriptor[28:16];
    assign rx.header.dwords = descriptor[42:32];
    assign rx.header.status = descriptor[45:43];
    assign rx.header.tag = descriptor[71:64];
    assign rx.poisoned = damaged || (rx.sop && (descriptor[46] || error_code == POISONED));

    always_ff @(posedge clk) if (valid && rx.sop) held_left_out <= left_out;
endmodule
