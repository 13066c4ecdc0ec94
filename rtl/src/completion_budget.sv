// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Holds reads back until the hard block has room for all of their completions: an endpoint advertises infinite completion
// credits, and the block drops what does not fit its buffer. A read reserves a header for each read completion boundary that
// it touches, and a credit of data for each 16 bytes. A completion frees the space of the bytes that it answers, so that one
// that was not cut frees its unused headers too. Writes pass in order with the reads.
//
// A completion that fits no request frees nothing: its tag is retired, and more may still arrive for it.
module completion_budget #(
    // Completion headers and bytes of completion data that the hard block stores.
    parameter COMPLETION_HEADERS = 256,
    parameter COMPLETION_DATA_BYTES = 28672
) (
    input  wire logic clk,
    // Everything is free, and no part waits.
    input  wire logic rst,
    // Completions are cut at multiples of 128 bytes, not 64. Takes effect with a reset.
    input  wire logic boundary_128,

    input  wire logic in_valid,
    output logic in_ready,
    input  wire pcielab_pkg::transfer_t in_part,
    input  wire logic in_first,
    input  wire logic in_last,
    input  wire logic [5:0] in_parts,

    output logic out_valid,
    input  wire logic out_ready,
    output pcielab_pkg::transfer_t out_part,
    output logic out_first,
    output logic out_last,
    output logic [5:0] out_parts,
    // Parts wait.
    output logic busy,

    // A completion ends: the lowest bits of the address and the bytes that it answers, and whether it is its read's first.
    input  wire logic freed,
    input  wire logic freed_first,
    input  wire logic [6:0] freed_address,
    input  wire logic [pcielab_pkg::LENGTH_WIDTH-1:0] freed_bytes
);
    import pcielab_pkg::*;

    // 16 bytes each.
    localparam CREDITS = COMPLETION_DATA_BYTES / 16;
    localparam HEADERS_WIDTH = $clog2(COMPLETION_HEADERS + 1);
    localparam CREDITS_WIDTH = $clog2(CREDITS + 1);
    // A read of 4 KiB takes 64 headers and 256 credits.
    localparam MOST_HEADERS = 64, MOST_CREDITS = 256;
    if (COMPLETION_HEADERS < MOST_HEADERS || CREDITS < MOST_CREDITS)
        $error("a read of 4096 bytes needs COMPLETION_HEADERS of at least 64 and COMPLETION_DATA_BYTES of at least 4096");

    // Boundaries whose header a range of bytes takes: all that it touches, but one that the completion before it took.
    function automatic logic [6:0] headers_of(logic is_128, logic first, logic [6:0] address, logic [LENGTH_WIDTH-1:0] bytes);
        automatic logic [6:0] at = is_128 ? address : {1'b0, address[5:0]};
        automatic logic [LENGTH_WIDTH-1:0] reach = bytes + LENGTH_WIDTH'(at) - 1'b1;
        return (is_128 ? 7'(reach >> 7) : 7'(reach >> 6)) + 7'(first || at == '0);
    endfunction
    function automatic logic [8:0] credits_of(logic [3:0] at, logic [LENGTH_WIDTH-1:0] bytes);
        return 9'((bytes + LENGTH_WIDTH'(at) + LENGTH_WIDTH'(15)) >> 4);
    endfunction

    logic is_128, held_valid, room, put, fits, admitted;
    transfer_t held;
    logic held_first, held_last;
    logic [5:0] held_parts;
    logic [6:0] headers_needed, headers_freed;
    logic [8:0] credits_needed, credits_freed;
    // The completion that ended a clock ago.
    logic ended, ended_first;
    logic [6:0] ended_address;
    logic [LENGTH_WIDTH-1:0] ended_bytes;
    logic [HEADERS_WIDTH-1:0] headers;
    logic [CREDITS_WIDTH-1:0] credits;

    assign in_ready = !held_valid || admitted;
    assign fits = headers >= HEADERS_WIDTH'(headers_needed) && credits >= CREDITS_WIDTH'(credits_needed);
    assign put = held_valid && fits;
    assign admitted = put && room;
    assign busy = held_valid || out_valid;

    // Two parts: more would keep space from reads that have a tag.
    stream_fifo #(.WIDTH($bits(transfer_t) + 8), .DEPTH(2)) ready_parts (
        .clk, .rst, .in_valid(put), .in_ready(room), .in_data({held, held_first, held_last, held_parts}),
        .out_valid, .out_ready, .out_data({out_part, out_first, out_last, out_parts}), .count()
    );

    always_ff @(posedge clk) begin
        if (in_valid && in_ready) begin
            held <= in_part;
            {held_first, held_last, held_parts} <= {in_first, in_last, in_parts};
            headers_needed <= in_part.write ? '0 : headers_of(is_128, 1'b1, in_part.address[6:0], in_part.length);
            credits_needed <= in_part.write ? '0 : credits_of(in_part.address[3:0], in_part.length);
        end
        held_valid <= (in_valid && in_ready) || (held_valid && !admitted);
        {ended, ended_first, ended_address, ended_bytes} <= {freed, freed_first, freed_address, freed_bytes};
        headers_freed <= ended ? headers_of(is_128, ended_first, ended_address, ended_bytes) : '0;
        credits_freed <= ended ? credits_of(ended_address[3:0], ended_bytes) : '0;
        headers <= headers - HEADERS_WIDTH'(admitted ? headers_needed : '0) + HEADERS_WIDTH'(headers_freed);
        credits <= credits - CREDITS_WIDTH'(admitted ? credits_needed : '0) + CREDITS_WIDTH'(credits_freed);
        if (rst) begin
            is_128 <= boundary_128;
            {held_valid, ended, headers_freed, credits_freed} <= '0;
            headers <= HEADERS_WIDTH'(COMPLETION_HEADERS);
            credits <= CREDITS_WIDTH'(CREDITS);
        end
    end
endmodule

`default_nettype wire
