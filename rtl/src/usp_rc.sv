// What comes back on the requester completion interface (RC) of the UltraScale+ hard block, as the core's completions:
// dword-aligned, without straddling. PG213, "Requester Completion Descriptor Format".
//
// The hard block judges completions too. What it calls a mismatch is shown as a completion that fits no request, data
// that it could not keep intact as poisoned; requests that it gave up itself (time-out, function-level reset) are left out,
// since the core's own time-outs see to them.
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

    output logic rx_valid,
    output logic rx_sop,
    output logic rx_eop,
    output logic [pcielab_pkg::TAG_WIDTH-1:0] rx_tag,
    output logic [2:0] rx_status,
    output logic rx_poisoned,
    output logic [12:0] rx_byte_count,
    output logic [6:0] rx_lower_address,
    output logic [10:0] rx_dwords,
    output logic [DATA_WIDTH-1:0] rx_data
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
        .out_valid(valid), .out_ready(1'b1), .out_sop(rx_sop), .out_eop(rx_eop), .out_header(descriptor),
        .out_damaged(damaged), .out_data(rx_data)
    );

    assign error_code = descriptor[15:12];
    assign left_out = rx_sop ? error_code == FUNCTION_RESET || error_code == TIMED_OUT : held_left_out;
    assign rx_valid = valid && !left_out;
    assign rx_lower_address = descriptor[6:0];
    // No request has 0 bytes left.
    assign rx_byte_count = error_code == MISMATCH ? '0 : descriptor[28:16];
    assign rx_dwords = descriptor[42:32];
    assign rx_status = descriptor[45:43];
    assign rx_tag = descriptor[71:64];
    assign rx_poisoned = damaged || (rx_sop && (descriptor[46] || error_code == POISONED));

    always_ff @(posedge clk) if (valid && rx_sop) held_left_out <= left_out;
endmodule
