// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// A round of squares64: x * x + addend, with its halves swapped. One result each clock, after three clocks.
module square_round (
    input  wire logic clk,
    input  wire logic [63:0] x,
    input  wire logic [63:0] addend,
    output logic [63:0] result
);
    logic [63:0] low_square, sum, addend_1, addend_2;
    logic [30:0] crossed;

    always_ff @(posedge clk) begin
        // The square of the upper half lies above bit 64, and the cross product counts twice.
        low_square <= x[31:0] * 64'(x[31:0]);
        crossed <= 31'(x[31:0] * x[63:32]);
        addend_1 <= addend;

        sum <= low_square + {crossed, 33'b0};
        addend_2 <= addend_1;

        {result[31:0], result[63:32]} <= sum + addend_2;
    end
endmodule

`default_nettype wire
