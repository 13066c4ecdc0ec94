// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Counts transactions, bytes and clocks: from the clock that takes the first beat of the first request to the clock of the
// last beat of the last completion or write. `latch` and the end of a test copy all counters at once, so that software reads
// consistent values.
module bandwidth_counters (
    input  wire logic clk,
    input  wire logic rst,
    input  wire logic clear,
    input  wire logic latch,
    input  wire logic request_starts,
    input  wire logic read_done,
    input  wire logic write_done,
    input  wire logic [pcielab_pkg::LENGTH_WIDTH-1:0] read_bytes,
    input  wire logic [pcielab_pkg::LENGTH_WIDTH-1:0] written_bytes,
    output logic [31:0] transactions,
    output logic [pcielab_pkg::CLOCKS_WIDTH-1:0] elapsed,
    output logic [63:0] bytes_read,
    output logic [63:0] bytes_written
);
    import pcielab_pkg::*;

    logic started;
    logic [CLOCKS_WIDTH-1:0] clock, until_last;
    logic [31:0] done;
    logic [63:0] sum_read, sum_written;

    always_ff @(posedge clk) begin
        // Zero in the clock that takes the first beat.
        if (started || request_starts) clock <= clock + 1'b1;
        started <= started || request_starts;
        done <= done + 32'(read_done) + 32'(write_done);
        if (read_done || write_done) until_last <= clock;
        sum_read <= sum_read + 64'(read_bytes);
        sum_written <= sum_written + 64'(written_bytes);
        if (latch) begin
            transactions <= done;
            elapsed <= until_last;
            bytes_read <= sum_read;
            bytes_written <= sum_written;
        end
        if (clear || rst) begin
            started <= 1'b0;
            {clock, done, until_last, sum_read, sum_written} <= '0;
        end
        if (rst) {transactions, elapsed, bytes_read, bytes_written} <= '0;
    end
endmodule

`default_nettype wire
