// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Executes commands that write to the bus: cuts each at multiples of MPS, reads the core's memory ahead of the request
// stream, and reports the command when its last write is out. The beats of a request leave without a gap.
module write_executor #(
    parameter DATA_WIDTH = 256,
    parameter MEMORY_BYTES = 65536,
    // 0: data come two clocks after their address. 1: when they come; a request then leaves once it has all of its data.
    parameter LATENT = 0,
    parameter ADDRESS_WIDTH = $clog2(MEMORY_BYTES / (DATA_WIDTH / 8))
) (
    input  wire logic clk,
    input  wire logic rst,
    // Requests may start.
    input  wire logic go,
    // 128 << code bytes.
    input  wire logic [2:0] max_payload,
    input  wire logic [pcielab_pkg::CLOCKS_WIDTH-1:0] clock,

    input  wire logic command_valid,
    output logic command_ready,
    input  wire pcielab_pkg::command_t command,

    // The memory is read, if it is ready. No request starts while the host waits for the memory.
    output logic reads,
    input  wire logic memory_ready,
    input  wire logic host_waits,
    output logic [ADDRESS_WIDTH-1:0] memory_address,
    // Of a latent memory.
    input  wire logic memory_valid,
    input  wire logic [DATA_WIDTH-1:0] memory_data,

    request_stream.source tx,
    input  wire pcielab_pkg::out_t out,

    output logic ended_valid,
    input  wire logic ended_ready,
    output pcielab_pkg::ended_command_t ended
);
    import pcielab_pkg::*;

    localparam BEAT_BYTES = DATA_WIDTH / 8;
    localparam BEAT_WIDTH = $clog2(BEAT_BYTES);
    // Beats read ahead; two requests of 4 KiB from a latent memory.
    localparam AHEAD = LATENT ? 8192 / BEAT_BYTES : 16;

    // ---- a command is cut into requests: one clock finds the next length, a later one cuts
    command_t left;
    logic busy, measured, cut, last, reports_room;
    logic [LENGTH_WIDTH-1:0] limit, to_limit, room_to_limit, length;
    assign command_ready = !busy;
    assign room_to_limit = limit - (left.address[LENGTH_WIDTH-1:0] & (limit - 1'b1));
    assign length = last ? LENGTH_WIDTH'(left.length) : to_limit;

    // ---- the request whose beats are read
    request_t header;
    logic open, sop, eop, next_beat, room;
    // Of requests since the last reset.
    logic epoch, was_reset;
    logic [7:0] beats_left;
    assign cut = measured && go && reports_room && !host_waits && (!open || (next_beat && eop));
    assign reads = open && room;
    assign next_beat = reads && memory_ready;
    assign eop = beats_left == 8'd1;
    always_ff @(posedge clk) begin
        limit <= LENGTH_WIDTH'(128) << max_payload;
        to_limit <= room_to_limit;
        last <= left.length <= COMMAND_WIDTH'(room_to_limit);
        measured <= busy && !measured ? 1'b1 : measured && !cut;
        if (!busy) left <= command;
        else if (cut) begin
            left.address <= left.address + 64'(to_limit);
            left.memory <= left.memory + COMMAND_WIDTH'(to_limit);
            left.length <= left.length - COMMAND_WIDTH'(to_limit);
        end
        busy <= busy ? !(cut && last) : command_valid;
        if (cut) begin
            header.write <= 1'b1;
            header.address <= left.address;
            header.dwords <= dwords_of(2'd0, length);
            header.first_be <= length < LENGTH_WIDTH'(4) ? enables_to(length[1:0] - 2'd1) : 4'b1111;
            header.last_be <= length <= LENGTH_WIDTH'(4) ? 4'b0000 : enables_to(length[1:0] - 2'd1);
            header.tag <= '0;
            beats_left <= 8'((length + LENGTH_WIDTH'(BEAT_BYTES - 1)) >> BEAT_WIDTH);
            memory_address <= left.memory[BEAT_WIDTH +: ADDRESS_WIDTH];
            header.report <= last;
            header.epoch <= epoch;
            sop <= 1'b1;
        end else if (next_beat) begin
            beats_left <= beats_left - 1'b1;
            memory_address <= memory_address + 1'b1;
            sop <= 1'b0;
        end
        open <= cut || (open && !(next_beat && eop));
        was_reset <= rst;
        if (rst && !was_reset) epoch <= !epoch;
        if (rst) {busy, measured, open} <= '0;
    end

    // ---- beats meet their data
    typedef struct packed {
        logic sop, eop;
        request_t header;
    } beat_t;
    beat_t beat, beat_out;
    logic beat_valid;
    logic [DATA_WIDTH-1:0] data_out;
    // Entries that neither hold a beat nor wait for one.
    logic [$clog2(AHEAD):0] free;
    logic taken;
    logic [1:0] clearing;
    logic arrives, whole, in_request, held;
    if (LATENT) begin : latent
        // Data of before a reset are dropped by whoever reads the memory.
        stream_fifo #(.WIDTH($bits(beat_t)), .DEPTH(AHEAD)) without_data (
            .clk, .rst, .in_valid(next_beat), .in_ready(), .in_data({sop, eop, header}), .out_valid(beat_valid),
            .out_ready(memory_valid), .out_data(beat), .count()
        );
        assign arrives = memory_valid && beat_valid;
        // Requests that have all of their data.
        logic [$clog2(AHEAD):0] complete;
        assign whole = in_request || complete != '0;
        always_ff @(posedge clk) begin
            complete <= complete + ($clog2(AHEAD) + 1)'(arrives && beat.eop) - ($clog2(AHEAD) + 1)'(taken && beat_out.eop);
            if (taken) in_request <= !beat_out.eop;
            if (rst) {complete, in_request} <= '0;
        end
    end else begin : fixed
        delay #(.WIDTH(1 + $bits(beat_t)), .CLOCKS(2)) beside_memory (
            .clk, .in({next_beat && !rst, sop, eop, header}), .out({beat_valid, beat})
        );
        assign arrives = beat_valid && clearing == '0;
        assign {whole, in_request} = 2'b10;
    end
    stream_fifo #(.WIDTH($bits(beat_t) + DATA_WIDTH), .DEPTH(AHEAD)) beats (
        .clk, .rst, .in_valid(arrives), .in_ready(), .in_data({beat, memory_data}), .out_valid(held), .out_ready(tx.ready && whole),
        .out_data({beat_out, data_out}), .count()
    );
    assign tx.valid = held && whole;
    assign {tx.sop, tx.eop, tx.header, tx.data} = {beat_out.sop, beat_out.eop, beat_out.header, data_out};
    assign taken = tx.valid && tx.ready;
    assign room = free != '0;
    always_ff @(posedge clk) begin
        free <= free - ($clog2(AHEAD) + 1)'(next_beat) + ($clog2(AHEAD) + 1)'(taken);
        // Beats from before a reset are still on their way.
        clearing <= {clearing[0], 1'b0};
        if (rst) begin
            free <= ($clog2(AHEAD) + 1)'(AHEAD);
            clearing <= '1;
        end
    end

    // ---- reports wait until the last write is out
    ended_command_t report;
    logic [$clog2(AHEAD):0] left_whole;
    logic [1:0] ends_out;
    for (genvar n = 0; n < 2; n++) assign ends_out[n] = out.valid[n] && out.epoch[n] == epoch;
    always_ff @(posedge clk) if (!busy) report <= ended_command(command, clock);
    logic report_valid;
    stream_fifo #(.WIDTH($bits(ended_command_t)), .DEPTH(AHEAD)) reports (
        .clk, .rst, .in_valid(cut && last), .in_ready(reports_room), .in_data(report), .out_valid(report_valid),
        .out_ready(ended_valid && ended_ready), .out_data(ended), .count()
    );
    assign ended_valid = report_valid && left_whole != '0;
    always_ff @(posedge clk) begin
        left_whole <= left_whole + ($clog2(AHEAD) + 1)'(ends_out[0]) + ($clog2(AHEAD) + 1)'(ends_out[1]) - ($clog2(AHEAD) + 1)'(ended_valid && ended_ready);
        if (rst) left_whole <= '0;
    end
endmodule

`default_nettype wire
