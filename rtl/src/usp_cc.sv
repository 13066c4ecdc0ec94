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

    answer_stream.sink answer,

    output logic [DATA_WIDTH-1:0] s_axis_cc_tdata,
    output logic [LANES-1:0] s_axis_cc_tkeep,
    output logic s_axis_cc_tlast,
    input  wire logic s_axis_cc_tready,
    output logic [USER_WIDTH-1:0] s_axis_cc_tuser,
    output logic s_axis_cc_tvalid
);
    logic [95:0] descriptor;
    logic first;
    logic [3:0] last_lane;

    assign descriptor = {
        1'b0, answer.header.requester.attributes, answer.header.requester.traffic_class, 1'b0, 16'b0,
        answer.header.requester.tag, answer.header.requester.id, 1'b0, 1'b0, answer.header.status, 11'(answer.header.dwords),
        3'b0, answer.header.byte_count, 9'b0, answer.header.lower_address
    };
    add_header #(.DATA_WIDTH(DATA_WIDTH), .HEADER_DWORDS(3)) packet (
        .clk, .rst, .in_valid(answer.valid), .in_ready(answer.ready), .in_sop(answer.sop), .in_eop(answer.eop),
        .in_header(descriptor), .in_dwords(12'd3 + 12'(answer.header.dwords)), .in_data(answer.data),
        .out_valid(s_axis_cc_tvalid), .out_ready(s_axis_cc_tready), .out_first(first), .out_last(s_axis_cc_tlast),
        .out_keep(s_axis_cc_tkeep), .out_last_lane(last_lane), .out_data(s_axis_cc_tdata)
    );

    if (DATA_WIDTH == 512) begin : user
        // is_sop, is_eop, and the lane of the last double word.
        assign s_axis_cc_tuser = USER_WIDTH'({last_lane, 1'b0, s_axis_cc_tlast, 4'b0, 1'b0, first});
    end else begin : user
        assign s_axis_cc_tuser = '0;
    end
endmodule

`default_nettype wire
