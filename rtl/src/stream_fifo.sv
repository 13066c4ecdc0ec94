// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// A queue of DEPTH entries, a power of two. An entry can be taken from the clock after it was put in.
module stream_fifo #(
    parameter WIDTH = 32,
    parameter DEPTH = 32,
    parameter COUNT_WIDTH = $clog2(DEPTH) + 1
) (
    input  wire logic clk,
    input  wire logic rst,
    input  wire logic in_valid,
    output logic in_ready,
    input  wire logic [WIDTH-1:0] in_data,
    output logic out_valid,
    input  wire logic out_ready,
    output logic [WIDTH-1:0] out_data,
    output logic [COUNT_WIDTH-1:0] count
);
    localparam INDEX_WIDTH = $clog2(DEPTH);
    logic [INDEX_WIDTH-1:0] head, tail;
    wire put = in_valid && in_ready;
    wire take = out_valid && out_ready;

    // The count of a full queue is the only one with its highest bit.
    assign in_ready = !count[INDEX_WIDTH];
    assign out_valid = count != '0;

    lookup #(.WIDTH(WIDTH), .DEPTH(DEPTH)) entries (
        .clk, .write(put), .write_address(tail), .write_data(in_data), .read_address(head), .read_data(out_data)
    );

    always_ff @(posedge clk) begin
        if (put) tail <= tail + 1'b1;
        if (take) head <= head + 1'b1;
        if (put != take) count <= put ? count + 1'b1 : count - 1'b1;
        if (rst) {head, tail, count} <= '0;
    end
endmodule

`default_nettype wire
