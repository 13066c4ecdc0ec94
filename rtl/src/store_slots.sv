// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// The transmit queues: stores arrive in any order, go to the slot of their address, and leave in order. A queue has SLOTS
// buffers of 64 bytes, and a window of twice as many in the address space, which distinguishes a buffer from that of the next
// round. A store beyond the free buffers waits, and holds up later stores, for at most TIMEOUT clocks; then it is lost and
// counted. A second store to the same words also counts as a loss.
module store_slots #(
    // Both powers of two.
    parameter QUEUES = 4,
    parameter SLOTS = 64,
    parameter QUEUE_WIDTH = $clog2(QUEUES),
    parameter SLOT_WIDTH = $clog2(SLOTS)
) (
    input  wire logic clk,
    input  wire logic rst,
    input  wire logic [31:0] timeout,
    // Rises QUEUES * SLOTS clocks after a reset; no store is accepted before.
    output logic ready,

    input  wire logic line_valid,
    output logic line_ready,
    input  wire logic [15:0] line_buffer,
    input  wire logic [7:0] line_words,
    input  wire logic [511:0] line_data,

    // The first buffer of a queue: which words have arrived, at once, and its data, a clock later.
    input  wire logic [QUEUE_WIDTH-1:0] look_queue,
    output logic [7:0] look_words,
    output logic [511:0] look_data,
    // Frees the first buffer of a queue. It must not be looked up in the same clock.
    input  wire logic take,
    input  wire logic [QUEUE_WIDTH-1:0] take_queue,
    // Buffers that each queue has given out.
    output logic [QUEUES-1:0][31:0] heads,
    // For one clock.
    output logic lost
);
    localparam INDEX_WIDTH = QUEUE_WIDTH + SLOT_WIDTH;

    logic [QUEUE_WIDTH-1:0] queue;
    logic [SLOT_WIDTH:0] ahead;
    // A line is checked in its first clock. A window only moves on, so that a line stays in it.
    logic checked, in_window, is_late, puts, gives_up, sweeping;
    logic [31:0] waited;
    logic [INDEX_WIDTH-1:0] sweep, put_index, look_index, take_index;
    logic [7:0] there;

    assign queue = line_buffer[SLOT_WIDTH+1 +: QUEUE_WIDTH];
    assign ahead = line_buffer[SLOT_WIDTH:0] - heads[queue][SLOT_WIDTH:0];
    assign put_index = {queue, line_buffer[SLOT_WIDTH-1:0]};
    assign look_index = {look_queue, heads[look_queue][SLOT_WIDTH-1:0]};
    assign take_index = {take_queue, heads[take_queue][SLOT_WIDTH-1:0]};
    assign ready = !sweeping;
    // `take` and `puts` write the same memory, so that only one can happen in a clock.
    assign puts = line_valid && checked && in_window && !take && !sweeping;
    assign gives_up = line_valid && checked && !in_window && is_late && !take;
    assign line_ready = puts || gives_up;

    // Which words of each buffer have arrived: one copy for each read port.
    lookup #(.WIDTH(8), .DEPTH(QUEUES * SLOTS)) words_to_put (
        .clk, .write(sweeping || take || puts), .write_address(sweeping ? sweep : take ? take_index : put_index),
        .write_data(sweeping || take ? '0 : there | line_words), .read_address(put_index), .read_data(there)
    );
    lookup #(.WIDTH(8), .DEPTH(QUEUES * SLOTS)) words_to_look_at (
        .clk, .write(sweeping || take || puts), .write_address(sweeping ? sweep : take ? take_index : put_index),
        .write_data(sweeping || take ? '0 : there | line_words), .read_address(look_index), .read_data(look_words)
    );
    for (genvar word = 0; word < 8; word++) begin : words
        memory #(.WIDTH(64), .DEPTH(QUEUES * SLOTS)) content (
            .clk, .write(puts && line_words[word]), .write_address(put_index), .write_data(line_data[64*word +: 64]),
            .read_address(look_index), .read_data(look_data[64*word +: 64])
        );
    end

    always_ff @(posedge clk) begin
        checked <= line_valid && !line_ready;
        in_window <= !ahead[SLOT_WIDTH];
        is_late <= waited >= timeout;
        waited <= line_valid && !line_ready ? waited + 1'b1 : '0;
        lost <= gives_up || (puts && (there & line_words) != '0);
        if (take) heads[take_queue] <= heads[take_queue] + 1'b1;
        sweep <= sweeping ? sweep + 1'b1 : '0;
        if (&sweep) sweeping <= 1'b0;
        if (rst) begin
            heads <= '0;
            sweeping <= 1'b1;
            sweep <= '0;
            {lost, checked} <= '0;
        end
    end
endmodule

`default_nettype wire
