// Compares the data of completions with the pattern that the core or the host has written. The result comes one clock after
// the beat.
module data_checker #(
    parameter DATA_WIDTH = 256
) (
    input  logic clk,
    input  logic [31:0] data_key,
    input  logic valid,
    input  logic [pcielab_pkg::OFFSET_WIDTH-1:0] offset,
    // Bytes of the completion from this beat on; more than a beat if others follow.
    input  logic [pcielab_pkg::LENGTH_WIDTH-1:0] bytes,
    input  logic [DATA_WIDTH-1:0] data,
    output logic mismatch
);
    import pcielab_pkg::*;

    localparam BYTES = DATA_WIDTH / 8;

    logic [BYTES-1:0] differs, counts;
    logic [LENGTH_WIDTH-1:0] first, behind;
    logic [DATA_WIDTH-1:0] expected;

    assign first = LENGTH_WIDTH'(offset[1:0]);
    assign behind = first + bytes;

    always_comb begin
        for (int lane = 0; lane < BYTES / 4; lane++)
            expected[32*lane +: 32] = pattern_at({offset[OFFSET_WIDTH-1:2], 2'b00} + OFFSET_WIDTH'(4 * lane), data_key);
        for (int i = 0; i < BYTES; i++) begin
            counts[i] = LENGTH_WIDTH'(i) >= first && LENGTH_WIDTH'(i) < behind;
            differs[i] = data[8*i +: 8] != expected[8*i +: 8];
        end
    end

    always_ff @(posedge clk) mismatch <= valid && (differs & counts) != '0;
endmodule
