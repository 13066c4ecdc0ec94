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

    logic [2:0] first, held_first;
    logic [3:0] count, held_count;
    logic [3:0] done, words_done;
    logic good, held_good, taken;

    assign store.ready = !line_valid || line_ready;
    assign taken = store.valid && store.ready;
    assign first = store.sop ? store.header.address[5:3] : held_first;
    assign count = store.sop ? 4'(store.header.dwords[4:1]) : held_count;
    assign done = store.sop ? 4'd0 : words_done;
    assign good = store.sop
        ? store.header.address[2:0] == '0 && store.header.dwords[0] == 1'b0 && store.header.dwords != '0
            && store.header.first_be == 4'b1111 && store.header.last_be == 4'b1111
            && store.header.dwords <= 11'd16 - {7'b0, store.header.address[5:3], 1'b0}
        : held_good;

    always_ff @(posedge clk) begin
        if (taken) begin
            for (int word = 0; word < 8; word++) begin
                automatic logic [3:0] index = 4'(word) - 4'(first);
                // A word before the first wraps around to an index beyond all.
                if (index >= done && index < done + 4'(WORDS) && index < count) begin
                    line_data[64*word +: 64] <= store.data[64*32'(index - done) +: 64];
                    line_words[word] <= 1'b1;
                end else if (store.sop) begin
                    line_words[word] <= 1'b0;
                end
            end
            if (store.sop) line_buffer <= store.header.address[21:6];
            held_first <= first;
            held_count <= count;
            held_good <= good;
            words_done <= done + 4'(WORDS);
        end
        line_valid <= (taken && store.eop && good) || (line_valid && !line_ready);
        bad <= taken && store.eop && !good;
        if (rst) {line_valid, bad} <= '0;
    end
endmodule

`default_nettype wire
