// The register file: what software has asked for, and what it can read. rtl/registers.rdl describes it.
//
// One access at a time. Reads answer three clocks after they were taken, because the memories among them need two.
module registers #(
    parameter DATA_WIDTH = 256,
    parameter TAGS = 64,
    parameter RECORDS = 4096,
    parameter CLOCK_PS = 4000,
    parameter RECORD_WIDTH = $clog2(RECORDS)
) (
    input  logic clk,
    input  logic rst,

    input  logic reg_valid,
    output logic reg_ready,
    input  logic reg_write,
    input  logic [16:0] reg_address,
    input  logic [31:0] reg_data,
    output logic reg_response_valid,
    output logic [31:0] reg_response_data,

    output logic start,
    output logic stop,
    output logic reset,
    output logic latch,
    output logic parameters_good,
    output logic [31:0] timeout,
    output logic [2:0] operation,
    output logic first_writes,
    output logic check_data,
    output logic [31:0] count,
    output logic [8:0] outstanding,
    output logic [31:0] data_key,
    output logic [4:0] bin_shift,
    output logic [8:0] link_tags,
    output pcielab_pkg::address_list_t list,

    output logic piece_write,
    output logic [pcielab_pkg::PIECE_INDEX_WIDTH:0] piece_address,
    output logic unit_write,
    output logic [5:0] unit_address,
    output logic [31:0] memory_data,

    input  pcielab_pkg::state_t state,
    input  pcielab_pkg::result_t result,
    input  logic [2:0] max_payload,
    input  logic [2:0] max_read_request,
    input  logic bus_master,
    input  logic [31:0] transactions,
    input  logic [pcielab_pkg::CLOCKS_WIDTH-1:0] elapsed,
    input  logic [63:0] bytes_read,
    input  logic [63:0] bytes_written,
    input  logic [31:0] samples,
    input  logic [31:0] minimum,
    input  logic [31:0] maximum,
    input  logic [63:0] sum,
    input  logic [31:0] error_status_count,
    input  logic [31:0] poisoned_count,
    input  logic [31:0] wrong_length_count,
    input  logic [31:0] unknown_tag_count,
    input  logic [31:0] timed_out_count,
    input  logic [31:0] data_mismatch_count,
    input  logic [8:0] retired_tags,

    output logic vector_mask,
    output logic [63:0] vector_address,
    output logic [31:0] vector_data,
    input  logic vector_pending,

    // Registers of messages, which are a file of their own.
    output logic message_write,
    input  logic [31:0] message_value,
    output logic [16:0] read_address,

    output logic [11:0] bin_address,
    input  logic [31:0] bin_count,
    output logic [RECORD_WIDTH-1:0] record_address,
    input  logic [31:0] record
);
    import pcielab_pkg::*;
    `include "registers.svh"

    logic [16:0] address;
    logic [1:0] wait_clocks;
    logic reading;
    logic [31:0] value;
    logic taken, write;
    logic is_control, is_piece, is_unit, is_bin, is_record;
    logic [63:0] key;
    logic [LENGTH_WIDTH-1:0] size;
    logic size_good, period_good, pieces_good;

    assign reg_ready = !reading && !rst;
    assign taken = reg_valid && reg_ready;
    assign write = taken && reg_write;

    // ---- memories
    assign is_piece = reg_address[16:13] == PIECE_TABLE_ADDRESS[16:13];
    assign is_unit = reg_address[16:8] == UNITS_ADDRESS[16:8];
    assign piece_write = write && is_piece;
    assign piece_address = reg_address[12:2];
    assign unit_write = write && is_unit;
    assign unit_address = reg_address[7:2];
    assign memory_data = reg_data;
    assign message_write = write;
    assign read_address = address;
    assign is_bin = address[16:14] == HISTOGRAM_ADDRESS[16:14];
    assign is_record = address[16] == RECORDS_ADDRESS[16];
    assign bin_address = address[13:2];
    assign record_address = RECORD_WIDTH'(address[15:2]);

    // ---- control
    assign is_control = write && reg_address == CONTROL_ADDRESS;
    assign list.key = key;
    assign list.size = size;

    // A setting that will be refused is refused when the test is started.
    assign size_good = size != '0 && size <= LENGTH_WIDTH'(4096) && list.unit_bytes != '0;
    assign period_good = list.all_usable || (list.usable_in_period != '0 && list.usable_in_period <= 7'd64
        && list.period <= 7'd64 && list.usable_in_period <= list.period);
    assign pieces_good = list.pieces != '0 && list.pieces <= 11'd1024
        && list.piece_shift >= 6'd20 && list.piece_shift <= 6'd32;
    assign parameters_good = size_good && period_good && pieces_good
        && operation <= BW_RDWR && count != '0 && timeout != '0
        && outstanding != '0 && outstanding <= 9'(TAGS) && link_tags <= 9'(TAGS)
        && list.usable != '0 && list.nth < list.usable && list.nth_wrap < list.usable && list.step < list.usable
        && retired_tags == '0;

    always_ff @(posedge clk) begin
        {latch, reset, stop, start} <= is_control ? reg_data[3:0] : '0;
        if (write) begin
            case (reg_address)
                TIMEOUT_ADDRESS: timeout <= reg_data;
                OPERATION_ADDRESS: begin
                    operation <= reg_data[2:0];
                    list.pattern <= pattern_t'(reg_data[5:4]);
                    list.backwards <= reg_data[8];
                    list.first_twice <= reg_data[9];
                    first_writes <= reg_data[10];
                    check_data <= reg_data[11];
                end
                SIZE_ADDRESS: size <= reg_data[12:0];
                COUNT_ADDRESS: count <= reg_data;
                OUTSTANDING_ADDRESS: outstanding <= reg_data[8:0];
                KEY_LO_ADDRESS: key[31:0] <= reg_data;
                KEY_HI_ADDRESS: key[63:32] <= reg_data;
                PLACE_ADDRESS: list.place <= reg_data[PLACE_WIDTH-1:0];
                USABLE_ADDRESS: list.usable <= reg_data[UNIT_WIDTH-1:0];
                NTH_ADDRESS: list.nth <= reg_data[UNIT_WIDTH-1:0];
                NTH_WRAP_ADDRESS: list.nth_wrap <= reg_data[UNIT_WIDTH-1:0];
                STEP_ADDRESS: list.step <= reg_data[UNIT_WIDTH-1:0];
                PERIOD_ADDRESS: begin
                    list.usable_in_period <= reg_data[6:0];
                    list.period <= reg_data[14:8];
                    list.all_usable <= reg_data[16];
                end
                RECIPROCAL_ADDRESS: list.reciprocal <= reg_data;
                UNIT_BYTES_ADDRESS: list.unit_bytes <= reg_data[12:0];
                HOST_OFFSET_ADDRESS: list.host_offset <= reg_data[11:0];
                PIECES_ADDRESS: begin
                    list.pieces <= reg_data[10:0];
                    list.piece_shift <= reg_data[21:16];
                end
                DATA_KEY_ADDRESS: data_key <= reg_data;
                BIN_SHIFT_ADDRESS: bin_shift <= reg_data[4:0];
                LINK_TAGS_ADDRESS: link_tags <= reg_data[8:0];
                VECTOR_ADDRESS_LO_ADDRESS: vector_address[31:2] <= reg_data[31:2];
                VECTOR_ADDRESS_HI_ADDRESS: vector_address[63:32] <= reg_data;
                VECTOR_DATA_ADDRESS: vector_data <= reg_data;
                VECTOR_CONTROL_ADDRESS: vector_mask <= reg_data[0];
                default: ;
            endcase
        end
        if (rst) begin
            {latch, reset, stop, start} <= '0;
            timeout <= 32'd12500000;
            operation <= '0;
            {first_writes, check_data} <= '0;
            list.pattern <= FIXED;
            {list.backwards, list.first_twice} <= '0;
            size <= LENGTH_WIDTH'(64);
            count <= 32'd1;
            outstanding <= 9'd1;
            key <= 64'd1;
            list.place <= '0;
            list.usable <= UNIT_WIDTH'(1);
            {list.nth, list.nth_wrap, list.step} <= '0;
            list.usable_in_period <= 7'd1;
            list.period <= 7'd1;
            list.all_usable <= 1'b1;
            list.reciprocal <= 32'h8000_0000;
            list.unit_bytes <= LENGTH_WIDTH'(64);
            list.host_offset <= '0;
            list.pieces <= '0;
            list.piece_shift <= 6'd20;
            data_key <= '0;
            bin_shift <= '0;
            link_tags <= '0;
            vector_address <= '0;
            vector_data <= '0;
            vector_mask <= 1'b1;
        end
    end

    // ---- reads
    always_comb begin
        case (address)
            ID_ADDRESS: value = 32'h4241_4c50;
            VERSION_ADDRESS: value = {16'd1, 16'd1};
            PARAMETERS_ADDRESS: value = {7'b0, 5'($clog2(RECORDS)), 3'b0, 9'(TAGS), 8'(DATA_WIDTH / 8)};
            CLOCK_PS_ADDRESS: value = CLOCK_PS;
            STATUS_ADDRESS: value = {24'b0, result, 1'b0, state};
            LINK_ADDRESS: value = {23'b0, bus_master, 1'b0, max_read_request, 1'b0, max_payload};
            TIMEOUT_ADDRESS: value = timeout;
            OPERATION_ADDRESS:
                value = {20'b0, check_data, first_writes, list.first_twice, list.backwards, 2'b0, list.pattern, 1'b0, operation};
            SIZE_ADDRESS: value = 32'(size);
            COUNT_ADDRESS: value = count;
            OUTSTANDING_ADDRESS: value = 32'(outstanding);
            KEY_LO_ADDRESS: value = key[31:0];
            KEY_HI_ADDRESS: value = key[63:32];
            PLACE_ADDRESS: value = 32'(list.place);
            USABLE_ADDRESS: value = 32'(list.usable);
            NTH_ADDRESS: value = 32'(list.nth);
            NTH_WRAP_ADDRESS: value = 32'(list.nth_wrap);
            STEP_ADDRESS: value = 32'(list.step);
            PERIOD_ADDRESS: value = {15'b0, list.all_usable, 1'b0, list.period, 1'b0, list.usable_in_period};
            RECIPROCAL_ADDRESS: value = list.reciprocal;
            UNIT_BYTES_ADDRESS: value = 32'(list.unit_bytes);
            HOST_OFFSET_ADDRESS: value = 32'(list.host_offset);
            PIECES_ADDRESS: value = {10'b0, list.piece_shift, 5'b0, list.pieces};
            DATA_KEY_ADDRESS: value = data_key;
            BIN_SHIFT_ADDRESS: value = 32'(bin_shift);
            LINK_TAGS_ADDRESS: value = 32'(link_tags);
            TRANSACTIONS_ADDRESS: value = transactions;
            ELAPSED_LO_ADDRESS: value = elapsed[31:0];
            ELAPSED_HI_ADDRESS: value = 32'(elapsed[CLOCKS_WIDTH-1:32]);
            BYTES_READ_LO_ADDRESS: value = bytes_read[31:0];
            BYTES_READ_HI_ADDRESS: value = bytes_read[63:32];
            BYTES_WRITTEN_LO_ADDRESS: value = bytes_written[31:0];
            BYTES_WRITTEN_HI_ADDRESS: value = bytes_written[63:32];
            SAMPLES_ADDRESS: value = samples;
            LATENCY_MIN_ADDRESS: value = minimum;
            LATENCY_MAX_ADDRESS: value = maximum;
            LATENCY_SUM_LO_ADDRESS: value = sum[31:0];
            LATENCY_SUM_HI_ADDRESS: value = sum[63:32];
            ERROR_STATUS_COUNT_ADDRESS: value = error_status_count;
            POISONED_COUNT_ADDRESS: value = poisoned_count;
            WRONG_LENGTH_COUNT_ADDRESS: value = wrong_length_count;
            UNKNOWN_TAG_COUNT_ADDRESS: value = unknown_tag_count;
            TIMED_OUT_COUNT_ADDRESS: value = timed_out_count;
            DATA_MISMATCH_COUNT_ADDRESS: value = data_mismatch_count;
            RETIRED_TAGS_ADDRESS: value = 32'(retired_tags);
            VECTOR_ADDRESS_LO_ADDRESS: value = vector_address[31:0];
            VECTOR_ADDRESS_HI_ADDRESS: value = vector_address[63:32];
            VECTOR_DATA_ADDRESS: value = vector_data;
            VECTOR_CONTROL_ADDRESS: value = 32'(vector_mask);
            VECTOR_PENDING_ADDRESS: value = 32'(vector_pending);
            default: value = message_value;
        endcase
    end

    always_ff @(posedge clk) begin
        if (taken) address <= reg_address;
        if (taken) reading <= !reg_write;
        wait_clocks <= taken ? 2'd1 : wait_clocks - 2'(wait_clocks != '0);
        reg_response_valid <= 1'b0;
        if (reading && wait_clocks == '0) begin
            reading <= 1'b0;
            reg_response_valid <= 1'b1;
            reg_response_data <= is_record ? record : is_bin ? bin_count : value;
        end
        if (rst) begin
            reading <= 1'b0;
            reg_response_valid <= 1'b0;
        end
    end
endmodule
