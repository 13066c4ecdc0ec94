// The transmit queues: what arrives is put in its place by address, whatever the order, and leaves in order. A queue has
// SLOTS buffers of 64 bytes, and a window of twice as many in the address space, so that a buffer is told from the one that
// comes a round later. A store beyond the buffers that the queue has room for waits, and holds up what is behind it, for
// TIMEOUT clocks at most: then it is lost, and counted. So is what a second store to the same words overwrites.
module store_slots #(
    // Both powers of two.
    parameter QUEUES = 4,
    parameter SLOTS = 64,
    parameter QUEUE_WIDTH = $clog2(QUEUES),
    parameter SLOT_WIDTH = $clog2(SLOTS)
) (
    input  logic clk,
    input  logic rst,
    input  logic [31:0] timeout,
    // Nothing is put in before: QUEUES * SLOTS clocks after a reset.
    output logic ready,

    input  logic line_valid,
    output logic line_ready,
    input  logic [15:0] line_buffer,
    input  logic [7:0] line_words,
    input  logic [511:0] line_data,

    // The first buffer of a queue: which words have arrived, at once, and what they hold, a clock later.
    input  logic [QUEUE_WIDTH-1:0] look_queue,
    output logic [7:0] look_words,
    output logic [511:0] look_data,
    // It is done with. Only in the clock behind the look, of the queue that was looked at.
    input  logic take,
    input  logic [QUEUE_WIDTH-1:0] take_queue,
    // Buffers that each queue has given out.
    output logic [QUEUES-1:0][31:0] heads,
    // For one clock.
    output logic lost
);
    localparam INDEX_WIDTH = QUEUE_WIDTH + SLOT_WIDTH;

    logic [QUEUE_WIDTH-1:0] queue;
    logic [SLOT_WIDTH:0] ahead;
    logic in_window, puts, gives_up, sweeping;
    logic [31:0] waited;
    logic [INDEX_WIDTH-1:0] sweep, put_index, look_index, take_index;
    logic [7:0] there;

    assign queue = line_buffer[SLOT_WIDTH+1 +: QUEUE_WIDTH];
    assign ahead = line_buffer[SLOT_WIDTH:0] - heads[queue][SLOT_WIDTH:0];
    assign in_window = !ahead[SLOT_WIDTH];
    assign put_index = {queue, line_buffer[SLOT_WIDTH-1:0]};
    assign look_index = {look_queue, heads[look_queue][SLOT_WIDTH-1:0]};
    assign take_index = {take_queue, heads[take_queue][SLOT_WIDTH-1:0]};
    assign ready = !sweeping;
    // The words of a buffer are written by one at a time.
    assign puts = line_valid && in_window && !take && !sweeping;
    assign gives_up = line_valid && !in_window && waited >= timeout && !take;
    assign line_ready = puts || gives_up;

    // Which words of each buffer have arrived: one copy for what comes, one for what leaves.
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
        waited <= line_valid && !line_ready ? waited + 1'b1 : '0;
        lost <= gives_up || (puts && (there & line_words) != '0);
        if (take) heads[take_queue] <= heads[take_queue] + 1'b1;
        sweep <= sweeping ? sweep + 1'b1 : '0;
        if (&sweep) sweeping <= 1'b0;
        if (rst) begin
            heads <= '0;
            sweeping <= 1'b1;
            sweep <= '0;
            lost <= 1'b0;
        end
    end
endmodule
