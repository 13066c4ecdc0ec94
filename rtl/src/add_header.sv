// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Puts HEADER_DWORDS double words, a hard block's descriptor, in front of each packet of a stream and shifts the payload up.
// One beat each clock; a packet takes one more beat if its last one overflows.
module add_header #(
    parameter DATA_WIDTH = 256,
    parameter HEADER_DWORDS = 4,
    parameter LANES = DATA_WIDTH / 32
) (
    input  wire logic clk,
    input  wire logic rst,
    input  wire logic in_valid,
    output logic in_ready,
    input  wire logic in_sop,
    input  wire logic in_eop,
    // With the first beat: the header, and the number of double words of header and payload.
    input  wire logic [32*HEADER_DWORDS-1:0] in_header,
    input  wire logic [11:0] in_dwords,
    input  wire logic [DATA_WIDTH-1:0] in_data,
    output logic out_valid,
    input  wire logic out_ready,
    output logic out_first,
    output logic out_last,
    output logic [LANES-1:0] out_keep,
    // With the last beat: the lane of the last double word.
    output logic [3:0] out_last_lane,
    output logic [DATA_WIDTH-1:0] out_data
);
    localparam HEADER_WIDTH = 32 * HEADER_DWORDS;
    localparam LANE_WIDTH = $clog2(LANES);

    logic flush;
    logic [HEADER_WIDTH-1:0] carried;
    logic [11:0] left, held_left;
    logic is_full;

    assign left = flush || !in_sop ? held_left : in_dwords;
    assign is_full = left[11:LANE_WIDTH] != '0;
    assign in_ready = out_ready && !flush;
    assign out_valid = flush || in_valid;
    assign out_first = in_sop && !flush;
    assign out_last = left <= 12'(LANES);
    assign out_data = {in_data[DATA_WIDTH-HEADER_WIDTH-1:0], flush || !in_sop ? carried : in_header};
    assign out_last_lane = 4'(left) - 4'd1;
    assign out_keep = {LANES{is_full}} | ~({LANES{1'b1}} << left[LANE_WIDTH-1:0]);

    always_ff @(posedge clk) begin
        if (out_valid && out_ready) begin
            carried <= in_data[DATA_WIDTH-1:DATA_WIDTH-HEADER_WIDTH];
            held_left <= left - 12'(LANES);
            flush <= !flush && in_eop && !out_last;
        end
        if (rst) flush <= 1'b0;
    end
endmodule

`default_nettype wire
