// Hands out the numbers 0 .. size-1 and takes them back; the longest free goes first. Filled `size` clocks after a reset.
module id_pool #(
    parameter COUNT = 64,
    parameter WIDTH = $clog2(COUNT)
) (
    input  logic clk,
    input  logic rst,
    // 1 to COUNT; constant after the reset.
    input  logic [WIDTH:0] size,
    // Most numbers that are out at once; constant after the reset.
    input  logic [WIDTH:0] limit,
    output logic filled,
    output logic valid,
    output logic [WIDTH-1:0] id,
    input  logic take,
    input  logic give_back,
    input  logic [WIDTH-1:0] given_back
);
    logic filling, last, taken, if_same, if_taken, if_not;
    logic [WIDTH-1:0] next;
    logic [WIDTH:0] given_out, most;

    stream_fifo #(.WIDTH(WIDTH), .DEPTH(COUNT)) free_ids (
        .clk, .rst,
        .in_valid(filling || give_back), .in_ready(), .in_data(filling ? next : given_back),
        .out_valid(), .out_ready(taken), .out_data(id), .count()
    );

    assign filled = !filling;
    assign last = {1'b0, next} == size - 1'b1;
    assign taken = take && valid;
    assign if_same = (filled || last) && given_out < most;
    assign if_taken = give_back ? if_same : given_out + 1'b1 < most;
    assign if_not = give_back ? given_out <= most : if_same;

    always_ff @(posedge clk) begin
        // Numbers are free while fewer are out. Compare first, and choose by the late signals.
        most <= limit < size ? limit : size;
        valid <= taken ? if_taken : if_not;
        if (taken != give_back) given_out <= taken ? given_out + 1'b1 : given_out - 1'b1;
        next <= filling ? next + 1'b1 : '0;
        if (last) filling <= 1'b0;
        if (rst) begin
            filling <= 1'b1;
            next <= '0;
            given_out <= '0;
            valid <= 1'b0;
        end
    end
endmodule
