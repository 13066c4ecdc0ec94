// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Executes commands: queues, an executor for each direction, the core's memory, and the notifier. Reads go through the path
// that tests use, from the splitter to the completion tracker; the two never run at once.
module command_engine #(
    parameter DATA_WIDTH = 256,
    parameter TAGS = 64,
    parameter MEMORY_BYTES = 65536,
    // 1: the memory is behind an AXI port.
    parameter MEMORY_AXI = 0,
    parameter ANSWER_BEATS = 2048,
    parameter ID_WIDTH = $clog2(TAGS)
) (
    input  wire logic clk,
    input  wire logic rst,
    // Of the hard block and of a memory behind AXI.
    input  wire logic power_rst,
    input  wire registers_pkg::settings_t settings,
    input  wire logic bus_master,
    input  wire logic [2:0] max_payload,
    // A reset waits for requests that are being sent.
    input  wire logic reset_pending,

    input  wire logic submit,
    input  wire logic [pcielab_pkg::COMMAND_QUEUE_WIDTH-1:0] submit_queue,
    input  wire logic [31:0] submit_word,
    output logic [pcielab_pkg::COMMAND_QUEUES-1:0][$clog2(pcielab_pkg::COMMAND_DEPTH):0] waiting,

    // No test runs, and no tag is retired.
    input  wire logic free,
    input  wire logic prepared,
    output logic prepare,
    // Requests are those of commands: a register of its own, because it selects the transfers.
    output logic active,
    // Drops requests that have not left.
    output logic drop,

    output logic transfer_valid,
    input  wire logic transfer_ready,
    output pcielab_pkg::transfer_t transfer,
    input  wire logic take_slot,
    input  wire logic [ID_WIDTH-1:0] taken_slot,
    input  wire logic free_slot,
    input  wire logic [ID_WIDTH-1:0] freed_slot,
    input  wire logic answer_valid,
    input  wire logic [pcielab_pkg::OFFSET_WIDTH-1:0] answer_offset,
    input  wire logic [pcielab_pkg::LENGTH_WIDTH-1:0] answer_bytes,
    input  wire logic [DATA_WIDTH-1:0] answer_data,
    input  wire logic fault,
    input  wire registers_pkg::result_t fault_kind,

    host_stream.sink store,
    memory_read.sink load,
    axi_port.source axi,
    input  wire pcielab_pkg::out_t out,
    request_stream.source writes,
    request_stream.source notices,

    output logic ready,
    output logic halted,
    output registers_pkg::result_t result,
    output logic [31:0] done,
    output logic [31:0] refused,
    output logic [31:0] stores_bad
);
    import pcielab_pkg::*;
    import registers_pkg::*;

    typedef enum logic [1:0] {OFF, PREPARE_POOLS, EXECUTE, HALTED} state_t;

    state_t execution;
    logic go, ends, executor_rst, store_bad;
    logic [CLOCKS_WIDTH-1:0] clock;

    assign prepare = execution == OFF && settings.commands.enable && free && bus_master;
    assign ready = execution == EXECUTE;
    assign halted = execution == HALTED;
    assign drop = halted;
    assign go = ready && bus_master && settings.commands.enable && !reset_pending;
    // A request that is offered leaves whole, and none begins in the clock in which `active` falls.
    assign ends = active && !settings.commands.enable && !writes.valid && !notices.valid;
    assign executor_rst = rst || !active || ends;
    always_ff @(posedge clk) begin
        clock <= clock + 1'b1;
        stores_bad <= stores_bad + 32'(store_bad);
        unique case (execution)
            OFF: if (prepare) begin
                execution <= PREPARE_POOLS;
                active <= 1'b1;
            end
            PREPARE_POOLS: if (prepared) execution <= EXECUTE;
            EXECUTE: if (fault || !bus_master) begin
                execution <= HALTED;
                result <= fault ? fault_kind : BUS_MASTER_OFF;
            end
            default:;
        endcase
        if (ends) begin
            execution <= OFF;
            active <= 1'b0;
        end
        if (rst) begin
            execution <= OFF;
            active <= 1'b0;
            result <= NONE;
            {clock, stores_bad} <= '0;
        end
    end

    logic read_valid, read_ready, write_valid, write_ready;
    command_t read_command, write_command;
    command_queues #(.MEMORY_BYTES(MEMORY_BYTES)) queues (
        .clk, .rst(executor_rst), .settings, .enable(ready), .clock, .submit, .submit_queue, .submit_word, .read_valid,
        .read_ready, .read_command, .write_valid, .write_ready, .write_command, .waiting, .refused
    );

    logic next_valid, next_ready, memory_takes;
    transfer_t next;
    logic [1:0] ended_valid, ended_ready;
    ended_command_t [1:0] ended;
    read_executor #(.TAGS(TAGS)) reader (
        .clk, .rst(executor_rst), .clock, .command_valid(read_valid), .command_ready(read_ready), .command(read_command),
        .transfer_valid(next_valid), .transfer_ready(next_ready && memory_takes), .transfer(next), .take_slot, .taken_slot, .free_slot,
        .freed_slot, .ended_valid(ended_valid[0]), .ended_ready(ended_ready[0]), .ended(ended[0])
    );
    stream_register #(.WIDTH($bits(transfer_t))) held_transfer (
        .clk, .rst(executor_rst), .in_valid(next_valid && memory_takes), .in_ready(next_ready), .in_data(next), .out_valid(transfer_valid),
        .out_ready(transfer_ready), .out_data(transfer)
    );

    localparam ADDRESS_WIDTH = $clog2(MEMORY_BYTES / (DATA_WIDTH / 8));
    logic [ADDRESS_WIDTH-1:0] memory_address, writer_address;
    logic [DATA_WIDTH-1:0] memory_data;
    logic writer_reads, memory_ready, writer_valid;
    write_executor #(.DATA_WIDTH(DATA_WIDTH), .MEMORY_BYTES(MEMORY_BYTES), .LATENT(MEMORY_AXI)) writer (
        .clk, .rst(executor_rst), .go, .max_payload, .clock, .command_valid(write_valid), .command_ready(write_ready),
        .command(write_command), .reads(writer_reads), .memory_ready, .host_waits(load.valid), .memory_address(writer_address),
        .memory_valid(writer_valid), .memory_data, .tx(writes), .out, .ended_valid(ended_valid[1]),
        .ended_ready(ended_ready[1]), .ended(ended[1])
    );
    // The host reads while the executor does not.
    assign load.ready = memory_ready && !writer_reads;
    assign memory_address = writer_reads ? writer_address : load.address[$clog2(DATA_WIDTH / 8) +: ADDRESS_WIDTH];
    assign load.response_data = memory_data;
    if (MEMORY_AXI != 0) begin : behind_axi
        // The reader of each beat on its way, and whether it is still there.
        localparam ON_THE_WAY = 256;
        logic response, of_writer, reset_since, epoch, was_reset, reads_room;
        logic memory_reads_ready;
        assign memory_ready = memory_reads_ready && reads_room;
        stream_fifo #(.WIDTH(2), .DEPTH(ON_THE_WAY)) readers (
            .clk, .rst(power_rst), .in_valid((writer_reads || load.valid) && memory_ready), .in_ready(reads_room),
            .in_data({writer_reads, epoch}), .out_valid(), .out_ready(response), .out_data({of_writer, reset_since}), .count()
        );
        assign writer_valid = response && of_writer && reset_since == epoch;
        assign load.response_valid = response && !of_writer;
        always_ff @(posedge clk) begin
            was_reset <= executor_rst;
            if (executor_rst && !was_reset) epoch <= !epoch;
            if (power_rst) epoch <= 1'b0;
        end
        axi_memory #(.DATA_WIDTH(DATA_WIDTH), .ADDRESS_WIDTH(ADDRESS_WIDTH), .ANSWER_BEATS(ANSWER_BEATS)) memory (
            .clk, .rst(power_rst), .answer_valid(answer_valid && active), .answer_offset, .answer_bytes, .answer_data, .store,
            .store_bad, .read_valid((writer_reads || load.valid) && reads_room), .read_ready(memory_reads_ready),
            .read_address(memory_address), .read_response_valid(response), .read_data(memory_data), .takes_reads(memory_takes), .errors(), .axi
        );
    end else begin : in_block_ram
        assign {memory_ready, writer_valid, memory_takes} = 3'b111;
        delay #(.WIDTH(1), .CLOCKS(2)) beside_memory (
            .clk, .in(load.valid && load.ready && !power_rst), .out(load.response_valid)
        );
        device_memory #(.DATA_WIDTH(DATA_WIDTH), .BYTES(MEMORY_BYTES)) memory (
            .clk, .rst(power_rst), .answer_valid(answer_valid && active), .answer_offset, .answer_bytes, .answer_data, .store,
            .store_bad, .read_address(memory_address), .read_data(memory_data)
        );
        assign {axi.awvalid, axi.awid, axi.awaddr, axi.awlen, axi.awsize, axi.awburst} = '0;
        assign {axi.wvalid, axi.wdata, axi.wstrb, axi.wlast, axi.bready} = '0;
        assign {axi.arvalid, axi.arid, axi.araddr, axi.arlen, axi.arsize, axi.arburst, axi.rready} = '0;
    end
    notifier #(.DATA_WIDTH(DATA_WIDTH)) notify (
        .clk, .rst(executor_rst), .go, .settings, .clock, .ended_valid, .ended_ready, .ended, .tx(notices), .done
    );
endmodule

`default_nettype wire
