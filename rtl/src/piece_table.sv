// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Translates an offset in the host buffer into a bus address. The buffer consists of pieces of equal size, a power of two of
// at least 1 MiB, whose addresses software writes into a table. LATENCY clocks after the offset come the address and whether
// the transfer lies within one piece of the buffer.
module piece_table #(
    parameter LATENCY = 3
) (
    input  wire logic clk,
    input  wire logic table_write,
    input  wire logic [pcielab_pkg::PIECE_INDEX_WIDTH:0] table_address,
    input  wire logic [31:0] table_data,
    input  wire logic [10:0] pieces,
    input  wire logic [5:0] piece_shift,
    input  wire logic [pcielab_pkg::OFFSET_WIDTH-1:0] offset,
    input  wire logic [pcielab_pkg::LENGTH_WIDTH-1:0] length,
    output logic [63:0] address,
    output logic in_buffer
);
    import pcielab_pkg::*;

    logic [63:0] base;
    logic [OFFSET_WIDTH-1:0] index, in_piece, in_piece_2, last;
    logic [LENGTH_WIDTH-1:0] reach;
    logic in_table;
    // Bits of the last byte's offset that lie beyond its piece.
    logic [OFFSET_WIDTH-1:0] beyond, above_piece;
    assign beyond = last & above_piece;

    for (genvar half = 0; half < 2; half++) begin : halves
        memory #(.WIDTH(32), .DEPTH(1 << PIECE_INDEX_WIDTH)) addresses (
            .clk,
            .write(table_write && table_address[0] == half[0]),
            .write_address(table_address[PIECE_INDEX_WIDTH:1]),
            .write_data(table_data),
            .read_address(index[PIECE_INDEX_WIDTH-1:0]),
            .read_data(base[32*half +: 32])
        );
    end

    always_ff @(posedge clk) begin
        index <= offset >> piece_shift;
        in_piece <= offset & ~above_piece;
        // The size of a piece is constant while a test runs.
        above_piece <= {OFFSET_WIDTH{1'b1}} << piece_shift;
        reach <= length - 1'b1;

        in_piece_2 <= in_piece;
        last <= in_piece + OFFSET_WIDTH'(reach);
        in_table <= index < OFFSET_WIDTH'(pieces);

        address <= base + 64'(in_piece_2);
        in_buffer <= in_table && beyond == '0;
    end

    initial if (LATENCY != 3) $error("an address takes 3 clocks from its offset");
endmodule

`default_nettype wire
