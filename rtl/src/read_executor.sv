// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Executes commands that read from the bus: turns each into transfers that cross no multiple of 4 KiB, and reports it once
// all of them are answered. Transfers are answered in any order; commands are reported in theirs.
module read_executor #(
    // Transfers in flight.
    parameter TAGS = 64,
    parameter ID_WIDTH = $clog2(TAGS)
) (
    input  wire logic clk,
    input  wire logic rst,
    input  wire logic [pcielab_pkg::CLOCKS_WIDTH-1:0] clock,

    input  wire logic command_valid,
    output logic command_ready,
    input  wire pcielab_pkg::command_t command,

    output logic transfer_valid,
    input  wire logic transfer_ready,
    output pcielab_pkg::transfer_t transfer,

    // A transfer gets a slot, in the order of transfers.
    input  wire logic take_slot,
    input  wire logic [ID_WIDTH-1:0] taken_slot,
    // All data of the transfer in a slot have come.
    input  wire logic free_slot,
    input  wire logic [ID_WIDTH-1:0] freed_slot,

    output logic ended_valid,
    input  wire logic ended_ready,
    output pcielab_pkg::ended_command_t ended
);
    import pcielab_pkg::*;

    localparam PAGE_WIDTH = 12;

    // ---- commands to transfers
    command_t left;
    ended_command_t report;
    logic busy, put, last, room;
    logic [LENGTH_WIDTH-1:0] to_page;
    logic shifted;
    assign command_ready = !busy;
    assign to_page = LENGTH_WIDTH'(1 << PAGE_WIDTH) - LENGTH_WIDTH'(left.address[PAGE_WIDTH-1:0]);
    assign last = left.length <= COMMAND_WIDTH'(to_page);
    assign transfer_valid = busy && room;
    assign put = transfer_valid && transfer_ready;
    // The tracker compares the lowest 7 bits of offset and bus address; offset_of_memory subtracts the difference.
    assign shifted = left.address[6] != left.memory[6];
    always_comb begin
        transfer.write = 1'b0;
        transfer.address = left.address;
        transfer.offset = OFFSET_WIDTH'(left.memory) + (shifted ? OFFSET_WIDTH'(COMMAND_ALIGNMENT) : '0);
        transfer.offset[OFFSET_WIDTH-1] = shifted;
        transfer.length = last ? LENGTH_WIDTH'(left.length) : to_page;
    end
    always_ff @(posedge clk) begin
        if (!busy) begin
            left <= command;
            report <= ended_command(command, clock);
        end else if (put) begin
            left.address <= left.address + 64'(to_page);
            left.memory <= left.memory + COMMAND_WIDTH'(to_page);
            left.length <= left.length - COMMAND_WIDTH'(to_page);
        end
        busy <= busy ? !(put && last) : command_valid;
        if (rst) busy <= 1'b0;
    end

    // ---- transfers in flight, in their order
    logic [ID_WIDTH-1:0] head, taken, tail, answered_number;
    logic [ID_WIDTH:0] count;
    logic [TAGS-1:0] answered;
    // Which slot was taken is known late in its clock, and used in the next: no transfer is answered as soon as that.
    logic took_slot;
    logic [ID_WIDTH-1:0] slot;
    // The head is looked at in the clock after it became the head, and counts two clocks later.
    logic pop, head_settled, head_seen, head_answered, ends_command, answer;
    lookup #(.WIDTH(1 + $bits(ended_command_t)), .DEPTH(TAGS)) reports (
        .clk, .write(put), .write_address(tail), .write_data({last, report}), .read_address(head),
        .read_data({ends_command, ended})
    );
    lookup #(.WIDTH(ID_WIDTH), .DEPTH(TAGS)) numbers (
        .clk, .write(took_slot), .write_address(slot), .write_data(taken), .read_address(freed_slot),
        .read_data(answered_number)
    );
    logic [ID_WIDTH-1:0] answer_number;
    assign room = !count[ID_WIDTH];
    assign ended_valid = head_answered && ends_command;
    assign pop = head_answered && (!ends_command || ended_ready);
    always_ff @(posedge clk) begin
        took_slot <= take_slot;
        slot <= taken_slot;
        answer <= free_slot;
        answer_number <= answered_number;
        head_seen <= answered[head];
        head_settled <= !pop;
        head_answered <= head_seen && head_settled && !pop;
        if (pop) answered[head] <= 1'b0;
        if (answer) answered[answer_number] <= 1'b1;
        head <= head + ID_WIDTH'(pop);
        taken <= taken + ID_WIDTH'(took_slot);
        tail <= tail + ID_WIDTH'(put);
        count <= count + (ID_WIDTH + 1)'(put) - (ID_WIDTH + 1)'(pop);
        if (rst) {took_slot, answer, answered, head_settled, head_answered, head, taken, tail, count} <= '0;
    end
endmodule

`default_nettype wire
