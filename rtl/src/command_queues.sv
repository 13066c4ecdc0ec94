// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Queues of commands: checks each command that software submits, and hands them to the two executors in turns of the queues.
// The commands of a queue start in order; one waits only for its own executor.
module command_queues #(
    parameter MEMORY_BYTES = 65536
) (
    input  wire logic clk,
    input  wire logic rst,
    input  wire registers_pkg::settings_t settings,
    // Commands are taken; otherwise each is refused.
    input  wire logic enable,
    input  wire logic [pcielab_pkg::CLOCKS_WIDTH-1:0] clock,

    input  wire logic submit,
    input  wire logic [pcielab_pkg::COMMAND_QUEUE_WIDTH-1:0] submit_queue,
    // As software writes it to COMMAND_SUBMIT.
    input  wire logic [31:0] submit_word,

    output logic read_valid,
    input  wire logic read_ready,
    output pcielab_pkg::command_t read_command,
    output logic write_valid,
    input  wire logic write_ready,
    output pcielab_pkg::command_t write_command,

    output logic [pcielab_pkg::COMMAND_QUEUES-1:0][$clog2(pcielab_pkg::COMMAND_DEPTH):0] waiting,
    output logic [31:0] refused
);
    import pcielab_pkg::*;

    // ---- a command is held for a clock while it is checked
    logic held_valid, checked_valid, good, put;
    command_t held, checked;
    logic [COMMAND_QUEUES-1:0] room;
    always_ff @(posedge clk) begin
        held_valid <= submit;
        held.write <= submit_word[0];
        held.notify <= submit_word[1];
        held.number <= submit_word[31:16];
        held.queue_number <= submit_queue;
        held.address <= {settings.command_bus, 6'b0};
        held.memory <= COMMAND_WIDTH'({settings.command_memory, 6'b0});
        held.length <= settings.command_length;
        held.arrived <= clock;
        checked_valid <= held_valid;
        checked <= held;
        good <= enable && held.length != '0 && settings.command_memory[31:COMMAND_WIDTH] == '0
            && (COMMAND_WIDTH + 1)'(held.memory) + (COMMAND_WIDTH + 1)'(held.length) <= (COMMAND_WIDTH + 1)'(MEMORY_BYTES);
        refused <= refused + 32'(checked_valid && !put);
        if (rst) {held_valid, checked_valid, refused} <= '0;
    end
    assign put = checked_valid && good && room[checked.queue_number];

    logic [COMMAND_QUEUES-1:0] valid, take;
    command_t [COMMAND_QUEUES-1:0] first;
    for (genvar n = 0; n < COMMAND_QUEUES; n++) begin : queues
        stream_fifo #(.WIDTH($bits(command_t)), .DEPTH(COMMAND_DEPTH)) entries (
            .clk, .rst, .in_valid(put && checked.queue_number == COMMAND_QUEUE_WIDTH'(n)), .in_ready(room[n]), .in_data(checked),
            .out_valid(valid[n]), .out_ready(take[n]), .out_data(first[n]), .count(waiting[n])
        );
    end

    // ---- for each executor, one queue is looked at each clock: the next one, unless its first command waits for the executor
    logic [1:0][COMMAND_QUEUE_WIDTH-1:0] turn;
    logic [1:0] offered, given, out_valid, out_ready;
    command_t [1:0] out_command;
    for (genvar n = 0; n < 2; n++) begin : executors
        assign offered[n] = valid[turn[n]] && first[turn[n]].write == 1'(n);
        assign given[n] = offered[n] && !out_valid[n];
        always_ff @(posedge clk) begin
            if (!offered[n] || given[n]) turn[n] <= turn[n] + 1'b1;
            if (given[n]) out_command[n] <= first[turn[n]];
            out_valid[n] <= given[n] || (out_valid[n] && !out_ready[n]);
            if (rst) {turn[n], out_valid[n]} <= '0;
        end
    end
    always_comb begin
        take = '0;
        for (int n = 0; n < 2; n++) take[turn[n]] |= given[n];
    end
    assign {write_valid, read_valid} = out_valid;
    assign out_ready = {write_ready, read_ready};
    assign {write_command, read_command} = out_command;
endmodule

`default_nettype wire
