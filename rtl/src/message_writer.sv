// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Writes messages to host memory: the data into the ring of the queue, 64 bytes at a time, and then a record of 32 bytes into
// the ring of records. Software reports how far it has read; unread data are never overwritten.
//
// A message longer than a ring loses the rest, and its record says so.
module message_writer #(
    parameter DATA_WIDTH = 256,
    parameter QUEUES = 4,
    parameter QUEUE_WIDTH = $clog2(QUEUES)
) (
    input  wire logic clk,
    input  wire logic rst,
    input  wire registers_pkg::settings_t settings,
    // Parts of each queue that software has read.
    input  wire logic [QUEUES-1:0][31:0] data_taken,
    // Buffers that each queue has given out.
    input  wire logic [QUEUES-1:0][31:0] heads,
    input  wire logic bus_master,

    input  wire logic part_valid,
    output logic part_ready,
    input  wire logic [QUEUE_WIDTH-1:0] part_queue,
    input  wire logic [511:0] part_data,
    input  wire logic [6:0] part_bytes,
    input  wire logic part_first,
    input  wire logic part_last,
    input  wire logic [31:0] part_length,
    input  wire logic part_intact,

    request_stream.source tx,
    // A record has left the core: whoever reads `messages` then finds it in memory, because completions do not pass writes.
    input  wire logic record_left,

    output logic [31:0] messages,
    output logic [31:0] dropped
);
    localparam BEATS = 512 / DATA_WIDTH;

    typedef enum logic [1:0] {LOOK, DATA, RECORD} step_t;

    step_t step;
    logic [QUEUES-1:0][31:0] written, starts;
    logic [31:0] number, start, data_parts, record_count, part_number, in_ring, in_records;
    // Offsets of the next part and of the next record, in units of their size.
    logic [37:0] part_offset;
    logic [31:0] record_offset;
    // The clock, and that in which a record was offered: what is offered does not change.
    logic [63:0] clock, offered;
    logic second, has_data, fits, has_room, has_record_room, overlong;
    // Parts of the message of each queue that were written.
    logic [QUEUES-1:0][31:0] lengths;
    logic [511:0] record;

    assign start = part_first ? written[part_queue] : starts[part_queue];
    assign part_number = written[part_queue];
    assign in_ring = part_number & (data_parts - 1'b1);
    assign in_records = number & (record_count - 1'b1);
    // Earlier parts of this message leave room in the ring.
    assign fits = part_first || lengths[part_queue] < data_parts;
    assign has_data = part_bytes != '0 && fits;
    assign has_room = part_number - data_taken[part_queue] < data_parts;
    assign has_record_room = number - settings.message_records_taken < record_count;

    // The head is the queue's after this buffer is given back.
    assign record = {
        288'b0, heads[part_queue] + 32'd1, 8'(overlong), 8'(part_intact), 16'(part_queue), number + 32'd1,
        starts[part_queue], part_length, offered
    };

    always_comb begin
        tx.header = '0;
        tx.header.write = 1'b1;
        tx.header.first_be = 4'b1111;
        tx.header.last_be = 4'b1111;
        if (step == RECORD) begin
            tx.header.address = {settings.message_records, 12'b0} + 64'({record_offset, 5'b0});
            tx.header.dwords = 11'd8;
            tx.data = record[DATA_WIDTH-1:0];
            tx.eop = 1'b1;
        end else begin
            tx.header.address = {settings.message_data, 12'b0} + 64'({part_offset, 6'b0});
            tx.header.dwords = 11'd16;
            tx.data = part_data[DATA_WIDTH*32'(second) +: DATA_WIDTH];
            tx.eop = BEATS == 1 || second;
        end
    end
    assign tx.valid = step != LOOK;
    assign tx.sop = !second;
    assign part_ready = part_valid && (part_last
        ? step == RECORD && tx.ready
        : has_data ? step == DATA && tx.ready && tx.eop : step == LOOK && bus_master);

    always_ff @(posedge clk) begin
        clock <= clock + 1'b1;
        if (step != RECORD) offered <= clock + 1'b1;
        // All of these are constant from a clock before the request on.
        part_offset <= (38'(part_queue) << settings.message_rings.data_log2) + 38'(in_ring);
        record_offset <= in_records;
        overlong <= 38'(part_length) > {data_parts, 6'b0};
        data_parts <= 32'd1 << settings.message_rings.data_log2;
        record_count <= 32'd1 << settings.message_rings.records_log2;
        unique case (step)
            LOOK: if (part_valid && bus_master) begin
                if (has_data && has_room && (!part_last || has_record_room)) step <= DATA;
                else if (!has_data && part_last && has_record_room) step <= RECORD;
                starts[part_queue] <= start;
                if (part_first) lengths[part_queue] <= '0;
            end
            DATA: if (tx.ready) begin
                second <= BEATS == 2 && !second;
                if (tx.eop) begin
                    written[part_queue] <= part_number + 1'b1;
                    lengths[part_queue] <= lengths[part_queue] + 1'b1;
                    step <= part_last ? RECORD : LOOK;
                end
            end
            RECORD: if (tx.ready) begin
                number <= number + 1'b1;
                dropped <= dropped + 32'(!part_intact);
                step <= LOOK;
            end
            default: step <= LOOK;
        endcase
        messages <= messages + 32'(record_left);
        if (rst) begin
            step <= LOOK;
            {second, written, number, clock, messages, dropped} <= '0;
        end
    end
endmodule

`default_nettype wire
