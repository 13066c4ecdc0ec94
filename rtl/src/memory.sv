// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// A memory with a write port and a read port; read data come a clock after the address. Maps to block RAM.
module memory #(
    parameter WIDTH = 32,
    parameter DEPTH = 4096,
    parameter ADDRESS_WIDTH = $clog2(DEPTH)
) (
    input  wire logic clk,
    input  wire logic write,
    input  wire logic [ADDRESS_WIDTH-1:0] write_address,
    input  wire logic [WIDTH-1:0] write_data,
    input  wire logic [ADDRESS_WIDTH-1:0] read_address,
    output logic [WIDTH-1:0] read_data
);
    logic [WIDTH-1:0] content [DEPTH];

    always_ff @(posedge clk) begin
        if (write) content[write_address] <= write_data;
        read_data <= content[read_address];
    end
endmodule

`default_nettype wire
