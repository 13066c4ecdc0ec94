// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Answers to the host, for the completer completion interface (CC) of the UltraScale+ hard block. PG213, "Completer Completion
// Descriptor Format".
module usp_cc #(
    parameter DATA_WIDTH = 256,
    parameter LANES = DATA_WIDTH / 32,
    parameter USER_WIDTH = DATA_WIDTH == 512 ? 81 : 33
) (
    input  wire logic clk,
    input  wire logic rst,

    input  wire logic answer_valid,
    output logic answer_ready,
    input  wire pcielab_pkg::host_answer_t answer,

    output logic [DATA_WIDTH-1:0] s_axis_cc_tdata,
    output logic [LANES-1:0] s_axis_cc_tkeep,
    output logic s_axis_cc_tlast,
    input  wire logic s_axis_cc_tready,
    output logic [USER_WIDTH-1:0] s_axis_cc_tuser,
    output logic s_axis_cc_tvalid
);
    logic [95:0] descriptor;

    assign descriptor = {
        1'b0, answer.requester.attributes, answer.requester.traffic_class, 1'b0, 16'b0, answer.requester.tag,
        answer.requester.id, 1'b0, 1'b0, answer.status, 11'(answer.dwords),
        3'b0, answer.byte_count, 9'b0, answer.lower_address
    };
    // Double words of the packet from this beat on.
    logic begun, is_last;
    logic [5:0] left, held_left;

    assign left = begun ? held_left : answer.dwords + 6'd3;
    assign s_axis_cc_tvalid = answer_valid;
    // The descriptor has three double words.
    assign is_last = begun ? held_left <= 6'(LANES) : answer.dwords <= 6'(LANES - 3);
    assign answer_ready = s_axis_cc_tready && is_last;
    assign s_axis_cc_tlast = is_last;
    assign s_axis_cc_tdata = begun ? '0 : DATA_WIDTH'({answer.data, descriptor});
    always_comb for (int lane = 0; lane < LANES; lane++) s_axis_cc_tkeep[lane] = left > 6'(lane);

    always_ff @(posedge clk) begin
        if (s_axis_cc_tvalid && s_axis_cc_tready) begin
            begun <= !s_axis_cc_tlast;
            held_left <= left - 6'(LANES);
        end
        if (rst) begun <= 1'b0;
    end

    if (DATA_WIDTH == 512) begin : user
        // is_sop, is_eop, and the lane of the last double word.
        assign s_axis_cc_tuser = USER_WIDTH'({4'(left - 6'd1), 1'b0, s_axis_cc_tlast, 4'b0, 1'b0, !begun});
    end else begin : user
        assign s_axis_cc_tuser = '0;
    end
endmodule

`default_nettype wire
