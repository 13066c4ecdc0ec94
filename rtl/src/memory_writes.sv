// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// What is written to the core's memory: the answers to its reads, and stores to BAR 4, a beat at a time. Answers go first; a store
// waits. Both come over the same link, so that neither starves while a beat carries what the link brings in a clock.
//
// Answers and stores start at multiples of a beat, which the alignment of commands ensures. A store that does not is dropped.
module memory_writes #(
    parameter DATA_WIDTH = 256,
    parameter ADDRESS_WIDTH = 11
) (
    input  wire logic clk,
    input  wire logic rst,

    // A beat of an answer: its offset (see read_executor.sv), and the bytes from it on, of which the beat has the first.
    input  wire logic answer_valid,
    input  wire logic [pcielab_pkg::OFFSET_WIDTH-1:0] answer_offset,
    input  wire logic [pcielab_pkg::LENGTH_WIDTH-1:0] answer_bytes,
    input  wire logic [DATA_WIDTH-1:0] answer_data,

    host_stream.sink store,
    // The memory takes stores; it always takes answers.
    input  wire logic takes_stores,
    // For one clock.
    output logic store_bad,

    // Two clocks after the beat.
    output logic write_valid,
    output logic [ADDRESS_WIDTH-1:0] write_address,
    output logic [DATA_WIDTH/8-1:0] write_enables,
    output logic [DATA_WIDTH-1:0] write_data
);
    import pcielab_pkg::*;

    localparam BEAT_BYTES = DATA_WIDTH / 8;
    localparam BEAT_WIDTH = $clog2(BEAT_BYTES);
    localparam LANES = DATA_WIDTH / 32;

    // ---- answers
    logic answered, shifted;
    logic [OFFSET_WIDTH-1:0] answer_at;
    logic [ADDRESS_WIDTH-1:0] answer_address;
    logic [BEAT_WIDTH:0] answer_length;
    logic [DATA_WIDTH-1:0] answer;
    assign shifted = answer_offset[OFFSET_WIDTH-1];
    assign answer_at = answer_offset - (shifted ? OFFSET_WIDTH'(COMMAND_ALIGNMENT) : '0);
    always_ff @(posedge clk) begin
        answered <= answer_valid && !rst;
        answer_address <= answer_at[BEAT_WIDTH +: ADDRESS_WIDTH];
        answer_length <= answer_bytes >= LENGTH_WIDTH'(BEAT_BYTES) ? (BEAT_WIDTH + 1)'(BEAT_BYTES) : (BEAT_WIDTH + 1)'(answer_bytes);
        answer <= answer_data;
    end

    // ---- stores
    logic taken, good, held_good;
    logic [ADDRESS_WIDTH-1:0] store_address, next_address;
    logic [10:0] dwords, dwords_left;
    logic [3:0] ending, held_ending;
    logic [BEAT_BYTES-1:0] store_enables;
    // The beat that was taken.
    logic held_valid;
    logic [ADDRESS_WIDTH-1:0] held_address;
    logic [10:0] held_dwords;
    logic [3:0] held_last;
    logic [DATA_WIDTH-1:0] held_data;
    // Answers and stores meet at the memory two clocks later.
    assign store.ready = !answer_valid && takes_stores;
    assign taken = store.valid && store.ready;
    assign good = store.sop
        ? store.header.address[5:0] == '0 && store.header.dwords != '0
            && (store.header.dwords == 11'd1 || store.header.first_be == 4'b1111)
        : held_good;
    assign store_address = store.sop ? store.header.address[BEAT_WIDTH +: ADDRESS_WIDTH] : next_address;
    assign dwords = store.sop ? store.header.dwords : dwords_left;
    assign ending = store.sop ? (store.header.dwords == 11'd1 ? store.header.first_be : store.header.last_be) : held_ending;
    always_comb
        for (int lane = 0; lane < LANES; lane++)
            store_enables[4*lane +: 4] = 11'(lane) + 11'd1 < held_dwords ? 4'b1111
                : 11'(lane) + 11'd1 == held_dwords ? held_last : 4'b0000;
    always_ff @(posedge clk) begin
        if (taken) begin
            held_good <= good;
            next_address <= store_address + 1'b1;
            dwords_left <= dwords - 11'(LANES);
            held_ending <= ending;
        end
        held_valid <= taken && good && !rst;
        {held_address, held_dwords, held_last, held_data} <= {store_address, dwords, ending, store.data};
        store_bad <= taken && store.eop && !good && !rst;
    end

    always_ff @(posedge clk) begin
        write_valid <= answered || held_valid;
        write_address <= answered ? answer_address : held_address;
        write_data <= answered ? answer : held_data;
        for (int n = 0; n < BEAT_BYTES; n++)
            write_enables[n] <= answered ? (BEAT_WIDTH + 1)'(n) < answer_length : held_valid && store_enables[n];
    end
endmodule

`default_nettype wire
