// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Takes messages that cores write with write-combining stores: puts each store into its queue by address, and writes each
// message to host memory in order.
module message_receiver #(
    parameter DATA_WIDTH = 256,
    parameter QUEUES = 4,
    parameter SLOTS = 64
) (
    input  wire logic clk,
    input  wire logic rst,
    input  wire registers_pkg::settings_t settings,
    input  wire logic [QUEUES-1:0][31:0] data_taken,
    input  wire logic bus_master,

    host_stream.sink store,
    request_stream.source tx,
    // A record that was handed over at `tx` has left the core.
    input  wire logic record_left,

    output logic [QUEUES-1:0][31:0] heads,
    output logic [31:0] messages,
    output logic [31:0] dropped,
    output logic [31:0] stores_lost,
    output logic [31:0] stores_bad
);
    localparam QUEUE_WIDTH = $clog2(QUEUES);

    logic enable, record_leaves, line_valid, line_ready, slots_line_ready, bad, lost, slots_ready, take, engine_rst, idle;
    logic [15:0] line_buffer;
    logic [7:0] line_words, look_words;
    logic [511:0] line_data, look_data, part_data;
    logic [QUEUE_WIDTH-1:0] look_queue, part_queue, taken_queue;
    logic part_valid, part_ready, part_first, part_last, part_intact;
    logic [6:0] part_bytes;
    logic [31:0] part_length;
    // Records between the writer and the core's way out.
    logic [3:0] on_the_way;

    assign record_leaves = written.valid && written.ready && written.header.dwords == 11'd8;
    request_stream #(.DATA_WIDTH(DATA_WIDTH)) written ();
    // An offered request leaves whole before the reset.
    assign engine_rst = rst || (!enable && !written.valid);
    // Stores that arrive now are lost.
    assign idle = !enable || !slots_ready;
    assign line_ready = idle || slots_line_ready;

    store_line #(.DATA_WIDTH(DATA_WIDTH)) line (
        .clk, .rst, .store, .line_valid, .line_ready, .line_buffer, .line_words, .line_data, .bad
    );
    store_slots #(.QUEUES(QUEUES), .SLOTS(SLOTS)) slots (
        .clk, .rst(engine_rst), .timeout(settings.timeout), .ready(slots_ready), .line_valid(line_valid && !idle),
        .line_ready(slots_line_ready), .line_buffer, .line_words, .line_data, .look_queue, .look_words, .look_data, .take,
        .take_queue(taken_queue), .heads, .lost
    );
    message_filter #(.QUEUES(QUEUES)) filter (
        .clk, .rst(engine_rst || !slots_ready), .stuffed(settings.messages.stuffed), .look_queue, .look_words,
        .look_data, .take, .taken_queue, .part_valid, .part_ready, .part_queue, .part_data, .part_bytes, .part_first, .part_last,
        .part_length, .part_intact
    );
    message_writer #(.DATA_WIDTH(DATA_WIDTH), .QUEUES(QUEUES)) writer (
        .clk, .rst(engine_rst), .settings, .data_taken, .heads, .bus_master(bus_master && enable), .part_valid, .part_ready,
        .part_queue, .part_data, .part_bytes, .part_first, .part_last, .part_length, .part_intact, .tx(written), .record_left,
        .messages, .dropped
    );
    stream_register #(.WIDTH(2 + $bits(pcielab_pkg::request_t) + DATA_WIDTH)) held (
        .clk, .rst, .in_valid(written.valid), .in_ready(written.ready),
        .in_data({written.sop, written.eop, written.header, written.data}),
        .out_valid(tx.valid), .out_ready(tx.ready), .out_data({tx.sop, tx.eop, tx.header, tx.data})
    );

    always_ff @(posedge clk) begin
        // Records of before are not counted again.
        enable <= settings.messages.enable && (enable || on_the_way == '0);
        on_the_way <= on_the_way + 4'(record_leaves) - 4'(record_left);
        stores_lost <= stores_lost + 32'(lost || (line_valid && idle));
        stores_bad <= stores_bad + 32'(bad);
        if (rst) {enable, on_the_way, stores_lost, stores_bad} <= '0;
    end
endmodule

`default_nettype wire
