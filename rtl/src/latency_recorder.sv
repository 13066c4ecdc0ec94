// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Keeps all latencies of a test in a histogram of 4,096 bins, with minimum, maximum and sum, and the first RECORDS of them
// one by one. One sample each clock. Clearing takes 4,096 clocks.
module latency_recorder #(
    parameter RECORDS = 4096,
    parameter RECORD_WIDTH = $clog2(RECORDS)
) (
    input  wire logic clk,
    input  wire logic rst,
    input  wire logic clear,
    output logic ready,
    // A bin is 2^bin_shift clocks wide; the last one also counts longer latencies.
    input  wire logic [4:0] bin_shift,
    input  wire logic sample_valid,
    input  wire logic [31:0] sample,
    input  wire logic [RECORD_WIDTH-1:0] record_address,
    output logic [31:0] record,
    input  wire logic [11:0] bin_address,
    output logic [31:0] bin_count,
    output logic [31:0] samples,
    output logic [31:0] minimum,
    output logic [31:0] maximum,
    output logic [63:0] sum
);
    localparam BINS = 4096;

    logic clearing;
    logic [11:0] cleared;
    logic [31:0] shifted;
    logic [11:0] bin, bin_1, bin_2;
    logic valid_0, valid_1, valid_2;
    logic [31:0] count_read, count_next, count_2;

    assign ready = !clearing;
    assign bin = shifted > BINS - 1 ? 12'(BINS - 1) : shifted[11:0];
    // The read does not see a write of the same clock: forward it.
    assign count_next = (valid_2 && bin_2 == bin_1 ? count_2 : count_read) + 1'b1;

    memory #(.WIDTH(32), .DEPTH(RECORDS)) records (
        .clk, .write(sample_valid && samples < RECORDS), .write_address(samples[RECORD_WIDTH-1:0]),
        .write_data(sample), .read_address(record_address), .read_data(record)
    );
    memory #(.WIDTH(32), .DEPTH(BINS)) histogram (
        .clk, .write(clearing || valid_1), .write_address(clearing ? cleared : bin_1),
        .write_data(clearing ? '0 : count_next),
        .read_address(valid_0 ? bin : bin_address), .read_data(count_read)
    );
    assign bin_count = count_read;

    always_ff @(posedge clk) begin
        valid_0 <= sample_valid;
        shifted <= sample >> bin_shift;
        valid_1 <= valid_0;
        bin_1 <= bin;
        valid_2 <= valid_1;
        bin_2 <= bin_1;
        count_2 <= count_next;
        if (sample_valid) begin
            samples <= samples + 1'b1;
            sum <= sum + 64'(sample);
            if (sample < minimum) minimum <= sample;
            if (sample > maximum) maximum <= sample;
        end
        cleared <= clearing ? cleared + 1'b1 : '0;
        if (&cleared) clearing <= 1'b0;
        if (clear || rst) begin
            clearing <= 1'b1;
            cleared <= '0;
            samples <= '0;
            sum <= '0;
            minimum <= '1;
            maximum <= '0;
        end
        if (rst) {valid_0, valid_1, valid_2} <= '0;
    end
endmodule

`default_nettype wire
