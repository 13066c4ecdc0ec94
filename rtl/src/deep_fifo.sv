// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// A queue of DEPTH entries, a power of two, in block RAM. An entry can be taken some clocks after it was put in, then one each
// clock.
module deep_fifo #(
    parameter WIDTH = 32,
    parameter DEPTH = 1024,
    parameter COUNT_WIDTH = $clog2(DEPTH) + 1
) (
    input  wire logic clk,
    input  wire logic rst,
    // Ignored while the queue is full.
    input  wire logic in_valid,
    input  wire logic [WIDTH-1:0] in_data,
    output logic out_valid,
    input  wire logic out_ready,
    output logic [WIDTH-1:0] out_data,
    // Entries in the RAM.
    output logic [COUNT_WIDTH-1:0] count
);
    localparam INDEX_WIDTH = $clog2(DEPTH);
    // Entries behind the RAM, with those on their way there.
    localparam BEHIND = 4;

    logic [INDEX_WIDTH-1:0] head, tail;
    logic [$clog2(BEHIND):0] behind;
    logic put, fetch, fetched, take;
    logic [WIDTH-1:0] found;
    assign put = in_valid && !count[INDEX_WIDTH];
    assign fetch = count != '0 && behind != ($clog2(BEHIND) + 1)'(BEHIND);
    assign take = out_valid && out_ready;
    memory #(.WIDTH(WIDTH), .DEPTH(DEPTH)) entries (
        .clk, .write(put), .write_address(tail), .write_data(in_data), .read_address(head), .read_data(found)
    );
    stream_fifo #(.WIDTH(WIDTH), .DEPTH(BEHIND)) ready_entries (
        .clk, .rst, .in_valid(fetched), .in_ready(), .in_data(found), .out_valid, .out_ready, .out_data, .count()
    );
    always_ff @(posedge clk) begin
        fetched <= fetch;
        if (put) tail <= tail + 1'b1;
        if (fetch) head <= head + 1'b1;
        count <= count + COUNT_WIDTH'(put) - COUNT_WIDTH'(fetch);
        behind <= behind + ($clog2(BEHIND) + 1)'(fetch) - ($clog2(BEHIND) + 1)'(take);
        if (rst) {head, tail, count, behind, fetched} <= '0;
    end
endmodule

`default_nettype wire
