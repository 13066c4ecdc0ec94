// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// The core: pcie-bench's micro-benchmarks as a PCIe requester, independent of the hard block, with interfaces as ports.
module benchmark_core #(
    // 256 or 512.
    parameter DATA_WIDTH = 256,
    // Most reads in flight: a power of two, 32 to 512; 512 are used with 10-bit tags.
    parameter TAGS = 64,
    // Latencies that are recorded one by one: a power of two, 4,096 to 16,384.
    parameter RECORDS = 4096,
    // Length of a clock, as software reads it.
    parameter CLOCK_PS = 4000,
    // Completions that the hard block stores: see completion_budget.sv.
    parameter COMPLETION_HEADERS = 256,
    parameter COMPLETION_DATA_BYTES = 28672,
    // 1: the core executes commands; 0: it has no queues, executors and memory for them.
    parameter COMMANDS = 1,
    // Bytes of the memory that commands read and write: a power of two, 4,096 to 8 MiB.
    parameter MEMORY_BYTES = 65536,
    // 1: that memory is behind an AXI port, as HBM is; 0: block RAM.
    parameter MEMORY_AXI = 0
) (
    input  wire logic clk,
    input  wire logic rst,

    // MPS and MRRS as the device control register encodes them, bus master enable, and function-level reset.
    input  wire logic [2:0] max_payload,
    input  wire logic [2:0] max_read_request,
    input  wire logic bus_master,
    // The host cuts completions at multiples of 128 bytes, not 64, as the link control register says.
    input  wire logic completion_boundary_128,
    // Extended tags as the device control register says, if the core knows it: software limits the tags too.
    input  wire logic extended_tags_known,
    input  wire logic extended_tags,
    // 10-Bit Tag Requester Enable, as the device control 2 register says, known like extended tags.
    input  wire logic ten_bit_tags,
    input  wire logic function_reset,
    // For one clock when a function-level reset is done.
    output logic function_reset_done,
    // From the MSI-X capability's control register.
    input  wire logic msix_enable,
    input  wire logic msix_mask,

    // The link has credit for another write, and for another read. Either may fall only after a request was taken.
    input  wire logic posted_credit,
    input  wire logic non_posted_credit,
    // Reported writes that are out.
    input  wire pcielab_pkg::out_t out,
    request_stream.source tx,
    completion_stream.sink rx,
    register_access.sink access,
    // Stores to the window of messages (BAR 2) and to the memory of commands (BAR 4); a full queue holds both up.
    host_stream.sink store,
    // Loads from the memory of commands; none without commands.
    memory_read.sink load,
    // The memory of commands, if it is not block RAM.
    axi_port.source axi,

    // For one clock when a test has ended.
    output logic test_ended
);
    import pcielab_pkg::*;
    import registers_pkg::*;

    localparam ID_WIDTH = $clog2(TAGS);
    // Queues for messages, and buffers of 64 bytes of each.
    localparam QUEUES = 4;
    localparam SLOTS = 64;

    // ---- software
    settings_t settings;
    status_t status;
    operation_t operation;
    logic parameters_good, piece_write, unit_write;
    logic [PIECE_INDEX_WIDTH:0] piece_address;
    logic [5:0] unit_address;
    logic [31:0] memory_data;
    logic [QUEUES-1:0][31:0] data_taken, heads;
    logic submit;
    logic [COMMAND_QUEUE_WIDTH-1:0] submit_queue;
    logic [COMMAND_QUEUES-1:0][$clog2(COMMAND_DEPTH):0] commands_waiting;
    logic [11:0] bin_address;
    logic [$clog2(RECORDS)-1:0] record_address;
    logic [31:0] bin_count, record;
    logic [CLOCKS_WIDTH-1:0] elapsed;
    logic [ID_WIDTH:0] retired_count;
    // Reserved codes count as the largest size.
    logic [2:0] payload_code, read_request_code;
    always_ff @(posedge clk) begin
        payload_code <= max_payload > 3'd5 ? 3'd5 : max_payload;
        read_request_code <= max_read_request > 3'd5 ? 3'd5 : max_read_request;
    end
    assign operation = settings.operation.operation;

    registers #(.TAGS(TAGS), .RECORDS(RECORDS), .QUEUES(QUEUES), .COMMANDS(COMMANDS)) register_file (
        .clk, .rst(rst || function_reset_done), .access, .settings, .parameters_good, .status, .piece_write, .piece_address,
        .unit_write, .unit_address, .memory_data, .data_taken, .heads, .submit, .submit_queue, .commands_waiting, .bin_address,
        .bin_count, .record_address, .record
    );
    assign status.parameters.data_bytes = 8'(DATA_WIDTH / 8);
    assign status.parameters.tags = 10'(TAGS);
    assign status.parameters.records_log2 = 5'($clog2(RECORDS));
    assign status.clock_ps = CLOCK_PS;
    assign status.link.max_payload = max_payload;
    assign status.link.max_read_request = max_read_request;
    assign status.link.bus_master = bus_master;
    assign status.message_queues.count = 8'(QUEUES);
    assign status.message_queues.bytes_log2 = 8'($clog2(SLOTS) + 6);
    assign status.elapsed = 64'(elapsed);
    assign status.retired_tags = 10'(retired_count);

    // ---- resets: a request that is being sent leaves whole first
    // Clears the state of the test before.
    logic prepare, prepare_test, prepare_commands;
    logic reset_pending, engine_rst, test_rst, function_reset_before, function_reset_pending;
    // The sources of requests, which share tx, and those that share the last of them.
    localparam DMA = 0, VECTOR = 1, SHARED = 2;
    localparam MESSAGES = 0, WRITES = 1, NOTICES = 2;
    request_stream #(.DATA_WIDTH(DATA_WIDTH)) ways [3] ();
    request_stream #(.DATA_WIDTH(DATA_WIDTH)) sharers [3] ();
    assign engine_rst = rst || (reset_pending && !ways[DMA].valid && !sharers[WRITES].valid && !sharers[NOTICES].valid);
    assign prepare = prepare_test || prepare_commands;
    assign test_rst = engine_rst || prepare;
    always_ff @(posedge clk) begin
        function_reset_before <= function_reset && !rst;
        function_reset_pending <= (function_reset_pending || (function_reset && !function_reset_before)) && !engine_rst;
        reset_pending <= (reset_pending || settings.control.reset || (function_reset && !function_reset_before)) && !engine_rst;
        function_reset_done <= function_reset_pending && engine_rst;
    end

    // ---- addresses to transfers to parts
    logic pools_ready, recorder_ready;
    logic address_valid, address_ready, address_in_buffer;
    logic [63:0] address;
    logic [OFFSET_WIDTH-1:0] offset;
    // Transfers of the test, of commands, and those of the two that are active: the other has none.
    logic test_valid, command_valid, transfer_valid, transfer_ready;
    transfer_t test_transfer, command_transfer;
    transfer_t transfer, part, split_part, held_part;
    logic split_busy, split_valid, split_ready, split_first, split_last;
    logic held_valid, held_ready, held_first, held_last, admitted, part_valid, engine_ready, part_first, part_last;
    logic [5:0] parts, split_parts, held_parts;
    logic budget_busy, space_freed, space_freed_first;
    logic [6:0] space_freed_address;
    logic [LENGTH_WIDTH-1:0] space_freed_bytes;
    logic drop, drop_test, drop_commands, quiet, tracker_quiet, commands_active;
    logic read_done, fault;
    result_t fault_kind;

    address_generator addresses (
        .clk, .rst(engine_rst), .start(prepare_test), .settings, .unit_write, .unit_address, .unit_data(memory_data[5:0]),
        .piece_write, .piece_address, .piece_data(memory_data),
        .out_valid(address_valid), .out_ready(address_ready), .out_address(address), .out_offset(offset),
        .out_in_buffer(address_in_buffer)
    );
    // A test waits until the last request of commands has left.
    test_sequencer sequencer (
        .clk, .rst(engine_rst), .settings, .parameters_good, .bus_master,
        .prepared(pools_ready && recorder_ready && !commands_active), .prepare(prepare_test), .address_valid, .address_ready,
        .address, .offset, .address_in_buffer, .transfer_valid(test_valid), .transfer_ready, .transfer(test_transfer),
        .read_done, .quiet, .fault, .fault_kind, .state(status.status.state), .result(status.status.result),
        .drop(drop_test), .ended(test_ended)
    );
    assign drop = drop_test || drop_commands;
    assign transfer = commands_active ? command_transfer : test_transfer;
    assign transfer_valid = commands_active ? command_valid : test_valid;
    splitter split (
        .clk, .rst(test_rst), .max_payload(payload_code), .max_read_request(read_request_code),
        .in_valid(transfer_valid), .in_ready(transfer_ready), .in_transfer(transfer), .busy(split_busy),
        .out_valid(split_valid), .out_ready(split_ready), .out_part(split_part), .out_first(split_first),
        .out_last(split_last), .out_parts(split_parts)
    );
    stream_register #(.WIDTH($bits(transfer_t) + 8)) before_budget (
        .clk, .rst(test_rst), .in_valid(split_valid), .in_ready(split_ready),
        .in_data({split_part, split_first, split_last, split_parts}),
        .out_valid(held_valid), .out_ready(held_ready || drop), .out_data({held_part, held_first, held_last, held_parts})
    );
    completion_budget #(
        .COMPLETION_HEADERS(COMPLETION_HEADERS), .COMPLETION_DATA_BYTES(COMPLETION_DATA_BYTES)
    ) budget (
        .clk, .rst(test_rst || drop), .boundary_128(completion_boundary_128), .in_valid(held_valid),
        .in_ready(held_ready), .in_part(held_part), .in_first(held_first), .in_last(held_last),
        .in_parts(held_parts), .out_valid(admitted), .out_ready(part_valid && engine_ready), .out_part(part),
        .out_first(part_first), .out_last(part_last), .out_parts(parts), .busy(budget_busy), .freed(space_freed),
        .freed_first(space_freed_first), .freed_address(space_freed_address), .freed_bytes(space_freed_bytes)
    );
    assign part_valid = admitted && !drop && !reset_pending;
    assign quiet = !split_busy && !held_valid && !budget_busy && !ways[DMA].valid && tracker_quiet;

    // ---- requests and completions
    logic tag_valid, slot_valid, issue, issue_first, free_tag, free_slot, tags_filled, slots_filled, tracker_ready;
    logic [ID_WIDTH-1:0] tag, slot, issue_slot, freed_tag, freed_slot;
    logic [LENGTH_WIDTH-1:0] dma_bytes, received_bytes, expected_bytes;
    logic dma_starts_transfer, dma_ends_transfer, dma_taken, write_taken, write_done;
    logic [OFFSET_WIDTH-1:0] expected_offset;
    logic expected_data, completion_fault, timed_out, mismatch;
    logic [DATA_WIDTH-1:0] beat_data;
    result_t completion_kind;
    // From the last beat of a completion to `read_done`.
    localparam RESULT_CLOCKS = 3;

    // Constant in a test.
    logic [ID_WIDTH:0] tag_count;
    logic wide_tags;
    tag_limit #(.TAGS(TAGS)) limit (
        .clk, .rst(test_rst), .link_tags(settings.link_tags), .extended_tags_known, .extended_tags, .ten_bit_tags,
        .count(tag_count), .wide(wide_tags)
    );

    id_pool #(.COUNT(TAGS)) tags (
        .clk, .rst(test_rst), .size(tag_count), .limit(tag_count), .filled(tags_filled), .valid(tag_valid), .id(tag),
        .take(issue), .give_back(free_tag), .given_back(freed_tag)
    );
    id_pool #(.COUNT(TAGS)) slots (
        .clk, .rst(test_rst), .size((ID_WIDTH + 1)'(TAGS)), .limit((ID_WIDTH + 1)'(settings.outstanding)),
        .filled(slots_filled), .valid(slot_valid), .id(slot), .take(issue_first), .give_back(free_slot),
        .given_back(freed_slot)
    );
    assign pools_ready = tags_filled && slots_filled && tracker_ready;

    request_engine #(.DATA_WIDTH(DATA_WIDTH), .TAGS(TAGS)) requester (
        .clk, .rst(engine_rst), .data_key(settings.data_key), .ten_bit_tags(wide_tags), .part_valid, .part_ready(engine_ready), .part, .part_first,
        .part_last, .tag_valid, .tag, .slot_valid, .slot, .issue, .issue_first, .issue_slot, .tx(ways[DMA]),
        .tx_starts_transfer(dma_starts_transfer), .tx_ends_transfer(dma_ends_transfer), .tx_bytes(dma_bytes)
    );
    interrupter interrupt (
        .clk, .rst, .clear(function_reset_done), .event_happened(test_ended), .enable(msix_enable),
        .function_mask(msix_mask || !bus_master), .vector_mask(settings.vector_control.mask),
        .address({settings.vector_address, 2'b00}), .pending(status.vector_pending), .request_valid(ways[VECTOR].valid),
        .request_ready(ways[VECTOR].ready), .request(ways[VECTOR].header)
    );
    assign ways[VECTOR].sop = 1'b1;
    assign ways[VECTOR].eop = 1'b1;
    assign ways[VECTOR].data = DATA_WIDTH'(settings.vector_data);
    request_arbiter #(.DATA_WIDTH(DATA_WIDTH), .SOURCES(3)) way_out (
        .clk, .rst, .posted_credit, .non_posted_credit, .in(ways), .out(tx)
    );
    assign dma_taken = ways[DMA].valid && ways[DMA].ready;
    assign write_taken = dma_taken && ways[DMA].header.write;
    assign write_done = write_taken && dma_ends_transfer;

    completion_tracker #(.DATA_WIDTH(DATA_WIDTH), .TAGS(TAGS), .RESULT_CLOCKS(RESULT_CLOCKS)) tracker (
        .clk, .rst(test_rst), .ready(tracker_ready), .timeout(settings.timeout), .ten_bit_tags(wide_tags), .issue, .issue_tag(tag), .issue_slot,
        .issue_parts(parts), .issue_offset(part.offset), .issue_length(part.length), .rx, .free_tag, .freed_tag, .free_slot,
        .freed_slot, .transfer_done(read_done), .space_freed, .space_freed_first, .space_freed_address, .space_freed_bytes,
        .received_bytes, .beat_data, .expected_offset, .expected_data, .expected_bytes,
        .fault(completion_fault), .fault_kind(completion_kind), .timed_out, .quiet(tracker_quiet), .retired_count
    );
    data_checker #(.DATA_WIDTH(DATA_WIDTH)) data_check (
        .clk, .rst(engine_rst), .data_key(settings.data_key),
        .valid(expected_data && settings.operation.check_data && !commands_active), .offset(expected_offset),
        .bytes(expected_bytes), .data(beat_data), .mismatch
    );
    fault_counters faults (
        .clk, .rst(engine_rst), .completion_fault, .completion_kind, .timed_out, .mismatch, .fault, .kind(fault_kind),
        .error_status_count(status.error_status_count), .poisoned_count(status.poisoned_count),
        .wrong_length_count(status.wrong_length_count), .unknown_tag_count(status.unknown_tag_count),
        .timed_out_count(status.timed_out_count), .data_mismatch_count(status.data_mismatch_count)
    );

    // ---- commands
    host_stream #(.DATA_WIDTH(DATA_WIDTH)) message_store ();
    // A record of a message, the only request of 8 double words there, enters the shared way, or leaves the core.
    logic sends_record, record_left;
    assign sends_record
        = sharers[MESSAGES].valid && sharers[MESSAGES].ready && sharers[MESSAGES].header.dwords == 11'd8;
    if (COMMANDS != 0) begin : command_side
        host_stream #(.DATA_WIDTH(DATA_WIDTH)) window_store (), bar_store (), memory_store ();
        request_stream #(.DATA_WIDTH(DATA_WIDTH)) shared ();
        store_switch by_bar (.clk, .store, .messages(window_store), .memory(bar_store));
        stream_register #(.WIDTH(2 + $bits(host_request_t) + DATA_WIDTH)) before_messages (
            .clk, .rst, .in_valid(window_store.valid), .in_ready(window_store.ready),
            .in_data({window_store.sop, window_store.eop, window_store.header, window_store.data}),
            .out_valid(message_store.valid), .out_ready(message_store.ready),
            .out_data({message_store.sop, message_store.eop, message_store.header, message_store.data})
        );
        stream_register #(.WIDTH(2 + $bits(host_request_t) + DATA_WIDTH)) before_memory (
            .clk, .rst, .in_valid(bar_store.valid), .in_ready(bar_store.ready),
            .in_data({bar_store.sop, bar_store.eop, bar_store.header, bar_store.data}), .out_valid(memory_store.valid),
            .out_ready(memory_store.ready),
            .out_data({memory_store.sop, memory_store.eop, memory_store.header, memory_store.data})
        );
        command_engine #(
            .DATA_WIDTH(DATA_WIDTH), .TAGS(TAGS), .MEMORY_BYTES(MEMORY_BYTES), .MEMORY_AXI(MEMORY_AXI),
            // Each completion may end in a beat that is not full.
            .ANSWER_BEATS(1 << $clog2(COMPLETION_DATA_BYTES / (DATA_WIDTH / 8) + COMPLETION_HEADERS))
        ) commands (
            .clk, .rst(engine_rst), .power_rst(rst), .settings, .bus_master, .max_payload(payload_code), .reset_pending, .submit, .submit_queue,
            .submit_word(memory_data), .waiting(commands_waiting),
            .free(status.status.state == IDLE && status.retired_tags == '0), .prepared(pools_ready), .prepare(prepare_commands),
            .active(commands_active), .drop(drop_commands), .transfer_valid(command_valid), .transfer_ready,
            .transfer(command_transfer), .take_slot(issue_first), .taken_slot(issue_slot), .free_slot, .freed_slot,
            .answer_valid(expected_data), .answer_offset(expected_offset), .answer_bytes(expected_bytes),
            .answer_data(beat_data), .fault, .fault_kind, .store(memory_store), .load, .axi, .out, .writes(sharers[WRITES]),
            .notices(sharers[NOTICES]), .ready(status.command_status.ready),
            .halted(status.command_status.halted), .result(status.command_status.result), .done(status.commands_done),
            .refused(status.commands_refused), .stores_bad(status.memory_stores_bad)
        );
        assign status.command_limits.memory_bytes_log2 = 6'($clog2(MEMORY_BYTES));
        assign status.command_limits.queues = 8'(COMMAND_QUEUES);
        assign status.command_limits.depth = 8'(COMMAND_DEPTH);
        request_arbiter #(.DATA_WIDTH(DATA_WIDTH), .SOURCES(3)) shared_way (
            .clk, .rst, .posted_credit(1'b1), .non_posted_credit(1'b1), .in(sharers), .out(shared)
        );
        logic record_waits;
        stream_register #(.WIDTH(3 + $bits(request_t) + DATA_WIDTH)) before_way_out (
            .clk, .rst, .in_valid(shared.valid), .in_ready(shared.ready),
            .in_data({sends_record, shared.sop, shared.eop, shared.header, shared.data}), .out_valid(ways[SHARED].valid),
            .out_ready(ways[SHARED].ready),
            .out_data({record_waits, ways[SHARED].sop, ways[SHARED].eop, ways[SHARED].header, ways[SHARED].data})
        );
        assign record_left = ways[SHARED].valid && ways[SHARED].ready && record_waits;
    end else begin : message_side
        // The engine's outputs stay 0, and messages have their way to themselves.
        assign {message_store.valid, message_store.sop, message_store.eop} = {store.valid, store.sop, store.eop};
        assign {message_store.header, message_store.data} = {store.header, store.data};
        assign store.ready = message_store.ready;
        assign {prepare_commands, commands_active, drop_commands, command_valid, command_transfer, commands_waiting} = '0;
        assign {status.command_limits, status.command_status} = '0;
        assign {status.commands_done, status.commands_refused, status.memory_stores_bad} = '0;
        assign {sharers[WRITES].valid, sharers[NOTICES].valid} = '0;
        assign {load.ready, load.response_valid, load.response_data} = '0;
        assign {axi.awvalid, axi.awid, axi.awaddr, axi.awlen, axi.awsize, axi.awburst} = '0;
        assign {axi.wvalid, axi.wdata, axi.wstrb, axi.wlast, axi.bready} = '0;
        assign {axi.arvalid, axi.arid, axi.araddr, axi.arlen, axi.arsize, axi.arburst, axi.rready} = '0;
        assign {ways[SHARED].valid, ways[SHARED].sop, ways[SHARED].eop}
            = {sharers[MESSAGES].valid, sharers[MESSAGES].sop, sharers[MESSAGES].eop};
        assign {ways[SHARED].header, ways[SHARED].data} = {sharers[MESSAGES].header, sharers[MESSAGES].data};
        assign sharers[MESSAGES].ready = ways[SHARED].ready;
        assign record_left = sends_record;
    end

    // ---- messages
    message_receiver #(.DATA_WIDTH(DATA_WIDTH), .QUEUES(QUEUES), .SLOTS(SLOTS)) receiver (
        .clk, .rst, .settings, .data_taken, .bus_master, .store(message_store), .tx(sharers[MESSAGES]), .record_left, .heads,
        .messages(status.messages_left), .dropped(status.messages_dropped), .stores_lost(status.stores_lost),
        .stores_bad(status.stores_bad)
    );

    // ---- time, by the one clock of all time stamps
    // Completions count RESULT_CLOCKS after their last beat. Requests count as much later, so that times are exact.
    logic [31:0] latency;
    logic is_latency, test_runs, starts, request_starts, starts_late, request_starts_late, write_done_late;
    logic [LENGTH_WIDTH-1:0] written_bytes, written_bytes_late;
    assign is_latency = operation == LAT_RD || operation == LAT_WRRD;
    assign test_runs = status.status.state != IDLE;
    // A pair counts from its write on.
    assign starts = dma_taken && dma_starts_transfer && (operation != LAT_WRRD || write_taken);
    assign request_starts = dma_taken && ways[DMA].sop;
    assign written_bytes = write_taken && ways[DMA].eop ? dma_bytes : '0;
    delay #(.WIDTH(3 + LENGTH_WIDTH), .CLOCKS(RESULT_CLOCKS)) beside_results (
        .clk, .in({starts, request_starts, write_done, written_bytes}),
        .out({starts_late, request_starts_late, write_done_late, written_bytes_late})
    );
    always_ff @(posedge clk) latency <= starts_late ? 32'd1 : latency + 32'd1;

    latency_recorder #(.RECORDS(RECORDS)) recorder (
        .clk, .rst(engine_rst), .clear(prepare_test), .ready(recorder_ready), .bin_shift(settings.bin_shift),
        .sample_valid(read_done && is_latency && test_runs), .sample(latency), .record_address, .record,
        .bin_address, .bin_count, .samples(status.samples), .minimum(status.latency_min), .maximum(status.latency_max),
        .sum(status.latency_sum)
    );
    // A request that left right before a reset counts no more.
    bandwidth_counters counters (
        .clk, .rst(engine_rst), .clear(prepare_test), .latch(settings.control.latch || test_ended),
        .request_starts(request_starts_late && test_runs), .read_done,
        .write_done(write_done_late && test_runs && operation != LAT_WRRD), .read_bytes(received_bytes),
        .written_bytes(test_runs ? written_bytes_late : '0),
        .transactions(status.transactions), .elapsed, .bytes_read(status.bytes_read), .bytes_written(status.bytes_written)
    );
endmodule

`default_nettype wire
