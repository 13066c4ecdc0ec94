// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Cuts transfers into parts that fit a TLP: reads at multiples of MRRS, writes at multiples of MPS. Both divide 4 KiB, so
// that no part crosses a page. One part each clock, the first one two clocks after its transfer.
module splitter (
    input  wire logic clk,
    input  wire logic rst,
    // Both limits as the device control register encodes them: 128 << code bytes. They may change at any time: a transfer is
    // cut by the limit of the clock before the one in which it is taken.
    input  wire logic [2:0] max_payload,
    input  wire logic [2:0] max_read_request,
    input  wire logic in_valid,
    output logic in_ready,
    input  wire pcielab_pkg::transfer_t in_transfer,
    // A transfer waits, or a part.
    output logic busy,
    output logic out_valid,
    input  wire logic out_ready,
    output pcielab_pkg::transfer_t out_part,
    output logic out_first,
    output logic out_last,
    // Parts of the whole transfer.
    output logic [5:0] out_parts
);
    import pcielab_pkg::*;

    transfer_t rest, next;
    logic next_valid, next_ready;
    logic [LENGTH_WIDTH-1:0] limit, room;
    logic [3:0] doublings, in_doublings, next_doublings, payload_doublings, read_request_doublings;
    // From the limit in front of the transfer to its last byte.
    logic [LENGTH_WIDTH-1:0] in_last, next_last;
    // Bits of an address below the limit.
    logic [LENGTH_WIDTH-1:0] in_mask, next_mask;
    // Parts of the transfer after its first, and those after the current one.
    logic [5:0] next_more, more;

    assign limit = LENGTH_WIDTH'(128) << doublings;
    assign room = limit - (rest.address[LENGTH_WIDTH-1:0] & (limit - 1'b1));
    // A mask for each limit is ready before a transfer comes, whose address it cuts in the same clock.
    logic [LENGTH_WIDTH-1:0] payload_mask, read_request_mask;
    always_ff @(posedge clk) begin
        payload_doublings <= 4'(max_payload);
        read_request_doublings <= 4'(max_read_request);
        payload_mask <= ~({LENGTH_WIDTH{1'b1}} << (4'd7 + 4'(max_payload)));
        read_request_mask <= ~({LENGTH_WIDTH{1'b1}} << (4'd7 + 4'(max_read_request)));
    end
    assign in_doublings = in_transfer.write ? payload_doublings : read_request_doublings;
    assign in_mask = in_transfer.write ? payload_mask : read_request_mask;
    assign in_last = (in_transfer.address[LENGTH_WIDTH-1:0] & in_mask) + in_transfer.length - 1'b1;
    stream_register #(.WIDTH($bits(transfer_t) + 4 + 2 * LENGTH_WIDTH)) waiting (
        .clk, .rst, .in_valid, .in_ready, .in_data({in_transfer, in_doublings, in_mask, in_last}),
        .out_valid(next_valid), .out_ready(next_ready), .out_data({next, next_doublings, next_mask, next_last})
    );
    assign next_more = 6'(next_last >> (4'd7 + next_doublings));

    assign busy = next_valid || out_valid;
    always_comb begin
        out_part = rest;
        out_part.length = out_last ? rest.length : room;
    end
    assign next_ready = !out_valid || (out_ready && out_last);

    always_ff @(posedge clk) begin
        if (next_valid && next_ready) begin
            rest <= next;
            doublings <= next_doublings;
            out_first <= 1'b1;
            out_last <= (next_last & ~next_mask) == '0;
            more <= next_more;
            out_parts <= next_more + 1'b1;
        end else if (out_valid && out_ready) begin
            rest.address <= rest.address + 64'(room);
            rest.offset <= rest.offset + OFFSET_WIDTH'(room);
            rest.length <= rest.length - room;
            out_first <= 1'b0;
            out_last <= more == 6'd1;
            more <= more - 1'b1;
        end
        out_valid <= (next_valid && next_ready) || (out_valid && !(out_ready && out_last));
        if (rst) out_valid <= 1'b0;
    end
endmodule

`default_nettype wire
