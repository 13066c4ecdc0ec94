// The registers of messages: how they are taken, and where in host memory they go. Part of the register file.
module message_registers #(
    parameter QUEUES = 4,
    parameter SLOTS = 64
) (
    input  logic clk,
    input  logic rst,
    input  logic write,
    input  logic [16:0] write_address,
    input  logic [31:0] write_data,
    input  logic [16:0] read_address,
    output logic [31:0] read_data,

    output logic enable,
    output logic stuffed,
    output logic [63:0] data_address,
    output logic [4:0] data_log2,
    output logic [63:0] records_address,
    output logic [4:0] records_log2,
    output logic [QUEUES-1:0][31:0] data_taken,
    output logic [31:0] records_taken,
    input  logic [QUEUES-1:0][31:0] heads,
    input  logic [31:0] messages,
    input  logic [31:0] dropped,
    input  logic [31:0] stores_lost,
    input  logic [31:0] stores_bad
);
    `include "registers.svh"

    always_ff @(posedge clk) begin
        if (write) begin
            case (write_address)
                MESSAGES_ADDRESS: {stuffed, enable} <= write_data[1:0];
                MESSAGE_RINGS_ADDRESS: begin
                    data_log2 <= write_data[4:0];
                    records_log2 <= write_data[12:8];
                end
                MESSAGE_DATA_LO_ADDRESS: data_address[31:12] <= write_data[31:12];
                MESSAGE_DATA_HI_ADDRESS: data_address[63:32] <= write_data;
                MESSAGE_RECORDS_LO_ADDRESS: records_address[31:12] <= write_data[31:12];
                MESSAGE_RECORDS_HI_ADDRESS: records_address[63:32] <= write_data;
                MESSAGE_RECORDS_TAKEN_ADDRESS: records_taken <= write_data;
                default: ;
            endcase
            for (int queue = 0; queue < QUEUES; queue++)
                if (write_address == MESSAGE_DATA_TAKEN_ADDRESS + 17'(4 * queue)) data_taken[queue] <= write_data;
        end
        if (rst) begin
            {stuffed, enable} <= 2'b10;
            data_log2 <= '0;
            records_log2 <= '0;
            data_address <= '0;
            records_address <= '0;
            records_taken <= '0;
            data_taken <= '0;
        end
    end

    always_comb begin
        case (read_address)
            MESSAGES_ADDRESS: read_data = {30'b0, stuffed, enable};
            MESSAGE_QUEUES_ADDRESS: read_data = {16'b0, 8'($clog2(SLOTS) + 6), 8'(QUEUES)};
            MESSAGE_RINGS_ADDRESS: read_data = {19'b0, records_log2, 3'b0, data_log2};
            MESSAGE_DATA_LO_ADDRESS: read_data = data_address[31:0];
            MESSAGE_DATA_HI_ADDRESS: read_data = data_address[63:32];
            MESSAGE_RECORDS_LO_ADDRESS: read_data = records_address[31:0];
            MESSAGE_RECORDS_HI_ADDRESS: read_data = records_address[63:32];
            MESSAGE_RECORDS_TAKEN_ADDRESS: read_data = records_taken;
            MESSAGES_LEFT_ADDRESS: read_data = messages;
            MESSAGES_DROPPED_ADDRESS: read_data = dropped;
            STORES_LOST_ADDRESS: read_data = stores_lost;
            STORES_BAD_ADDRESS: read_data = stores_bad;
            default: read_data = '0;
        endcase
        for (int queue = 0; queue < QUEUES; queue++)
            if (read_address == MESSAGE_HEADS_ADDRESS + 17'(4 * queue)) read_data = heads[queue];
    end
endmodule
