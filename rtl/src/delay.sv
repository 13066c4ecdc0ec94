// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Delays data by CLOCKS clocks, at least one.
module delay #(
    parameter WIDTH = 1,
    parameter CLOCKS = 1
) (
    input  wire logic clk,
    input  wire logic [WIDTH-1:0] in,
    output logic [WIDTH-1:0] out
);
    logic [WIDTH-1:0] held [CLOCKS];

    always_ff @(posedge clk) begin
        held[0] <= in;
        for (int i = 1; i < CLOCKS; i++) held[i] <= held[i-1];
    end
    assign out = held[CLOCKS-1];
endmodule

`default_nettype wire
