// Takes the first HEADER_DWORDS double words off each packet of a stream, and moves what follows down to the lowest lane:
// a hard block's descriptor off its payload. A beat a clock; with `out_ready` held high, `in_ready` stays high.
//
// A beat that comes out needs the next one that goes in, unless it is the last; a packet never has more beats behind this
// module than before it, so that nothing has to be stored but one beat.
module strip_header #(
    parameter DATA_WIDTH = 256,
    parameter HEADER_DWORDS = 4
) (
    input  logic clk,
    input  logic rst,
    input  logic in_valid,
    output logic in_ready,
    input  logic in_last,
    // The beat has double words beyond the first HEADER_DWORDS.
    input  logic in_beyond,
    // Something of the beat is damaged.
    input  logic in_damaged,
    input  logic [DATA_WIDTH-1:0] in_data,
    output logic out_valid,
    input  logic out_ready,
    output logic out_sop,
    output logic out_eop,
    // Beside the first beat.
    output logic [32*HEADER_DWORDS-1:0] out_header,
    output logic out_damaged,
    output logic [DATA_WIDTH-1:0] out_data
);
    localparam HEADER_WIDTH = 32 * HEADER_DWORDS;

    logic held_valid, held_first, held_last, held_beyond, held_damaged, in_packet, shows, leaves;
    logic [DATA_WIDTH-1:0] held;

    // The last beat of a packet has been told of already where it reaches no further than the header's lanes.
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
        if (rst) begin
            held_valid <= 1'b0;
            in_packet <= 1'b0;
        end
    end
endmodule
