// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Hands out the numbers 0 .. size-1 and takes them back; the longest free goes first. Filled `size` clocks after a reset.
module id_pool #(
    parameter COUNT = 64,
    parameter WIDTH = $clog2(COUNT)
) (
    input  wire logic clk,
    input  wire logic rst,
    // 1 to COUNT; constant after the reset.
    input  wire logic [WIDTH:0] size,
    // Most numbers that are out at once; constant after the reset.
    input  wire logic [WIDTH:0] limit,
    output logic filled,
    output logic valid,
    output logic [WIDTH-1:0] id,
    input  wire logic take,
    input  wire logic give_back,
    input  wire logic [WIDTH-1:0] given_back
);
    logic filling, last, taken, if_taken, if_not;
    // Of the number that fills the pool next, from 1 on.
    logic [WIDTH:0] ordinal;
    // `take` is late: `given_out` counts a number a clock after it was taken.
    logic taken_before;
    logic [WIDTH:0] given_out, most;
    // Whether a number is free while one fewer, as many, one more or two more are out than `given_out` counts.
    logic [3:0] is_free;

    // As many numbers as entries: none is ever overwritten. A number is put there a clock after it came back, because
    // `give_back` is late; by then it may already be the one that is offered.
    logic put;
    logic [WIDTH-1:0] head, tail, number, stored;
    lookup #(.WIDTH(WIDTH), .DEPTH(COUNT)) free_ids (
        .clk, .write(put), .write_address(tail), .write_data(number), .read_address(head), .read_data(stored)
    );
    assign id = put && tail == head ? number : stored;

    assign filled = !filling;
    assign last = ordinal == size;
    assign taken = take && valid;
    assign is_free[0] = given_out <= most;
    assign is_free[1] = (filled || last) && given_out < most;
    assign is_free[2] = given_out + 1'b1 < most;
    assign is_free[3] = given_out + (WIDTH + 1)'(2) < most;
    assign {if_taken, if_not} = 2'(is_free >> (2'(taken_before) + 2'(!give_back)));

    always_ff @(posedge clk) begin
        // Numbers are free while fewer are out. Compare first, and choose by the late signals.
        most <= limit < size ? limit : size;
        valid <= taken ? if_taken : if_not;
        taken_before <= taken;
        if (taken_before != give_back) given_out <= give_back ? given_out - 1'b1 : given_out + 1'b1;
        if (taken) head <= head + 1'b1;
        put <= filling || give_back;
        number <= filling ? WIDTH'(ordinal - 1'b1) : given_back;
        if (put) tail <= tail + 1'b1;
        ordinal <= filling ? ordinal + 1'b1 : (WIDTH + 1)'(1);
        if (last) filling <= 1'b0;
        if (rst) begin
            filling <= 1'b1;
            ordinal <= (WIDTH + 1)'(1);
            {head, tail} <= '0;
            given_out <= '0;
            {put, valid, taken_before} <= '0;
        end
    end
endmodule

`default_nettype wire
