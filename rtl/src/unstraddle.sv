// Separates the packets of a stream in which one may start in the beat where another ends (straddling), removes the first
// three double words of each, a hard block's descriptor, and shifts the payload down to the lowest lane. One beat each clock.
//
// Packets start at a segment of 128 bits, and so does each output beat: it takes the payload of DATA_WIDTH / 128 segments, and
// three double words of the next. The input waits only while packets in one input beat become several output beats.
module unstraddle #(
    parameter DATA_WIDTH = 512,
    parameter SEGMENTS = DATA_WIDTH / 128
) (
    input  logic clk,
    input  logic rst,
    input  logic in_valid,
    output logic in_ready,
    // Segments in which a packet starts or ends; the last double word of those in which one ends.
    input  logic [SEGMENTS-1:0] in_starts,
    input  logic [SEGMENTS-1:0] in_ends,
    input  logic [SEGMENTS-1:0][1:0] in_last_dword,
    // All packets in the beat are damaged.
    input  logic in_damaged,
    input  logic [DATA_WIDTH-1:0] in_data,
    output logic out_valid,
    output logic out_sop,
    output logic out_eop,
    // With the first beat.
    output logic [95:0] out_header,
    output logic out_damaged,
    output logic [DATA_WIDTH-1:0] out_data
);
    localparam INDEX_WIDTH = $clog2(2 * SEGMENTS + 1);
    localparam WINDOW = SEGMENTS + 1;
    typedef logic [INDEX_WIDTH-1:0] index_t;
    localparam index_t BEAT = index_t'(SEGMENTS);

    // The beat before the one at the input.
    logic held_valid, held_damaged;
    logic [SEGMENTS-1:0] held_starts, held_ends;
    logic [SEGMENTS-1:0][1:0] held_last_dword;
    logic [DATA_WIDTH-1:0] held;
    // The next segment of the held beat to look at; a packet continues there.
    index_t next, start, end_held, end_at;
    logic in_packet, ends_in_held, more, found, valid, eop, leaves;

    // ---- the held beat: the packet's segment, its end, and whether another packet follows
    always_comb begin
        start = next;
        if (!in_packet) begin
            start = BEAT;
            for (int n = SEGMENTS - 1; n >= 0; n--) if (held_starts[n] && index_t'(n) >= next) start = index_t'(n);
        end
        {ends_in_held, end_held, more} = '0;
        for (int n = SEGMENTS - 1; n >= 0; n--) if (held_ends[n] && index_t'(n) >= start) begin
            ends_in_held = 1'b1;
            end_held = index_t'(n);
        end
        for (int n = 0; n < SEGMENTS; n++) if (ends_in_held && held_starts[n] && index_t'(n) > end_held) more = 1'b1;
    end
    assign valid = held_valid && start != BEAT && (ends_in_held || in_valid);
    assign leaves = start == BEAT || (ends_in_held ? !more : in_valid);
    assign in_ready = !held_valid || leaves;

    // ---- the segments of the output beat, from `start` on, also of the beat at the input
    logic [2*SEGMENTS-1:0] all_ends;
    logic [4*SEGMENTS-1:0] all_last_dword;
    logic [2*DATA_WIDTH-1:0] all_segments;
    logic [WINDOW-1:0] ends;
    logic [2*WINDOW-1:0] last_dword;
    logic [128*WINDOW-1:0] segments;
    assign all_ends = {in_ends, held_ends};
    assign all_last_dword = {in_last_dword, held_last_dword};
    assign all_segments = {in_data, held};
    always_comb begin
        {ends, last_dword, segments} = '0;
        for (int first = 0; first < SEGMENTS; first++) if (start == index_t'(first)) begin
            ends = all_ends[first +: WINDOW];
            last_dword = all_last_dword[2*first +: 2*WINDOW];
            segments = all_segments[128*first +: 128*WINDOW];
        end
        {found, end_at} = '0;
        for (int n = WINDOW - 1; n >= 0; n--) if (ends[n]) begin
            found = 1'b1;
            end_at = index_t'(n);
        end
    end
    // A fourth double word of the last segment needs another beat.
    assign eop = found && (end_at != BEAT || last_dword[2*SEGMENTS +: 2] != 2'd3);

    always_ff @(posedge clk) begin
        if (in_ready) begin
            held_starts <= in_starts;
            held_ends <= in_ends;
            held_last_dword <= in_last_dword;
            held_damaged <= in_damaged;
            held <= in_data;
            held_valid <= in_valid;
        end
        if (valid) begin
            in_packet <= !eop;
            if (ends_in_held) next <= more ? end_held + 1'b1 : '0;
            else next <= eop ? start + end_at + 1'b1 - BEAT : start;
        end else if (in_ready) next <= '0;
        out_valid <= valid;
        out_sop <= !in_packet;
        out_eop <= eop;
        out_header <= segments[95:0];
        out_damaged <= held_damaged || (!ends_in_held && in_damaged);
        out_data <= segments[96 +: DATA_WIDTH];
        if (rst) {held_valid, in_packet, next, out_valid} <= '0;
    end
endmodule
