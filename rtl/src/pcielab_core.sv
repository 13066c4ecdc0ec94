// The core: pcie-bench's micro-benchmarks as a requester on PCIe, whoever makes the hard block.
//
// Four streams and a few wires of configuration are all that it has to do with the world. Requests leave on tx, their
// completions come in on rx, software's register accesses on reg, and its stores of messages on store. Headers stand beside the first beat; the
// payload starts in the lowest double word of the first beat, whatever its address, and fills every beat but the last.
// rx_poisoned may stand beside any beat. rx is always taken: a requester must have room for what it has asked for.
module pcielab_core #(
    // 256 or 512.
    parameter DATA_WIDTH = 256,
    // Reads in flight at most: a power of two, 32 to 256.
    parameter TAGS = 64,
    // Latencies kept one by one: a power of two, 4,096 to 16,384.
    parameter RECORDS = 4096,
    // What software is told that a clock lasts.
    parameter CLOCK_PS = 4000
) (
    input  logic clk,
    input  logic rst,

    // MPS and MRRS as the device control register encodes them, the right to make requests, and function-level reset.
    input  logic [2:0] max_payload,
    input  logic [2:0] max_read_request,
    input  logic bus_master,
    input  logic function_reset,
    // For one clock when a function-level reset is done with.
    output logic function_reset_done,
    // What the MSI-X capability's control register holds.
    input  logic msix_enable,
    input  logic msix_mask,

    output logic tx_valid,
    input  logic tx_ready,
    output logic tx_sop,
    output logic tx_eop,
    output logic tx_write,
    output logic [63:0] tx_address,
    output logic [10:0] tx_dwords,
    output logic [3:0] tx_first_be,
    output logic [3:0] tx_last_be,
    output logic [pcielab_pkg::TAG_WIDTH-1:0] tx_tag,
    output logic [DATA_WIDTH-1:0] tx_data,

    input  logic rx_valid,
    input  logic rx_sop,
    input  logic rx_eop,
    input  logic [pcielab_pkg::TAG_WIDTH-1:0] rx_tag,
    input  logic [2:0] rx_status,
    input  logic rx_poisoned,
    input  logic [12:0] rx_byte_count,
    input  logic [6:0] rx_lower_address,
    input  logic [10:0] rx_dwords,
    input  logic [DATA_WIDTH-1:0] rx_data,

    input  logic reg_valid,
    output logic reg_ready,
    input  logic reg_write,
    input  logic [16:0] reg_address,
    input  logic [31:0] reg_data,
    output logic reg_response_valid,
    output logic [31:0] reg_response_data,

    // Stores to the window of messages; a full queue holds them up.
    input  logic store_valid,
    output logic store_ready,
    input  logic store_sop,
    input  logic store_eop,
    input  pcielab_pkg::host_request_t store,
    input  logic [DATA_WIDTH-1:0] store_data,

    // For one clock when a test has ended.
    output logic test_ended
);
    import pcielab_pkg::*;

    localparam ID_WIDTH = $clog2(TAGS);
    // Queues for messages, and buffers of 64 bytes of each.
    localparam QUEUES = 4;
    localparam SLOTS = 64;

    // ---- software
    logic start, stop, reset, latch, parameters_good;
    logic [31:0] timeout, count, data_key;
    logic [2:0] operation;
    logic first_writes, check_data;
    logic [8:0] outstanding, link_tags;
    logic [4:0] bin_shift;
    address_list_t list;
    logic piece_write, unit_write;
    logic [PIECE_INDEX_WIDTH:0] piece_address;
    logic [5:0] unit_address;
    logic [31:0] memory_data;
    state_t state;
    result_t result;
    logic [31:0] transactions, samples, minimum, maximum;
    logic [CLOCKS_WIDTH-1:0] elapsed;
    logic [63:0] bytes_read, bytes_written, sum;
    logic [31:0] error_status_count, poisoned_count, wrong_length_count, unknown_tag_count, timed_out_count;
    logic [31:0] data_mismatch_count;
    logic [11:0] bin_address;
    logic [$clog2(RECORDS)-1:0] record_address;
    logic [31:0] bin_count, record;
    logic [ID_WIDTH:0] retired_count;
    logic vector_mask, vector_pending;
    logic [63:0] vector_address;
    logic [31:0] vector_data, message_value;
    logic message_write;
    logic [16:0] read_address;
    // Reserved codes are taken for the largest size there is.
    logic [2:0] payload_code, read_request_code;
    assign payload_code = max_payload > 3'd5 ? 3'd5 : max_payload;
    assign read_request_code = max_read_request > 3'd5 ? 3'd5 : max_read_request;

    registers #(.DATA_WIDTH(DATA_WIDTH), .TAGS(TAGS), .RECORDS(RECORDS), .CLOCK_PS(CLOCK_PS)) register_file (
        .clk, .rst(rst || function_reset_done), .reg_valid, .reg_ready, .reg_write, .reg_address, .reg_data, .reg_response_valid, .reg_response_data,
        .start, .stop, .reset, .latch, .parameters_good, .timeout, .operation, .first_writes, .check_data, .count,
        .outstanding, .link_tags, .data_key, .bin_shift, .list, .piece_write, .piece_address, .unit_write, .unit_address,
        .memory_data, .state, .result, .max_payload, .max_read_request, .bus_master, .transactions, .elapsed,
        .bytes_read, .bytes_written, .samples, .minimum, .maximum, .sum, .error_status_count, .poisoned_count,
        .wrong_length_count, .unknown_tag_count, .timed_out_count, .data_mismatch_count,
        .retired_tags(9'(retired_count)), .vector_mask, .vector_address, .vector_data, .vector_pending,
        .message_write, .message_value, .read_address, .bin_address, .bin_count, .record_address, .record
    );

    // ---- resets: a request that is being sent goes out whole first
    // Everything of the test before is forgotten when one starts.
    logic prepare, dma_valid;
    logic reset_pending, engine_rst, test_rst, function_reset_before, function_reset_pending;
    assign engine_rst = rst || (reset_pending && !dma_valid);
    assign test_rst = engine_rst || prepare;
    always_ff @(posedge clk) begin
        function_reset_before <= function_reset && !rst;
        function_reset_pending <= (function_reset_pending || (function_reset && !function_reset_before)) && !engine_rst;
        reset_pending <= (reset_pending || reset || (function_reset && !function_reset_before)) && !engine_rst;
        function_reset_done <= function_reset_pending && engine_rst;
    end

    // ---- addresses to transfers to parts
    logic pools_ready, recorder_ready;
    logic address_valid, address_ready, address_in_buffer;
    logic [63:0] address;
    logic [OFFSET_WIDTH-1:0] offset;
    logic transfer_valid, transfer_ready;
    transfer_t transfer, part;
    logic split_valid, part_valid, engine_ready, part_first, part_last;
    logic [5:0] parts;
    logic drop, quiet, tracker_quiet;
    logic read_done, fault;
    result_t fault_kind;

    address_generator addresses (
        .clk, .rst(engine_rst), .start(prepare), .list, .unit_write, .unit_address, .unit_data(memory_data[5:0]),
        .piece_write, .piece_address, .piece_data(memory_data),
        .out_valid(address_valid), .out_ready(address_ready), .out_address(address), .out_offset(offset),
        .out_in_buffer(address_in_buffer)
    );
    test_sequencer sequencer (
        .clk, .rst(engine_rst), .start, .stop, .parameters_good, .bus_master, .operation, .first_writes, .count,
        .size(list.size), .prepared(pools_ready && recorder_ready), .prepare, .address_valid, .address_ready, .address,
        .offset, .address_in_buffer, .transfer_valid, .transfer_ready, .transfer, .read_done, .quiet, .fault, .fault_kind,
        .state, .result, .drop, .ended(test_ended)
    );
    splitter split (
        .clk, .rst(test_rst), .max_payload(payload_code), .max_read_request(read_request_code),
        .in_valid(transfer_valid), .in_ready(transfer_ready), .in_transfer(transfer),
        .out_valid(split_valid), .out_ready(engine_ready || drop), .out_part(part), .out_first(part_first),
        .out_last(part_last), .out_parts(parts)
    );
    assign part_valid = split_valid && !drop && !reset_pending;
    assign quiet = !split_valid && !dma_valid && tracker_quiet;

    // ---- requests and completions
    logic tag_valid, slot_valid, issue, issue_first, free_tag, free_slot, tags_filled, slots_filled, tracker_ready;
    logic [ID_WIDTH-1:0] tag, slot, issue_slot, freed_tag, freed_slot;
    logic [LENGTH_WIDTH-1:0] dma_bytes, received_bytes, expected_bytes;
    logic dma_starts_transfer, dma_ends_transfer, dma_taken, write_done;
    logic dma_ready, dma_sop, dma_eop, vector_valid, vector_ready;
    request_t dma_request, vector_request, tx_request;
    logic [DATA_WIDTH-1:0] dma_data, message_data;
    logic message_valid, message_ready, message_sop, message_eop;
    request_t message_request;
    logic [OFFSET_WIDTH-1:0] expected_offset;
    logic expected_data, completion_fault, timed_out, mismatch;
    result_t completion_kind;

    // Without extended tags a requester uses the first 32.
    logic [ID_WIDTH:0] tag_count;
    assign tag_count = link_tags == '0 ? (ID_WIDTH + 1)'(TAGS) : (ID_WIDTH + 1)'(link_tags);

    id_pool #(.COUNT(TAGS)) tags (
        .clk, .rst(test_rst), .size(tag_count), .limit(tag_count), .filled(tags_filled), .valid(tag_valid), .id(tag),
        .take(issue), .give_back(free_tag), .given_back(freed_tag)
    );
    id_pool #(.COUNT(TAGS)) slots (
        .clk, .rst(test_rst), .size((ID_WIDTH + 1)'(TAGS)), .limit((ID_WIDTH + 1)'(outstanding)), .filled(slots_filled),
        .valid(slot_valid), .id(slot),
        .take(issue && issue_first), .give_back(free_slot), .given_back(freed_slot)
    );
    assign pools_ready = tags_filled && slots_filled && tracker_ready;

    request_engine #(.DATA_WIDTH(DATA_WIDTH), .TAGS(TAGS)) requester (
        .clk, .rst(engine_rst), .data_key, .part_valid, .part_ready(engine_ready), .part, .part_first, .part_last,
        .tag_valid, .tag, .slot_valid, .slot, .issue, .issue_first, .issue_slot,
        .tx_valid(dma_valid), .tx_ready(dma_ready), .tx_sop(dma_sop), .tx_eop(dma_eop), .tx_write(dma_request.write),
        .tx_address(dma_request.address), .tx_dwords(dma_request.dwords), .tx_first_be(dma_request.first_be),
        .tx_last_be(dma_request.last_be), .tx_tag(dma_request.tag), .tx_data(dma_data),
        .tx_starts_transfer(dma_starts_transfer), .tx_ends_transfer(dma_ends_transfer), .tx_bytes(dma_bytes)
    );
    interrupter interrupt (
        .clk, .rst, .clear(function_reset_done), .event_happened(test_ended), .enable(msix_enable),
        .function_mask(msix_mask || !bus_master), .vector_mask, .address(vector_address), .pending(vector_pending),
        .request_valid(vector_valid), .request_ready(vector_ready), .request(vector_request)
    );
    request_arbiter #(.DATA_WIDTH(DATA_WIDTH), .SOURCES(3)) way_out (
        .clk, .rst, .in_valid({message_valid, vector_valid, dma_valid}),
        .in_ready({message_ready, vector_ready, dma_ready}), .in_sop({message_sop, 1'b1, dma_sop}),
        .in_eop({message_eop, 1'b1, dma_eop}), .in_request({message_request, vector_request, dma_request}),
        .in_data({message_data, DATA_WIDTH'(vector_data), dma_data}),
        .out_valid(tx_valid), .out_ready(tx_ready), .out_sop(tx_sop), .out_eop(tx_eop), .out_request(tx_request),
        .out_data(tx_data)
    );
    assign {tx_write, tx_address, tx_dwords, tx_first_be, tx_last_be, tx_tag} = tx_request;
    assign dma_taken = dma_valid && dma_ready;
    assign write_done = dma_taken && dma_request.write && dma_ends_transfer;

    completion_tracker #(.DATA_WIDTH(DATA_WIDTH), .TAGS(TAGS)) tracker (
        .clk, .rst(test_rst), .ready(tracker_ready), .timeout, .issue, .issue_tag(tag), .issue_slot, .issue_parts(parts),
        .issue_offset(part.offset), .issue_length(part.length),
        .rx_valid, .rx_sop, .rx_eop, .rx_tag, .rx_status, .rx_poisoned, .rx_byte_count, .rx_lower_address, .rx_dwords,
        .free_tag, .freed_tag, .free_slot, .freed_slot, .transfer_done(read_done), .received_bytes,
        .expected_offset, .expected_data, .expected_bytes, .fault(completion_fault), .fault_kind(completion_kind),
        .timed_out, .quiet(tracker_quiet), .retired_count
    );
    data_checker #(.DATA_WIDTH(DATA_WIDTH)) data_check (
        .clk, .data_key, .valid(expected_data && check_data), .offset(expected_offset), .bytes(expected_bytes),
        .data(rx_data), .mismatch
    );
    fault_counters faults (
        .clk, .rst(engine_rst), .completion_fault, .completion_kind, .timed_out, .mismatch, .fault, .kind(fault_kind),
        .error_status_count, .poisoned_count, .wrong_length_count, .unknown_tag_count, .timed_out_count,
        .data_mismatch_count
    );

    // ---- messages
    logic messages_enabled, stuffed;
    logic [63:0] message_data_address, message_records_address;
    logic [4:0] message_data_log2, message_records_log2;
    logic [QUEUES-1:0][31:0] data_taken, heads;
    logic [31:0] records_taken, messages, dropped, stores_lost, stores_bad;

    message_registers #(.QUEUES(QUEUES), .SLOTS(SLOTS)) message_file (
        .clk, .rst(rst || function_reset_done), .write(message_write), .write_address(reg_address),
        .write_data(reg_data), .read_address, .read_data(message_value), .enable(messages_enabled), .stuffed,
        .data_address(message_data_address), .data_log2(message_data_log2), .records_address(message_records_address),
        .records_log2(message_records_log2), .data_taken, .records_taken, .heads, .messages, .dropped, .stores_lost,
        .stores_bad
    );
    message_receiver #(.DATA_WIDTH(DATA_WIDTH), .QUEUES(QUEUES), .SLOTS(SLOTS)) receiver (
        .clk, .rst, .enable(messages_enabled), .stuffed, .timeout, .data_address(message_data_address),
        .data_log2(message_data_log2), .records_address(message_records_address), .records_log2(message_records_log2),
        .data_taken, .records_taken, .bus_master, .store_valid, .store_ready, .store_sop, .store_eop, .store, .store_data,
        .out_valid(message_valid), .out_ready(message_ready), .out_sop(message_sop), .out_eop(message_eop),
        .out_request(message_request), .out_data(message_data), .heads, .messages, .dropped, .stores_lost, .stores_bad
    );

    // ---- time, by the one clock that everything is stamped with
    logic [31:0] latency;
    logic is_latency, starts;
    assign is_latency = operation == LAT_RD || operation == LAT_WRRD;
    // A pair counts from its write on.
    assign starts = dma_taken && dma_starts_transfer && (operation != LAT_WRRD || dma_request.write);
    always_ff @(posedge clk) latency <= starts ? 32'd1 : latency + 32'd1;

    latency_recorder #(.RECORDS(RECORDS)) recorder (
        .clk, .rst(engine_rst), .clear(prepare), .ready(recorder_ready), .bin_shift,
        .sample_valid(read_done && is_latency && state != IDLE), .sample(latency), .record_address, .record,
        .bin_address, .bin_count, .samples, .minimum, .maximum, .sum
    );
    bandwidth_counters counters (
        .clk, .rst(engine_rst), .clear(prepare), .latch(latch || test_ended), .request_starts(dma_taken && dma_sop),
        .read_done, .write_done(write_done && operation != LAT_WRRD), .read_bytes(received_bytes),
        .written_bytes(dma_taken && dma_request.write && dma_eop ? dma_bytes : '0), .transactions, .elapsed, .bytes_read,
        .bytes_written
    );
endmodule
