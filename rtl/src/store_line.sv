// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Makes a line of 64 bytes of each store to the message window: whole words of 8 bytes at their index in the buffer. Any other
// store, of partial words or across buffers, raises `bad` and is dropped.
module store_line #(
    parameter DATA_WIDTH = 256
) (
    input  wire logic clk,
    input  wire logic rst,
    host_stream.sink store,
    output logic line_valid,
    input  wire logic line_ready,
    // The buffer of 64 bytes, counted from the start of the window.
    output logic [15:0] line_buffer,
    output logic [7:0] line_words,
    output logic [511:0] line_data,
    // For one clock.
    output logic bad
);
    localparam WORDS = DATA_WIDTH / 64;
    localparam WORD_WIDTH = $clog2(WORDS);

    // With the first beat: the index of the store's first word in the buffer, and the number of its words.
    logic [2:0] first;
    logic [3:0] count;
    // The words of the first beat, and those of the second, if there is one.
    logic [7:0] early, late, held_late;
    // From the lane of a word to its index in the buffer, the same in both beats.
    logic [WORD_WIDTH-1:0] shift, held_shift;
    logic good, held_good, taken;

    assign store.ready = !line_valid || line_ready;
    assign taken = store.valid && store.ready;
    assign first = store.header.address[5:3];
    assign count = store.header.dwords[4:1];
    assign shift = store.sop ? WORD_WIDTH'(first) : held_shift;
    assign good = store.sop
        ? store.header.address[2:0] == '0 && store.header.dwords[0] == 1'b0 && store.header.dwords[10:5] == '0
            && store.header.first_be == 4'b1111 && store.header.last_be == 4'b1111
            && count != '0 && count <= 4'd8 - 4'(first)
        : held_good;

    always_comb
        for (int word = 0; word < 8; word++) begin
            // A word before the first wraps around to an index beyond all.
            automatic logic [3:0] index = 4'(word) - 4'(first);
            early[word] = index < count && index < 4'(WORDS);
            late[word] = index < count && index >= 4'(WORDS);
        end

    always_ff @(posedge clk) begin
        if (taken) begin
            for (int word = 0; word < 8; word++) begin
                automatic logic [WORD_WIDTH-1:0] lane = WORD_WIDTH'(word) - shift;
                if (store.sop ? early[word] : held_late[word]) line_data[64*word +: 64] <= store.data[64*32'(lane) +: 64];
            end
            line_words <= store.sop ? early : line_words | held_late;
            if (store.sop) begin
                line_buffer <= store.header.address[21:6];
                held_late <= late;
            end
            held_shift <= shift;
            held_good <= good;
        end
        line_valid <= (taken && store.eop && good) || (line_valid && !line_ready);
        bad <= taken && store.eop && !good;
        if (rst) {line_valid, bad} <= '0;
    end
endmodule

`default_nettype wire
