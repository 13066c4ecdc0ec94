// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Converts the requester completion interface (RC) of the UltraScale+ hard block to the core's completions: dword-aligned.
// With straddling, a completion may start in the beat where another ends: two of them with 256 bits, four with 512. PG213,
// "Requester Completion Descriptor Format" and "Straddle Option for Requester Completion Interface".
//
// The hard block checks completions too. Its mismatches become completions that fit no request, and damaged data become
// poisoned. Requests that it gave up itself (time-out, function-level reset) are left out: the core has its own time-outs.
module usp_rc #(
    parameter DATA_WIDTH = 256,
    // As the hard block is configured.
    parameter RC_STRADDLE = 1,
    parameter LANES = DATA_WIDTH / 32,
    parameter USER_WIDTH = DATA_WIDTH == 512 ? 161 : 75
) (
    input  wire logic clk,
    input  wire logic rst,

    input  wire logic [DATA_WIDTH-1:0] m_axis_rc_tdata,
    input  wire logic [LANES-1:0] m_axis_rc_tkeep,
    input  wire logic m_axis_rc_tlast,
    output logic m_axis_rc_tready,
    input  wire logic [USER_WIDTH-1:0] m_axis_rc_tuser,
    input  wire logic m_axis_rc_tvalid,

    completion_stream.source rx
);
    localparam DISCONTINUE = DATA_WIDTH == 512 ? 96 : 42;
    // Error codes of the descriptor.
    localparam logic [3:0] POISONED = 4'b0001, MISMATCH = 4'b0100, FUNCTION_RESET = 4'b1000, TIMED_OUT = 4'b1001;

    logic valid, damaged, left_out, held_left_out;
    logic [95:0] descriptor;
    logic [3:0] error_code;

    if (RC_STRADDLE) begin : straddled
        localparam SEGMENTS = DATA_WIDTH / 128;
        logic [SEGMENTS-1:0] starts, ends;
        logic [SEGMENTS-1:0][1:0] last_dword;
        if (DATA_WIDTH == 512) begin : marks
            // is_sop with the segment, is_eop with the lane.
            always_comb begin
                {starts, ends, last_dword} = '0;
                for (int n = 0; n < SEGMENTS; n++) begin
                    automatic logic [3:0] lane = m_axis_rc_tuser[80 + 4 * n +: 4];
                    if (m_axis_rc_tuser[64 + n]) starts[m_axis_rc_tuser[68 + 2 * n +: 2]] = 1'b1;
                    if (m_axis_rc_tuser[76 + n]) begin
                        ends[lane[3:2]] = 1'b1;
                        last_dword[lane[3:2]] = lane[1:0];
                    end
                end
            end
        end else begin : marks
            // A completion continues in the beat; the first start, is_sof_0, is then in the second segment.
            logic continues;
            always_comb begin
                starts = {m_axis_rc_tuser[33] || (m_axis_rc_tuser[32] && continues), m_axis_rc_tuser[32] && !continues};
                {ends, last_dword} = '0;
                for (int n = 0; n < SEGMENTS; n++) begin
                    automatic logic [2:0] lane = m_axis_rc_tuser[35 + 4 * n +: 3];
                    if (m_axis_rc_tuser[34 + 4 * n]) begin
                        ends[lane[2]] = 1'b1;
                        last_dword[lane[2]] = lane[1:0];
                    end
                end
            end
            always_ff @(posedge clk) begin
                if (m_axis_rc_tvalid && m_axis_rc_tready) continues <= ^{continues, starts, ends};
                if (rst) continues <= 1'b0;
            end
        end
        logic marked_valid, marked_ready, marked_damaged;
        logic [SEGMENTS-1:0] marked_starts, marked_ends;
        logic [SEGMENTS-1:0][1:0] marked_last_dword;
        logic [DATA_WIDTH-1:0] marked_data;
        stream_register #(.WIDTH(DATA_WIDTH + 4 * SEGMENTS + 1)) marked (
            .clk, .rst, .in_valid(m_axis_rc_tvalid), .in_ready(m_axis_rc_tready),
            .in_data({starts, ends, last_dword, m_axis_rc_tuser[DISCONTINUE], m_axis_rc_tdata}),
            .out_valid(marked_valid), .out_ready(marked_ready),
            .out_data({marked_starts, marked_ends, marked_last_dword, marked_damaged, marked_data})
        );
        unstraddle #(.DATA_WIDTH(DATA_WIDTH)) packets (
            .clk, .rst, .in_valid(marked_valid), .in_ready(marked_ready), .in_starts(marked_starts), .in_ends(marked_ends),
            .in_last_dword(marked_last_dword), .in_damaged(marked_damaged), .in_data(marked_data),
            .out_valid(valid), .out_sop(rx.sop), .out_eop(rx.eop), .out_header(descriptor), .out_damaged(damaged),
            .out_data(rx.data)
        );
    end else begin : separate
        strip_header #(.DATA_WIDTH(DATA_WIDTH), .HEADER_DWORDS(3)) packet (
            .clk, .rst, .in_valid(m_axis_rc_tvalid), .in_ready(m_axis_rc_tready), .in_last(m_axis_rc_tlast),
            .in_beyond(m_axis_rc_tkeep[3]), .in_damaged(m_axis_rc_tuser[DISCONTINUE]), .in_data(m_axis_rc_tdata),
            .out_valid(valid), .out_ready(1'b1), .out_sop(rx.sop), .out_eop(rx.eop), .out_header(descriptor),
            .out_damaged(damaged), .out_data(rx.data)
        );
    end

    assign error_code = descriptor[15:12];
    assign left_out = rx.sop ? error_code == FUNCTION_RESET || error_code == TIMED_OUT : held_left_out;
    assign rx.valid = valid && !left_out;
    assign rx.header.lower_address = descriptor[6:0];
    // No request has 0 bytes left.
    assign rx.header.byte_count = error_code == MISMATCH ? '0 : descriptor[28:16];
    assign rx.header.dwords = descriptor[42:32];
    assign rx.header.status = descriptor[45:43];
    assign rx.header.tag = pcielab_pkg::TAG_WIDTH'(descriptor[71:64]);
    assign rx.poisoned = damaged || (rx.sop && (descriptor[46] || error_code == POISONED));

    always_ff @(posedge clk) if (valid && rx.sop) held_left_out <= left_out;
endmodule

`default_nettype wire
