// Hands out the numbers 0 .. size-1 and takes them back; the longest free goes first. Filled `size` clocks after a reset.
module id_pool #(
    parameter COUNT = 64,
    parameter WIDTH = $clog2(COUNT)
) (
    input  logic clk,
    input  logic rst,
    // 1 to COUNT; constant after the reset.
    input  logic [WIDTH:0] size,
    // Most numbers that are out at once.
    input  logic [WIDTH:0] limit,
    output logic filled,
    output logic valid,
    output logic [WIDTH-1:0] id,
    input  logic take,
    input  logic give_back,
    input  logic [WIDTH-1:0] given_back
);
    logic filling, available;
    logic [WIDTH-1:0] next;
    logic [WIDTH:0] free, given_out;

    stream_fifo #(.WIDTH(WIDTH), .DEPTH(COUNT)) free_ids (
        .clk, .rst,
        .in_valid(filling || give_back), .in_ready(), .in_data(filling ? next : given_back),
        .out_valid(available), .out_ready(take), .out_data(id), .count(free)
    );

    assign filled = !filling;
    assign given_out = size - free;
    assign valid = available && filled && given_out < limit;

    always_ff @(posedge clk) begin
        next <= filling ? next + 1'b1 : '0;
        if ({1'b0, next} == size - 1'b1) filling <= 1'b0;
        if (rst) begin
            filling <= 1'b1;
            next <= '0;
        end
    end
endmodule
