// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// The register file that rtl/registers.rdl describes.
//
// One access at a time. Reads are answered three clocks after they were taken, because memories need two.
module registers #(
    parameter TAGS = 64,
    parameter RECORDS = 4096,
    parameter QUEUES = 4,
    // 0: the core has no commands, and their settings stay 0.
    parameter COMMANDS = 1,
    parameter RECORD_WIDTH = $clog2(RECORDS)
) (
    input  wire logic clk,
    input  wire logic rst,

    register_access.sink access,

    output registers_pkg::settings_t settings,
    output logic parameters_good,
    input  wire registers_pkg::status_t status,

    output logic piece_write,
    output logic [pcielab_pkg::PIECE_INDEX_WIDTH:0] piece_address,
    output logic unit_write,
    output logic [5:0] unit_address,
    output logic [31:0] memory_data,

    // For each message queue: parts that software has read, and buffers given out.
    output logic [QUEUES-1:0][31:0] data_taken,
    input  wire logic [QUEUES-1:0][31:0] heads,

    // A command is submitted in `memory_data`.
    output logic submit,
    output logic [pcielab_pkg::COMMAND_QUEUE_WIDTH-1:0] submit_queue,
    input  wire logic [pcielab_pkg::COMMAND_QUEUES-1:0][$clog2(pcielab_pkg::COMMAND_DEPTH):0] commands_waiting,

    output logic [11:0] bin_address,
    input  wire logic [31:0] bin_count,
    output logic [RECORD_WIDTH-1:0] record_address,
    input  wire logic [31:0] record
);
    import pcielab_pkg::*;
    import registers_pkg::*;

    localparam QUEUE_WIDTH = $clog2(QUEUES);

    logic [16:0] address;
    logic [1:0] wait_clocks;
    logic reading;
    logic taken, write;
    logic is_piece, is_unit, is_data_taken, is_submit, is_head, is_waiting, of_bins, of_records;
    logic size_good, period_good, pieces_good, counts_good, units_good;
    logic [31:0] head;
    logic [$bits(settings_at('0))-1:0] setting_at;
    logic [$bits(status_at('0))-1:0] state_at;

    assign access.ready = !reading && !rst;
    assign taken = access.valid && access.ready;
    assign write = taken && access.write;

    // ---- memories
    assign is_piece = access.address[16:13] == PIECE_TABLE_ADDRESS[16:13];
    assign is_unit = access.address[16:8] == UNITS_ADDRESS[16:8];
    assign is_data_taken = access.address[16:2+QUEUE_WIDTH] == MESSAGE_DATA_TAKEN_ADDRESS[16:2+QUEUE_WIDTH];
    assign is_submit = access.address[16:2+COMMAND_QUEUE_WIDTH] == COMMAND_SUBMIT_ADDRESS[16:2+COMMAND_QUEUE_WIDTH];
    assign submit = write && is_submit;
    assign submit_queue = access.address[2 +: COMMAND_QUEUE_WIDTH];
    assign piece_write = write && is_piece;
    assign piece_address = access.address[12:2];
    assign unit_write = write && is_unit;
    assign unit_address = access.address[7:2];
    assign memory_data = access.data;
    assign is_head = address[16:2+QUEUE_WIDTH] == MESSAGE_HEADS_ADDRESS[16:2+QUEUE_WIDTH];
    assign is_waiting = address[16:2+COMMAND_QUEUE_WIDTH] == COMMANDS_WAITING_ADDRESS[16:2+COMMAND_QUEUE_WIDTH];
    assign bin_address = address[13:2];
    assign record_address = RECORD_WIDTH'(address[15:2]);

    // ---- settings: wrong ones are refused when a test is started
    assign size_good = settings.size != '0 && settings.size <= LENGTH_WIDTH'(4096) && settings.unit_bytes != '0;
    assign period_good = settings.period.all_usable || (settings.period.usable != '0 && settings.period.usable <= 7'd64
        && settings.period.length <= 7'd64 && settings.period.usable <= settings.period.length);
    assign pieces_good = settings.pieces.count != '0 && settings.pieces.count <= 11'd1024
        && settings.pieces.bytes_log2 >= 6'd20 && settings.pieces.bytes_log2 <= 6'd32;
    assign counts_good = settings.operation.operation <= BW_RDWR && settings.count != '0 && settings.timeout != '0
        && settings.outstanding != '0 && settings.outstanding <= 10'(TAGS) && settings.link_tags <= 10'(TAGS);
    assign units_good = settings.usable != '0 && settings.nth < settings.usable && settings.nth_wrap < settings.usable
        && settings.step < settings.usable;
    // The access that starts a test comes after those that write settings: there is a clock for each group.
    logic [5:0] good;
    always_ff @(posedge clk)
        good <= {size_good, period_good, pieces_good, counts_good, units_good, status.retired_tags == '0 && !settings.commands.enable};
    assign parameters_good = good == '1;

    always_ff @(posedge clk) begin
        // Commands last for a clock.
        settings.control <= '0;
        if (write) settings <= written(settings, access.address, access.data);
        if (write && is_data_taken) data_taken[access.address[2 +: QUEUE_WIDTH]] <= access.data;
        if (rst) begin
            settings <= settings_reset();
            data_taken <= '0;
        end
        if (COMMANDS == 0) begin
            settings.commands <= '0;
            {settings.command_bus, settings.command_memory, settings.command_length} <= '0;
            {settings.notices, settings.notice_ring, settings.notices_taken} <= '0;
        end
    end

    // ---- reads
    always_ff @(posedge clk) begin
        // Ready in the clock in which a memory is.
        of_bins <= address[16:14] == HISTOGRAM_ADDRESS[16:14];
        of_records <= address[16] == RECORDS_ADDRESS[16];
        head <= is_head ? heads[address[2 +: QUEUE_WIDTH]]
            : is_waiting ? 32'(commands_waiting[address[2 +: COMMAND_QUEUE_WIDTH]]) : '0;
        setting_at <= settings_at(address);
        state_at <= status_at(address);
        if (taken) address <= access.address;
        if (taken) reading <= !access.write;
        wait_clocks <= taken ? 2'd1 : wait_clocks - 2'(wait_clocks != '0);
        access.response_valid <= 1'b0;
        if (reading && wait_clocks == '0) begin
            reading <= 1'b0;
            access.response_valid <= 1'b1;
            access.response_data <= of_records ? record : of_bins ? bin_count : head | read_settings(settings, setting_at) | read_status(status, state_at);
        end
        if (rst) begin
            reading <= 1'b0;
            access.response_valid <= 1'b0;
        end
    end
endmodule

`default_nettype wire
