// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Made by rtl/generate_registers.py from rtl/registers.rdl.
package registers_pkg;
    localparam logic [16:0] ID_ADDRESS = 17'h00000;
    localparam logic [16:0] VERSION_ADDRESS = 17'h00004;
    localparam logic [16:0] PARAMETERS_ADDRESS = 17'h00008;
    localparam logic [16:0] CLOCK_PS_ADDRESS = 17'h0000c;
    localparam logic [16:0] CONTROL_ADDRESS = 17'h00010;
    localparam logic [16:0] STATUS_ADDRESS = 17'h00014;
    localparam logic [16:0] LINK_ADDRESS = 17'h00018;
    localparam logic [16:0] TIMEOUT_ADDRESS = 17'h0001c;
    localparam logic [16:0] OPERATION_ADDRESS = 17'h00020;
    localparam logic [16:0] SIZE_ADDRESS = 17'h00024;
    localparam logic [16:0] COUNT_ADDRESS = 17'h00028;
    localparam logic [16:0] OUTSTANDING_ADDRESS = 17'h0002c;
    localparam logic [16:0] KEY_LO_ADDRESS = 17'h00030;
    localparam logic [16:0] KEY_HI_ADDRESS = 17'h00034;
    localparam logic [16:0] LIST_INDEX_ADDRESS = 17'h00038;
    localparam logic [16:0] USABLE_ADDRESS = 17'h0003c;
    localparam logic [16:0] NTH_ADDRESS = 17'h00040;
    localparam logic [16:0] NTH_WRAP_ADDRESS = 17'h00044;
    localparam logic [16:0] STEP_ADDRESS = 17'h00048;
    localparam logic [16:0] PERIOD_ADDRESS = 17'h0004c;
    localparam logic [16:0] RECIPROCAL_ADDRESS = 17'h00050;
    localparam logic [16:0] UNIT_BYTES_ADDRESS = 17'h00054;
    localparam logic [16:0] HOST_OFFSET_ADDRESS = 17'h00058;
    localparam logic [16:0] PIECES_ADDRESS = 17'h0005c;
    localparam logic [16:0] DATA_KEY_ADDRESS = 17'h00060;
    localparam logic [16:0] BIN_SHIFT_ADDRESS = 17'h00064;
    localparam logic [16:0] LINK_TAGS_ADDRESS = 17'h00068;
    localparam logic [16:0] TRANSACTIONS_ADDRESS = 17'h00080;
    localparam logic [16:0] ELAPSED_LO_ADDRESS = 17'h00088;
    localparam logic [16:0] ELAPSED_HI_ADDRESS = 17'h0008c;
    localparam logic [16:0] BYTES_READ_LO_ADDRESS = 17'h00090;
    localparam logic [16:0] BYTES_READ_HI_ADDRESS = 17'h00094;
    localparam logic [16:0] BYTES_WRITTEN_LO_ADDRESS = 17'h00098;
    localparam logic [16:0] BYTES_WRITTEN_HI_ADDRESS = 17'h0009c;
    localparam logic [16:0] SAMPLES_ADDRESS = 17'h000a0;
    localparam logic [16:0] LATENCY_MIN_ADDRESS = 17'h000a4;
    localparam logic [16:0] LATENCY_MAX_ADDRESS = 17'h000a8;
    localparam logic [16:0] LATENCY_SUM_LO_ADDRESS = 17'h000b0;
    localparam logic [16:0] LATENCY_SUM_HI_ADDRESS = 17'h000b4;
    localparam logic [16:0] ERROR_STATUS_COUNT_ADDRESS = 17'h000c0;
    localparam logic [16:0] POISONED_COUNT_ADDRESS = 17'h000c4;
    localparam logic [16:0] WRONG_LENGTH_COUNT_ADDRESS = 17'h000c8;
    localparam logic [16:0] UNKNOWN_TAG_COUNT_ADDRESS = 17'h000cc;
    localparam logic [16:0] TIMED_OUT_COUNT_ADDRESS = 17'h000d0;
    localparam logic [16:0] DATA_MISMATCH_COUNT_ADDRESS = 17'h000d4;
    localparam logic [16:0] RETIRED_TAGS_ADDRESS = 17'h000d8;
    localparam logic [16:0] MESSAGES_ADDRESS = 17'h00100;
    localparam logic [16:0] MESSAGE_QUEUES_ADDRESS = 17'h00104;
    localparam logic [16:0] MESSAGE_RINGS_ADDRESS = 17'h00108;
    localparam logic [16:0] MESSAGE_DATA_LO_ADDRESS = 17'h00110;
    localparam logic [16:0] MESSAGE_DATA_HI_ADDRESS = 17'h00114;
    localparam logic [16:0] MESSAGE_RECORDS_LO_ADDRESS = 17'h00118;
    localparam logic [16:0] MESSAGE_RECORDS_HI_ADDRESS = 17'h0011c;
    localparam logic [16:0] MESSAGE_RECORDS_TAKEN_ADDRESS = 17'h00120;
    localparam logic [16:0] MESSAGES_LEFT_ADDRESS = 17'h00124;
    localparam logic [16:0] MESSAGES_DROPPED_ADDRESS = 17'h00128;
    localparam logic [16:0] STORES_LOST_ADDRESS = 17'h0012c;
    localparam logic [16:0] STORES_BAD_ADDRESS = 17'h00130;
    localparam logic [16:0] COMMANDS_ADDRESS = 17'h00180;
    localparam logic [16:0] COMMAND_LIMITS_ADDRESS = 17'h00184;
    localparam logic [16:0] COMMAND_BUS_LO_ADDRESS = 17'h00188;
    localparam logic [16:0] COMMAND_BUS_HI_ADDRESS = 17'h0018c;
    localparam logic [16:0] COMMAND_MEMORY_ADDRESS = 17'h00190;
    localparam logic [16:0] COMMAND_LENGTH_ADDRESS = 17'h00194;
    localparam logic [16:0] NOTICES_LO_ADDRESS = 17'h00198;
    localparam logic [16:0] NOTICES_HI_ADDRESS = 17'h0019c;
    localparam logic [16:0] NOTICE_RING_ADDRESS = 17'h001a0;
    localparam logic [16:0] NOTICES_TAKEN_ADDRESS = 17'h001a4;
    localparam logic [16:0] COMMAND_STATUS_ADDRESS = 17'h001a8;
    localparam logic [16:0] COMMANDS_DONE_ADDRESS = 17'h001ac;
    localparam logic [16:0] COMMANDS_REFUSED_ADDRESS = 17'h001b0;
    localparam logic [16:0] MEMORY_STORES_BAD_ADDRESS = 17'h001b4;
    localparam logic [16:0] VECTOR_ADDRESS_LO_ADDRESS = 17'h02000;
    localparam logic [16:0] VECTOR_ADDRESS_HI_ADDRESS = 17'h02004;
    localparam logic [16:0] VECTOR_DATA_ADDRESS = 17'h02008;
    localparam logic [16:0] VECTOR_CONTROL_ADDRESS = 17'h0200c;
    localparam logic [16:0] VECTOR_PENDING_ADDRESS = 17'h02800;
    localparam logic [16:0] MESSAGE_DATA_TAKEN_ADDRESS = 17'h00140;
    localparam logic [16:0] MESSAGE_HEADS_ADDRESS = 17'h00150;
    localparam logic [16:0] COMMAND_SUBMIT_ADDRESS = 17'h001c0;
    localparam logic [16:0] COMMANDS_WAITING_ADDRESS = 17'h001d0;
    localparam logic [16:0] PIECE_TABLE_ADDRESS = 17'h04000;
    localparam logic [16:0] UNITS_ADDRESS = 17'h06000;
    localparam logic [16:0] HISTOGRAM_ADDRESS = 17'h08000;
    localparam logic [16:0] RECORDS_ADDRESS = 17'h10000;

    typedef enum logic [2:0] {
        IDLE = 3'd0,
        PREPARE = 3'd1,
        RUN = 3'd2,
        DRAIN = 3'd3
    } state_t;

    typedef enum logic [3:0] {
        NONE = 4'd0,
        COMPLETE = 4'd1,
        STOPPED = 4'd2,
        BAD_PARAMETER = 4'd3,
        ERROR_STATUS = 4'd4,
        POISONED = 4'd5,
        WRONG_LENGTH = 4'd6,
        UNKNOWN_TAG = 4'd7,
        TIMED_OUT = 4'd8,
        DATA_MISMATCH = 4'd9,
        BUS_MASTER_OFF = 4'd10,
        OUT_OF_BUFFER = 4'd11
    } result_t;

    typedef enum logic [2:0] {
        LAT_RD = 3'd0,
        LAT_WRRD = 3'd1,
        BW_RD = 3'd2,
        BW_WR = 3'd3,
        BW_RDWR = 3'd4
    } operation_t;

    typedef enum logic [1:0] {
        FIXED = 2'd0,
        SEQUENTIAL = 2'd1,
        STRIDED = 2'd2,
        RANDOM = 2'd3
    } pattern_t;

    // Written by software.
    typedef struct packed {
        struct packed {
            logic start;
            logic stop;
            logic reset;
            logic latch;
        } control;
        struct packed {
            operation_t operation;
            pattern_t pattern;
            logic backwards;
            logic first_twice;
            logic first_writes;
            logic check_data;
        } operation;
        logic [12:0] size;
        logic [9:0] outstanding;
        logic [19:0] list_index;
        logic [25:0] usable;
        logic [25:0] nth;
        logic [25:0] nth_wrap;
        logic [25:0] step;
        struct packed {
            logic [6:0] usable;
            logic [6:0] length;
            logic all_usable;
        } period;
        logic [12:0] unit_bytes;
        logic [11:0] host_offset;
        struct packed {
            logic [10:0] count;
            logic [5:0] bytes_log2;
        } pieces;
        logic [4:0] bin_shift;
        logic [9:0] link_tags;
        struct packed {
            logic enable;
            logic stuffed;
        } messages;
        struct packed {
            logic [4:0] data_log2;
            logic [4:0] records_log2;
        } message_rings;
        logic [63:12] message_data;
        logic [63:12] message_records;
        struct packed {
            logic enable;
        } commands;
        logic [63:6] command_bus;
        logic [31:6] command_memory;
        logic [23:0] command_length;
        logic [63:12] notices;
        struct packed {
            logic [4:0] notices_log2;
        } notice_ring;
        logic [63:2] vector_address;
        struct packed {
            logic mask;
        } vector_control;
        logic [31:0] timeout;
        logic [31:0] count;
        logic [63:0] key;
        logic [31:0] reciprocal;
        logic [31:0] data_key;
        logic [31:0] message_records_taken;
        logic [31:0] notices_taken;
        logic [31:0] vector_data;
    } settings_t;

    // Set by the core, read by software.
    typedef struct packed {
        struct packed {
            logic [7:0] data_bytes;
            logic [9:0] tags;
            logic [4:0] records_log2;
        } parameters;
        struct packed {
            state_t state;
            result_t result;
        } status;
        struct packed {
            logic [2:0] max_payload;
            logic [2:0] max_read_request;
            logic bus_master;
        } link;
        logic [9:0] retired_tags;
        struct packed {
            logic [7:0] count;
            logic [7:0] bytes_log2;
        } message_queues;
        struct packed {
            logic [5:0] memory_bytes_log2;
            logic [7:0] queues;
            logic [7:0] depth;
        } command_limits;
        struct packed {
            logic ready;
            logic halted;
            result_t result;
        } command_status;
        logic vector_pending;
        logic [31:0] clock_ps;
        logic [31:0] transactions;
        logic [63:0] elapsed;
        logic [63:0] bytes_read;
        logic [63:0] bytes_written;
        logic [31:0] samples;
        logic [31:0] latency_min;
        logic [31:0] latency_max;
        logic [63:0] latency_sum;
        logic [31:0] error_status_count;
        logic [31:0] poisoned_count;
        logic [31:0] wrong_length_count;
        logic [31:0] unknown_tag_count;
        logic [31:0] timed_out_count;
        logic [31:0] data_mismatch_count;
        logic [31:0] messages_left;
        logic [31:0] messages_dropped;
        logic [31:0] stores_lost;
        logic [31:0] stores_bad;
        logic [31:0] commands_done;
        logic [31:0] commands_refused;
        logic [31:0] memory_stores_bad;
    } status_t;

    function automatic settings_t settings_reset();
        settings_reset.control.start = 1'h0;
        settings_reset.control.stop = 1'h0;
        settings_reset.control.reset = 1'h0;
        settings_reset.control.latch = 1'h0;
        settings_reset.operation.operation = operation_t'(3'h0);
        settings_reset.operation.pattern = pattern_t'(2'h0);
        settings_reset.operation.backwards = 1'h0;
        settings_reset.operation.first_twice = 1'h0;
        settings_reset.operation.first_writes = 1'h0;
        settings_reset.operation.check_data = 1'h0;
        settings_reset.size = 13'h40;
        settings_reset.outstanding = 10'h1;
        settings_reset.list_index = 20'h0;
        settings_reset.usable = 26'h1;
        settings_reset.nth = 26'h0;
        settings_reset.nth_wrap = 26'h0;
        settings_reset.step = 26'h0;
        settings_reset.period.usable = 7'h1;
        settings_reset.period.length = 7'h1;
        settings_reset.period.all_usable = 1'h1;
        settings_reset.unit_bytes = 13'h40;
        settings_reset.host_offset = 12'h0;
        settings_reset.pieces.count = 11'h0;
        settings_reset.pieces.bytes_log2 = 6'h14;
        settings_reset.bin_shift = 5'h0;
        settings_reset.link_tags = 10'h0;
        settings_reset.messages.enable = 1'h0;
        settings_reset.messages.stuffed = 1'h1;
        settings_reset.message_rings.data_log2 = 5'h0;
        settings_reset.message_rings.records_log2 = 5'h0;
        settings_reset.message_data = 52'h0;
        settings_reset.message_records = 52'h0;
        settings_reset.commands.enable = 1'h0;
        settings_reset.command_bus = 58'h0;
        settings_reset.command_memory = 26'h0;
        settings_reset.command_length = 24'h0;
        settings_reset.notices = 52'h0;
        settings_reset.notice_ring.notices_log2 = 5'h0;
        settings_reset.vector_address = 62'h0;
        settings_reset.vector_control.mask = 1'h1;
        settings_reset.timeout = 32'hbebc20;
        settings_reset.count = 32'h1;
        settings_reset.key = 64'h1;
        settings_reset.reciprocal = 32'h80000000;
        settings_reset.data_key = 32'h0;
        settings_reset.message_records_taken = 32'h0;
        settings_reset.notices_taken = 32'h0;
        settings_reset.vector_data = 32'h0;
    endfunction

    // The settings once software has written a register. Other addresses change nothing.
    function automatic settings_t written(settings_t settings, logic [16:0] address, logic [31:0] data);
        settings.control = '0;
        case (address)
            CONTROL_ADDRESS: begin
                settings.control.start = data[0];
                settings.control.stop = data[1];
                settings.control.reset = data[2];
                settings.control.latch = data[3];
            end
            TIMEOUT_ADDRESS: settings.timeout[31:0] = data[31:0];
            OPERATION_ADDRESS: begin
                settings.operation.operation = operation_t'(data[2:0]);
                settings.operation.pattern = pattern_t'(data[5:4]);
                settings.operation.backwards = data[8];
                settings.operation.first_twice = data[9];
                settings.operation.first_writes = data[10];
                settings.operation.check_data = data[11];
            end
            SIZE_ADDRESS: settings.size[12:0] = data[12:0];
            COUNT_ADDRESS: settings.count[31:0] = data[31:0];
            OUTSTANDING_ADDRESS: settings.outstanding[9:0] = data[9:0];
            KEY_LO_ADDRESS: settings.key[31:0] = data[31:0];
            KEY_HI_ADDRESS: settings.key[63:32] = data[31:0];
            LIST_INDEX_ADDRESS: settings.list_index[19:0] = data[19:0];
            USABLE_ADDRESS: settings.usable[25:0] = data[25:0];
            NTH_ADDRESS: settings.nth[25:0] = data[25:0];
            NTH_WRAP_ADDRESS: settings.nth_wrap[25:0] = data[25:0];
            STEP_ADDRESS: settings.step[25:0] = data[25:0];
            PERIOD_ADDRESS: begin
                settings.period.usable = data[6:0];
                settings.period.length = data[14:8];
                settings.period.all_usable = data[16];
            end
            RECIPROCAL_ADDRESS: settings.reciprocal[31:0] = data[31:0];
            UNIT_BYTES_ADDRESS: settings.unit_bytes[12:0] = data[12:0];
            HOST_OFFSET_ADDRESS: settings.host_offset[11:0] = data[11:0];
            PIECES_ADDRESS: begin
                settings.pieces.count = data[10:0];
                settings.pieces.bytes_log2 = data[21:16];
            end
            DATA_KEY_ADDRESS: settings.data_key[31:0] = data[31:0];
            BIN_SHIFT_ADDRESS: settings.bin_shift[4:0] = data[4:0];
            LINK_TAGS_ADDRESS: settings.link_tags[9:0] = data[9:0];
            MESSAGES_ADDRESS: begin
                settings.messages.enable = data[0];
                settings.messages.stuffed = data[1];
            end
            MESSAGE_RINGS_ADDRESS: begin
                settings.message_rings.data_log2 = data[4:0];
                settings.message_rings.records_log2 = data[12:8];
            end
            MESSAGE_DATA_LO_ADDRESS: settings.message_data[31:12] = data[31:12];
            MESSAGE_DATA_HI_ADDRESS: settings.message_data[63:32] = data[31:0];
            MESSAGE_RECORDS_LO_ADDRESS: settings.message_records[31:12] = data[31:12];
            MESSAGE_RECORDS_HI_ADDRESS: settings.message_records[63:32] = data[31:0];
            MESSAGE_RECORDS_TAKEN_ADDRESS: settings.message_records_taken[31:0] = data[31:0];
            COMMANDS_ADDRESS: settings.commands.enable = data[0];
            COMMAND_BUS_LO_ADDRESS: settings.command_bus[31:6] = data[31:6];
            COMMAND_BUS_HI_ADDRESS: settings.command_bus[63:32] = data[31:0];
            COMMAND_MEMORY_ADDRESS: settings.command_memory[31:6] = data[31:6];
            COMMAND_LENGTH_ADDRESS: settings.command_length[23:0] = data[23:0];
            NOTICES_LO_ADDRESS: settings.notices[31:12] = data[31:12];
            NOTICES_HI_ADDRESS: settings.notices[63:32] = data[31:0];
            NOTICE_RING_ADDRESS: settings.notice_ring.notices_log2 = data[4:0];
            NOTICES_TAKEN_ADDRESS: settings.notices_taken[31:0] = data[31:0];
            VECTOR_ADDRESS_LO_ADDRESS: settings.vector_address[31:2] = data[31:2];
            VECTOR_ADDRESS_HI_ADDRESS: settings.vector_address[63:32] = data[31:0];
            VECTOR_DATA_ADDRESS: settings.vector_data[31:0] = data[31:0];
            VECTOR_CONTROL_ADDRESS: settings.vector_control.mask = data[0];
            default: ;
        endcase
        return settings;
    endfunction

    // A bit for each readable register of settings: whether it has the address.
    function automatic logic [39:0] settings_at(logic [16:0] address);
        settings_at[0] = address == TIMEOUT_ADDRESS;
        settings_at[1] = address == OPERATION_ADDRESS;
        settings_at[2] = address == SIZE_ADDRESS;
        settings_at[3] = address == COUNT_ADDRESS;
        settings_at[4] = address == OUTSTANDING_ADDRESS;
        settings_at[5] = address == KEY_LO_ADDRESS;
        settings_at[6] = address == KEY_HI_ADDRESS;
        settings_at[7] = address == LIST_INDEX_ADDRESS;
        settings_at[8] = address == USABLE_ADDRESS;
        settings_at[9] = address == NTH_ADDRESS;
        settings_at[10] = address == NTH_WRAP_ADDRESS;
        settings_at[11] = address == STEP_ADDRESS;
        settings_at[12] = address == PERIOD_ADDRESS;
        settings_at[13] = address == RECIPROCAL_ADDRESS;
        settings_at[14] = address == UNIT_BYTES_ADDRESS;
        settings_at[15] = address == HOST_OFFSET_ADDRESS;
        settings_at[16] = address == PIECES_ADDRESS;
        settings_at[17] = address == DATA_KEY_ADDRESS;
        settings_at[18] = address == BIN_SHIFT_ADDRESS;
        settings_at[19] = address == LINK_TAGS_ADDRESS;
        settings_at[20] = address == MESSAGES_ADDRESS;
        settings_at[21] = address == MESSAGE_RINGS_ADDRESS;
        settings_at[22] = address == MESSAGE_DATA_LO_ADDRESS;
        settings_at[23] = address == MESSAGE_DATA_HI_ADDRESS;
        settings_at[24] = address == MESSAGE_RECORDS_LO_ADDRESS;
        settings_at[25] = address == MESSAGE_RECORDS_HI_ADDRESS;
        settings_at[26] = address == MESSAGE_RECORDS_TAKEN_ADDRESS;
        settings_at[27] = address == COMMANDS_ADDRESS;
        settings_at[28] = address == COMMAND_BUS_LO_ADDRESS;
        settings_at[29] = address == COMMAND_BUS_HI_ADDRESS;
        settings_at[30] = address == COMMAND_MEMORY_ADDRESS;
        settings_at[31] = address == COMMAND_LENGTH_ADDRESS;
        settings_at[32] = address == NOTICES_LO_ADDRESS;
        settings_at[33] = address == NOTICES_HI_ADDRESS;
        settings_at[34] = address == NOTICE_RING_ADDRESS;
        settings_at[35] = address == NOTICES_TAKEN_ADDRESS;
        settings_at[36] = address == VECTOR_ADDRESS_LO_ADDRESS;
        settings_at[37] = address == VECTOR_ADDRESS_HI_ADDRESS;
        settings_at[38] = address == VECTOR_DATA_ADDRESS;
        settings_at[39] = address == VECTOR_CONTROL_ADDRESS;
    endfunction

    // Reads by software of the register with the bit, and 0 without.
    function automatic logic [31:0] read_settings(settings_t settings, logic [39:0] at);
        read_settings = '0;
        read_settings |= {32{at[0]}} & settings.timeout[31:0];
        read_settings |= {32{at[1]}} & {20'b0, settings.operation.check_data, settings.operation.first_writes, settings.operation.first_twice, settings.operation.backwards, 2'b0, settings.operation.pattern, 1'b0, settings.operation.operation};
        read_settings |= {32{at[2]}} & {19'b0, settings.size[12:0]};
        read_settings |= {32{at[3]}} & settings.count[31:0];
        read_settings |= {32{at[4]}} & {22'b0, settings.outstanding[9:0]};
        read_settings |= {32{at[5]}} & settings.key[31:0];
        read_settings |= {32{at[6]}} & settings.key[63:32];
        read_settings |= {32{at[7]}} & {12'b0, settings.list_index[19:0]};
        read_settings |= {32{at[8]}} & {6'b0, settings.usable[25:0]};
        read_settings |= {32{at[9]}} & {6'b0, settings.nth[25:0]};
        read_settings |= {32{at[10]}} & {6'b0, settings.nth_wrap[25:0]};
        read_settings |= {32{at[11]}} & {6'b0, settings.step[25:0]};
        read_settings |= {32{at[12]}} & {15'b0, settings.period.all_usable, 1'b0, settings.period.length, 1'b0, settings.period.usable};
        read_settings |= {32{at[13]}} & settings.reciprocal[31:0];
        read_settings |= {32{at[14]}} & {19'b0, settings.unit_bytes[12:0]};
        read_settings |= {32{at[15]}} & {20'b0, settings.host_offset[11:0]};
        read_settings |= {32{at[16]}} & {10'b0, settings.pieces.bytes_log2, 5'b0, settings.pieces.count};
        read_settings |= {32{at[17]}} & settings.data_key[31:0];
        read_settings |= {32{at[18]}} & {27'b0, settings.bin_shift[4:0]};
        read_settings |= {32{at[19]}} & {22'b0, settings.link_tags[9:0]};
        read_settings |= {32{at[20]}} & {30'b0, settings.messages.stuffed, settings.messages.enable};
        read_settings |= {32{at[21]}} & {19'b0, settings.message_rings.records_log2, 3'b0, settings.message_rings.data_log2};
        read_settings |= {32{at[22]}} & {settings.message_data[31:12], 12'b0};
        read_settings |= {32{at[23]}} & settings.message_data[63:32];
        read_settings |= {32{at[24]}} & {settings.message_records[31:12], 12'b0};
        read_settings |= {32{at[25]}} & settings.message_records[63:32];
        read_settings |= {32{at[26]}} & settings.message_records_taken[31:0];
        read_settings |= {32{at[27]}} & {31'b0, settings.commands.enable};
        read_settings |= {32{at[28]}} & {settings.command_bus[31:6], 6'b0};
        read_settings |= {32{at[29]}} & settings.command_bus[63:32];
        read_settings |= {32{at[30]}} & {settings.command_memory[31:6], 6'b0};
        read_settings |= {32{at[31]}} & {8'b0, settings.command_length[23:0]};
        read_settings |= {32{at[32]}} & {settings.notices[31:12], 12'b0};
        read_settings |= {32{at[33]}} & settings.notices[63:32];
        read_settings |= {32{at[34]}} & {27'b0, settings.notice_ring.notices_log2};
        read_settings |= {32{at[35]}} & settings.notices_taken[31:0];
        read_settings |= {32{at[36]}} & {settings.vector_address[31:2], 2'b0};
        read_settings |= {32{at[37]}} & settings.vector_address[63:32];
        read_settings |= {32{at[38]}} & settings.vector_data[31:0];
        read_settings |= {32{at[39]}} & {31'b0, settings.vector_control.mask};
    endfunction

    // A bit for each readable register of status: whether it has the address.
    function automatic logic [35:0] status_at(logic [16:0] address);
        status_at[0] = address == ID_ADDRESS;
        status_at[1] = address == VERSION_ADDRESS;
        status_at[2] = address == PARAMETERS_ADDRESS;
        status_at[3] = address == CLOCK_PS_ADDRESS;
        status_at[4] = address == STATUS_ADDRESS;
        status_at[5] = address == LINK_ADDRESS;
        status_at[6] = address == TRANSACTIONS_ADDRESS;
        status_at[7] = address == ELAPSED_LO_ADDRESS;
        status_at[8] = address == ELAPSED_HI_ADDRESS;
        status_at[9] = address == BYTES_READ_LO_ADDRESS;
        status_at[10] = address == BYTES_READ_HI_ADDRESS;
        status_at[11] = address == BYTES_WRITTEN_LO_ADDRESS;
        status_at[12] = address == BYTES_WRITTEN_HI_ADDRESS;
        status_at[13] = address == SAMPLES_ADDRESS;
        status_at[14] = address == LATENCY_MIN_ADDRESS;
        status_at[15] = address == LATENCY_MAX_ADDRESS;
        status_at[16] = address == LATENCY_SUM_LO_ADDRESS;
        status_at[17] = address == LATENCY_SUM_HI_ADDRESS;
        status_at[18] = address == ERROR_STATUS_COUNT_ADDRESS;
        status_at[19] = address == POISONED_COUNT_ADDRESS;
        status_at[20] = address == WRONG_LENGTH_COUNT_ADDRESS;
        status_at[21] = address == UNKNOWN_TAG_COUNT_ADDRESS;
        status_at[22] = address == TIMED_OUT_COUNT_ADDRESS;
        status_at[23] = address == DATA_MISMATCH_COUNT_ADDRESS;
        status_at[24] = address == RETIRED_TAGS_ADDRESS;
        status_at[25] = address == MESSAGE_QUEUES_ADDRESS;
        status_at[26] = address == MESSAGES_LEFT_ADDRESS;
        status_at[27] = address == MESSAGES_DROPPED_ADDRESS;
        status_at[28] = address == STORES_LOST_ADDRESS;
        status_at[29] = address == STORES_BAD_ADDRESS;
        status_at[30] = address == COMMAND_LIMITS_ADDRESS;
        status_at[31] = address == COMMAND_STATUS_ADDRESS;
        status_at[32] = address == COMMANDS_DONE_ADDRESS;
        status_at[33] = address == COMMANDS_REFUSED_ADDRESS;
        status_at[34] = address == MEMORY_STORES_BAD_ADDRESS;
        status_at[35] = address == VECTOR_PENDING_ADDRESS;
    endfunction

    // Reads by software of the register with the bit, and 0 without.
    function automatic logic [31:0] read_status(status_t status, logic [35:0] at);
        read_status = '0;
        read_status |= {32{at[0]}} & 32'h42414c50;
        read_status |= {32{at[1]}} & {16'h1, 16'h4};
        read_status |= {32{at[2]}} & {7'b0, status.parameters.records_log2, 2'b0, status.parameters.tags, status.parameters.data_bytes};
        read_status |= {32{at[3]}} & status.clock_ps[31:0];
        read_status |= {32{at[4]}} & {24'b0, status.status.result, 1'b0, status.status.state};
        read_status |= {32{at[5]}} & {23'b0, status.link.bus_master, 1'b0, status.link.max_read_request, 1'b0, status.link.max_payload};
        read_status |= {32{at[6]}} & status.transactions[31:0];
        read_status |= {32{at[7]}} & status.elapsed[31:0];
        read_status |= {32{at[8]}} & status.elapsed[63:32];
        read_status |= {32{at[9]}} & status.bytes_read[31:0];
        read_status |= {32{at[10]}} & status.bytes_read[63:32];
        read_status |= {32{at[11]}} & status.bytes_written[31:0];
        read_status |= {32{at[12]}} & status.bytes_written[63:32];
        read_status |= {32{at[13]}} & status.samples[31:0];
        read_status |= {32{at[14]}} & status.latency_min[31:0];
        read_status |= {32{at[15]}} & status.latency_max[31:0];
        read_status |= {32{at[16]}} & status.latency_sum[31:0];
        read_status |= {32{at[17]}} & status.latency_sum[63:32];
        read_status |= {32{at[18]}} & status.error_status_count[31:0];
        read_status |= {32{at[19]}} & status.poisoned_count[31:0];
        read_status |= {32{at[20]}} & status.wrong_length_count[31:0];
        read_status |= {32{at[21]}} & status.unknown_tag_count[31:0];
        read_status |= {32{at[22]}} & status.timed_out_count[31:0];
        read_status |= {32{at[23]}} & status.data_mismatch_count[31:0];
        read_status |= {32{at[24]}} & {22'b0, status.retired_tags[9:0]};
        read_status |= {32{at[25]}} & {16'b0, status.message_queues.bytes_log2, status.message_queues.count};
        read_status |= {32{at[26]}} & status.messages_left[31:0];
        read_status |= {32{at[27]}} & status.messages_dropped[31:0];
        read_status |= {32{at[28]}} & status.stores_lost[31:0];
        read_status |= {32{at[29]}} & status.stores_bad[31:0];
        read_status |= {32{at[30]}} & {8'b0, status.command_limits.depth, status.command_limits.queues, 2'b0, status.command_limits.memory_bytes_log2};
        read_status |= {32{at[31]}} & {24'b0, status.command_status.result, 2'b0, status.command_status.halted, status.command_status.ready};
        read_status |= {32{at[32]}} & status.commands_done[31:0];
        read_status |= {32{at[33]}} & status.commands_refused[31:0];
        read_status |= {32{at[34]}} & status.memory_stores_bad[31:0];
        read_status |= {32{at[35]}} & {31'b0, status.vector_pending};
    endfunction
endpackage

`default_nettype wire
