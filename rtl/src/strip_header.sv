// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Removes the first HEADER_DWORDS double words, a hard block's descriptor, from each packet of a stream, and shifts the payload
// down to the lowest lane. One beat each clock; with `out_ready` held high, `in_ready` stays high.
//
// Every output beat but the last needs the next input beat. A packet never grows in beats, so that storing one is enough.
module strip_header #(
    parameter DATA_WIDTH = 256,
    parameter HEADER_DWORDS = 4
) (
    input  wire logic clk,
    input  wire logic rst,
    input  wire logic in_valid,
    output logic in_ready,
    input  wire logic in_last,
    // The beat has double words beyond the first HEADER_DWORDS.
    input  wire logic in_beyond,
    // The beat is damaged.
    input  wire logic in_damaged,
    input  wire logic [DATA_WIDTH-1:0] in_data,
    output logic out_valid,
    input  wire logic out_ready,
    output logic out_sop,
    output logic out_eop,
    // With the first beat.
    output logic [32*HEADER_DWORDS-1:0] out_header,
    output logic out_damaged,
    output logic [DATA_WIDTH-1:0] out_data
);
    localparam HEADER_WIDTH = 32 * HEADER_DWORDS;

    logic held_valid, held_first, held_last, held_beyond, held_damaged, in_packet, shows, leaves;
    logic [DATA_WIDTH-1:0] held;

    // A last beat that ends within the header's lanes has already left with the beat before it.
    assign shows = held_last ? held_first || held_beyond : in_valid;
    assign out_valid = held_valid && shows;
    assign out_sop = held_first;
    assign out_eop = held_last || (in_last && !in_beyond);
    assign out_damaged = held_damaged || (!held_last && in_damaged);
    assign out_header = held[HEADER_WIDTH-1:0];
    assign out_data = {held_last ? '0 : in_data[HEADER_WIDTH-1:0], held[DATA_WIDTH-1:HEADER_WIDTH]};

    assign leaves = !held_valid || (held_last && !shows) || (shows && out_ready);
    assign in_ready = leaves;

    always_ff @(posedge clk) begin
        if (in_valid && in_ready) begin
            held <= in_data;
            held_first <= !in_packet;
            held_last <= in_last;
            held_beyond <= in_beyond;
            held_damaged <= in_damaged;
            in_packet <= !in_last;
        end
        held_valid <= (in_valid && in_ready) || (held_valid && !leaves);
        if (rst) {held_valid, in_packet} <= '0;
    end
endmodule

`default_nettype wire
