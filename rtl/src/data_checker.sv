// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Compares the data of completions with the pattern that the core or the host has written. The result comes three clocks
// after the beat.
module data_checker #(
    parameter DATA_WIDTH = 256
) (
    input  wire logic clk,
    // Drops the beats on their way.
    input  wire logic rst,
    input  wire logic [31:0] data_key,
    input  wire logic valid,
    input  wire logic [pcielab_pkg::OFFSET_WIDTH-1:0] offset,
    // Bytes of the completion from this beat on; more than a beat if others follow.
    input  wire logic [pcielab_pkg::LENGTH_WIDTH-1:0] bytes,
    input  wire logic [DATA_WIDTH-1:0] data,
    output logic mismatch
);
    import pcielab_pkg::*;

    localparam BYTES = DATA_WIDTH / 8;
    localparam INDEX_WIDTH = $clog2(BYTES);

    logic valid_1, valid_2;
    logic [BYTES-1:0] differs, differs_1, counts, wrong;
    logic [LENGTH_WIDTH-1:0] behind;
    logic [1:0] first;
    logic [DATA_WIDTH-1:0] expected;

    // Shifted ones are a LUT for each byte; a comparison would be a carry chain.
    assign counts = ({BYTES{1'b1}} << first)
        & ({BYTES{behind[LENGTH_WIDTH-1:INDEX_WIDTH] != '0}} | ~({BYTES{1'b1}} << behind[INDEX_WIDTH-1:0]));

    always_comb begin
        for (int lane = 0; lane < BYTES / 4; lane++)
            expected[32*lane +: 32] = pattern_at({offset[OFFSET_WIDTH-1:2], 2'b00} + OFFSET_WIDTH'(4 * lane), data_key);
        for (int i = 0; i < BYTES; i++) differs[i] = data[8*i +: 8] != expected[8*i +: 8];
    end

    always_ff @(posedge clk) begin
        differs_1 <= differs;
        first <= offset[1:0];
        behind <= LENGTH_WIDTH'(offset[1:0]) + bytes;
        valid_1 <= valid;
        valid_2 <= valid_1;
        wrong <= differs_1 & counts;
        mismatch <= valid_2 && wrong != '0;
        if (rst) {valid_1, valid_2, mismatch} <= '0;
    end
endmodule

`default_nettype wire
