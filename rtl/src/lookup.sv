// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// A small memory with a write port and a read port; read data come in the same clock. LUT RAM at any size:
// a block RAM gives its data so late in a clock that little logic fits behind it.
module lookup #(
    parameter WIDTH = 32,
    parameter DEPTH = 64,
    parameter ADDRESS_WIDTH = $clog2(DEPTH)
) (
    input  wire logic clk,
    input  wire logic write,
    input  wire logic [ADDRESS_WIDTH-1:0] write_address,
    input  wire logic [WIDTH-1:0] write_data,
    input  wire logic [ADDRESS_WIDTH-1:0] read_address,
    output logic [WIDTH-1:0] read_data
);
    (* ram_style = "distributed" *) logic [WIDTH-1:0] content [DEPTH];

    always_ff @(posedge clk) if (write) content[write_address] <= write_data;
    assign read_data = content[read_address];
endmodule

`default_nettype wire
