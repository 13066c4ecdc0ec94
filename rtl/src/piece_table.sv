// Translates an offset in the host buffer into a bus address. The buffer consists of pieces of equal size, a power of two of
// at least 1 MiB, whose addresses software writes into a table. One clock after the offset come the address and whether the
// transfer lies within one piece of the buffer.
module piece_table (
    input  logic clk,
    input  logic table_write,
    input  logic [pcielab_pkg::PIECE_INDEX_WIDTH:0] table_address,
    input  logic [31:0] table_data,
    input  logic [10:0] pieces,
    input  logic [5:0] piece_shift,
    input  logic [pcielab_pkg::OFFSET_WIDTH-1:0] offset,
    input  logic [pcielab_pkg::LENGTH_WIDTH-1:0] length,
    output logic [63:0] address,
    output logic in_buffer
);
    import pcielab_pkg::*;

    logic [63:0] base;
    logic [OFFSET_WIDTH-1:0] index, in_piece, last, in_piece_1;

    assign index = offset >> piece_shift;
    assign in_piece = offset & ((OFFSET_WIDTH'(1) << piece_shift) - 1'b1);
    assign last = in_piece + OFFSET_WIDTH'(length) - 1'b1;

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
        in_piece_1 <= in_piece;
        in_buffer <= index < OFFSET_WIDTH'(pieces) && (last >> piece_shift) == '0;
    end
    assign address = base + 64'(in_piece_1);
endmodule
