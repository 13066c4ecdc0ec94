// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Turns parts of transfers into requests on the link, in order: a tag for each read, a slot among the reads in flight for
// each transfer that reads, byte enables, and the payload of writes. A read takes one clock, a write one clock per beat.
module request_engine #(
    parameter DATA_WIDTH = 256,
    parameter TAGS = 64,
    parameter ID_WIDTH = $clog2(TAGS)
) (
    input  wire logic clk,
    input  wire logic rst,
    input  wire logic [31:0] data_key,
    // Tags have 10 bits.
    input  wire logic ten_bit_tags,

    input  wire logic part_valid,
    output logic part_ready,
    input  wire pcielab_pkg::transfer_t part,
    input  wire logic part_first,
    input  wire logic part_last,

    input  wire logic tag_valid,
    input  wire logic [ID_WIDTH-1:0] tag,
    input  wire logic slot_valid,
    input  wire logic [ID_WIDTH-1:0] slot,
    // `issue`: a read takes the offered tag. `issue_first`: it is the first of a transfer, and also takes the offered slot.
    output logic issue,
    output logic issue_first,
    output logic [ID_WIDTH-1:0] issue_slot,

    request_stream.source tx,
    // With a beat: whether it starts or ends its transfer, and the bytes of its request.
    output logic tx_starts_transfer,
    output logic tx_ends_transfer,
    output logic [pcielab_pkg::LENGTH_WIDTH-1:0] tx_bytes
);
    import pcielab_pkg::*;

    localparam LANES = DATA_WIDTH / 32;

    logic [ID_WIDTH-1:0] slot_of_transfer;
    logic can_issue, has_room, read_waits, load, next_beat;
    logic [1:0] lead, last_byte;
    logic [10:0] dwords, dwords_left;
    logic [OFFSET_WIDTH-1:0] beat_offset, data_offset;
    logic ends_transfer;

    assign lead = part.address[1:0];
    assign last_byte = lead + part.length[1:0] - 2'd1;
    assign dwords = dwords_of(lead, part.length);

    assign can_issue = part.write || (tag_valid && (!part_first || slot_valid));
    // The next beat of a write, or the next request.
    assign next_beat = tx.valid && tx.ready && !tx.eop;
    assign has_room = !tx.valid || (tx.ready && tx.eop);
    assign load = part_valid && can_issue && has_room;
    assign part_ready = can_issue && has_room;

    // `tx.ready` is late: what takes tags and slots waits for nothing else.
    assign read_waits = part_valid && can_issue && !part.write;
    assign issue = read_waits && has_room;
    assign issue_first = read_waits && part_first && has_room;
    assign issue_slot = part_first ? slot : slot_of_transfer;

    // Inside a write, nothing else can load: the choice need not wait for `load`.
    assign data_offset = !tx.valid || tx.eop ? {part.offset[OFFSET_WIDTH-1:2], 2'b00} : beat_offset;
    assign tx_ends_transfer = ends_transfer && tx.eop;

    always_ff @(posedge clk) begin
        if (load) begin
            tx.sop <= 1'b1;
            tx.eop <= !part.write || dwords <= 11'(LANES);
            tx.header.write <= part.write;
            tx.header.address <= {part.address[63:2], 2'b00};
            tx.header.dwords <= dwords;
            tx.header.first_be <= enables_from(lead) & (dwords == 11'd1 ? enables_to(last_byte) : 4'b1111);
            tx.header.last_be <= dwords == 11'd1 ? 4'b0000 : enables_to(last_byte);
            tx.header.tag <= part.write ? '0
                : TAGS > FIRST_TEN_BIT_TAG && ten_bit_tags ? TAG_WIDTH'(tag) + TAG_WIDTH'(FIRST_TEN_BIT_TAG) : TAG_WIDTH'(tag);
            {tx.header.report, tx.header.epoch} <= '0;
            tx_starts_transfer <= part_first;
            tx_bytes <= part.length;
            ends_transfer <= part_last;
            dwords_left <= dwords - 11'(LANES);
            slot_of_transfer <= issue_slot;
        end else if (next_beat) begin
            tx.sop <= 1'b0;
            tx_starts_transfer <= 1'b0;
            tx.eop <= dwords_left <= 11'(LANES);
            dwords_left <= dwords_left - 11'(LANES);
        end
        if (load || next_beat) begin
            beat_offset <= data_offset + OFFSET_WIDTH'(LANES * 4);
            for (int lane = 0; lane < LANES; lane++)
                tx.data[32*lane +: 32] <= pattern_at(data_offset + OFFSET_WIDTH'(4 * lane), data_key);
        end
        tx.valid <= load || (tx.valid && !(tx.ready && tx.eop));
        if (rst) tx.valid <= 1'b0;
    end
endmodule

`default_nettype wire
