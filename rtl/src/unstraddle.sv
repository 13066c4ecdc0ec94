// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Separates the packets of a stream in which one may start in the beat where another ends (straddling), removes the first
// three double words of each, a hard block's descriptor, and shifts the payload down to the lowest lane. One beat each clock.
//
// Packets start at a segment of 128 bits, and so does each output beat: it takes the payload of DATA_WIDTH / 128 segments, and
// three double words of the next. The input waits only while packets in one input beat become several output beats.
module unstraddle #(
    parameter DATA_WIDTH = 512,
    parameter SEGMENTS = DATA_WIDTH / 128
) (
    input  wire logic clk,
    input  wire logic rst,
    input  wire logic in_valid,
    output logic in_ready,
    // Segments in which a packet starts or ends; the last double word of those in which one ends.
    input  wire logic [SEGMENTS-1:0] in_starts,
    input  wire logic [SEGMENTS-1:0] in_ends,
    input  wire logic [SEGMENTS-1:0][1:0] in_last_dword,
    // All packets in the beat are damaged.
    input  wire logic in_damaged,
    input  wire logic [DATA_WIDTH-1:0] in_data,
    output logic out_valid,
    output logic out_sop,
    output logic out_eop,
    // With the first beat.
    output logic [95:0] out_header,
    output logic out_damaged,
    output logic [DATA_WIDTH-1:0] out_data
);
    localparam WINDOW = SEGMENTS + 1;
    typedef logic [SEGMENTS-1:0] segments_t;

    function automatic segments_t lowest(segments_t marks);
        for (int n = 0; n < SEGMENTS; n++) lowest[n] = marks[n] && (marks & ((segments_t'(1) << n) - 1'b1)) == '0;
    endfunction
    // Those above the lowest marked one.
    function automatic segments_t above(segments_t marks);
        for (int n = 0; n < SEGMENTS; n++) above[n] = (marks & ((segments_t'(1) << n) - 1'b1)) != '0;
    endfunction

    // The beat before the one at the input. By segment in which a packet starts or continues: whether it ends in the beat,
    // and the segment in which the packet behind it starts.
    logic held_valid, held_damaged;
    segments_t held_ends;
    logic [SEGMENTS-1:0][SEGMENTS-1:0] held_follows;
    logic [DATA_WIDTH-1:0] held;
    // The segment of the held beat in which the packet starts or continues; none without a packet.
    segments_t at;
    segments_t in_held_ends, follows, end_in, fourth;
    logic [SEGMENTS-1:0][SEGMENTS-1:0] in_follows;
    logic in_packet, ends_in_held, valid, eop, leaves;

    // ---- the input as the beat that is held next
    always_comb for (int n = 0; n < SEGMENTS; n++) begin
        automatic segments_t ends = in_ends & ({SEGMENTS{1'b1}} << n);
        in_held_ends[n] = ends != '0;
        in_follows[n] = lowest(in_starts & above(ends));
    end

    // ---- the held beat
    always_comb begin
        follows = '0;
        for (int n = 0; n < SEGMENTS; n++) if (at[n]) follows = held_follows[n];
    end
    assign ends_in_held = (held_ends & at) != '0;
    assign valid = held_valid && at != '0 && (ends_in_held || in_valid);
    assign leaves = at == '0 || (ends_in_held ? follows == '0 : in_valid);
    assign in_ready = !held_valid || leaves;

    // ---- the segments of the output beat, also of the beat at the input
    logic [2*DATA_WIDTH-1:0] all_segments;
    logic [128*WINDOW-1:0] segments;
    assign all_segments = {in_data, held};
    always_comb begin
        segments = '0;
        for (int n = 0; n < SEGMENTS; n++) if (at[n]) segments = all_segments[128*n +: 128*WINDOW];
        for (int n = 0; n < SEGMENTS; n++) fourth[n] = in_last_dword[n] == 2'd3;
    end
    // A packet that ends in the input ends with this output beat, unless that is too short. A fourth double word of the segment
    // that is as high as its first needs another beat.
    assign end_in = lowest(in_ends);
    assign eop = ends_in_held || ((end_in & ~above(at)) != '0 && (end_in & at & fourth) == '0);

    always_ff @(posedge clk) begin
        if (in_ready) begin
            held_ends <= in_held_ends;
            held_follows <= in_follows;
            held_damaged <= in_damaged;
            held <= in_data;
            held_valid <= in_valid;
            if (!valid || ends_in_held) at <= lowest(in_starts);
            else if (eop) at <= lowest(in_starts & above(end_in));
        end else if (valid) at <= follows;
        if (valid) in_packet <= !eop;
        out_valid <= valid;
        out_sop <= !in_packet;
        out_eop <= eop;
        out_header <= segments[95:0];
        out_damaged <= held_damaged || (!ends_in_held && in_damaged);
        out_data <= segments[96 +: DATA_WIDTH];
        if (rst) {held_valid, in_packet, out_valid} <= '0;
    end
endmodule

`default_nettype wire
