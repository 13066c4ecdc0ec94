// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// A draw of the counter-based generator: uniform in 0 .. bound-1, a function of key and index alone. One draw each clock,
// LATENCY clocks after its index.
//
// squares64 (B. Widynski, arXiv:2004.06278) and the upper half of a product, as in crates/pcie-time/src/draw.rs.
module draw_below #(
    parameter LATENCY = 20
) (
    input  wire logic clk,
    input  wire logic [63:0] key,
    input  wire logic [pcielab_pkg::LIST_INDEX_WIDTH-1:0] index,
    input  wire logic [pcielab_pkg::UNIT_WIDTH-1:0] bound,
    output logic [pcielab_pkg::UNIT_WIDTH-1:0] draw
);
    import pcielab_pkg::*;

    // The addend of each round travels beside x, three clocks per round.
    logic [63:0] low_product, product, y_0, z_0, y_1, z_1, y_2, z_2, y_3, z_3, y_4;
    logic [63:0] x_1, x_2, x_3, x_4, x_5, x_4_held;
    logic [31:0] high_product;
    logic [63:0] bits;
    logic [63:0] low_part;
    logic [63+UNIT_WIDTH-32:0] high_part;

    always_ff @(posedge clk) begin
        low_product <= index * 64'(key[31:0]);
        high_product <= 32'(index * key[63:32]);
        product <= low_product + {high_product, 32'b0};
        y_0 <= product;
        z_0 <= product + key;
    end

    square_round round_1 (.clk, .x(y_0), .addend(y_0), .result(x_1));
    square_round round_2 (.clk, .x(x_1), .addend(z_1), .result(x_2));
    square_round round_3 (.clk, .x(x_2), .addend(y_2), .result(x_3));
    square_round round_4 (.clk, .x(x_3), .addend(z_3), .result(x_4));
    square_round round_5 (.clk, .x(x_4), .addend(y_4), .result(x_5));

    delay #(.WIDTH(128), .CLOCKS(3)) beside_1 (.clk, .in({y_0, z_0}), .out({y_1, z_1}));
    delay #(.WIDTH(128), .CLOCKS(3)) beside_2 (.clk, .in({y_1, z_1}), .out({y_2, z_2}));
    delay #(.WIDTH(128), .CLOCKS(3)) beside_3 (.clk, .in({y_2, z_2}), .out({y_3, z_3}));
    delay #(.WIDTH(64), .CLOCKS(3)) beside_4 (.clk, .in(y_3), .out(y_4));
    delay #(.WIDTH(64), .CLOCKS(3)) beside_5 (.clk, .in(x_4), .out(x_4_held));

    // The result is the fourth round, unswapped, xor the upper half of the fifth, which the swap has put below.
    assign bits = {x_4_held[31:0], x_4_held[63:32]} ^ {32'b0, x_5[31:0]};

    always_ff @(posedge clk) begin
        low_part <= bits[31:0] * 64'(bound);
        high_part <= bits[63:32] * (32 + UNIT_WIDTH)'(bound);
        draw <= UNIT_WIDTH'((high_part + (32 + UNIT_WIDTH)'(low_part[63:32])) >> 32);
    end

    initial if (LATENCY != 3 + 5 * 3 + 2) $error("a draw takes 20 clocks from index to result");
endmodule

`default_nettype wire
