// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Converts the core's requests to the requester request interface (RQ) of the UltraScale+ hard block: dword-aligned, without
// straddling, with tags of the core ("client tag"). PG213, "Requester Request Descriptor Formats".
module usp_rq #(
    parameter DATA_WIDTH = 256,
    parameter LANES = DATA_WIDTH / 32,
    parameter USER_WIDTH = DATA_WIDTH == 512 ? 137 : 62
) (
    input  wire logic clk,
    input  wire logic rst,

    request_stream.sink tx,
    // The sequence number of the request at `tx`.
    input  wire logic [5:0] number,
    // A read enters the hard block.
    output logic read_entered,

    output logic [DATA_WIDTH-1:0] s_axis_rq_tdata,
    output logic [LANES-1:0] s_axis_rq_tkeep,
    output logic s_axis_rq_tlast,
    input  wire logic s_axis_rq_tready,
    output logic [USER_WIDTH-1:0] s_axis_rq_tuser,
    output logic s_axis_rq_tvalid
);
    logic [127:0] descriptor;
    logic [3:0] request_type;
    logic first;
    logic [3:0] last_lane;

    // A register cuts the way from the core to the hard block, and that of its `ready`.
    request_stream #(.DATA_WIDTH(DATA_WIDTH)) request ();
    logic [11:0] in_dwords, dwords;
    logic [5:0] request_number;
    assign in_dwords = 12'd4 + (tx.header.write ? 12'(tx.header.dwords) : 12'd0);
    stream_register #(.WIDTH(20 + $bits(pcielab_pkg::request_t) + DATA_WIDTH)) held (
        .clk, .rst, .in_valid(tx.valid), .in_ready(tx.ready),
        .in_data({number, tx.sop, tx.eop, in_dwords, tx.header, tx.data}), .out_valid(request.valid), .out_ready(request.ready),
        .out_data({request_number, request.sop, request.eop, dwords, request.header, request.data})
    );

    assign read_entered = s_axis_rq_tvalid && s_axis_rq_tready && first && !request.header.write;
    assign request_type = request.header.write ? 4'b0001 : 4'b0000;
    // The hard block fills in the requester; traffic class and attributes are 0.
    assign descriptor = {24'b0, request.header.tag[7:0], 16'b0, 1'b0, request_type, request.header.dwords, request.header.address[63:2], 2'b00};

    add_header #(.DATA_WIDTH(DATA_WIDTH), .HEADER_DWORDS(4)) packet (
        .clk, .rst, .in_valid(request.valid), .in_ready(request.ready), .in_sop(request.sop), .in_eop(request.eop), .in_header(descriptor),
        .in_dwords(dwords), .in_data(request.data),
        .out_valid(s_axis_rq_tvalid), .out_ready(s_axis_rq_tready), .out_first(first), .out_last(s_axis_rq_tlast),
        .out_keep(s_axis_rq_tkeep), .out_last_lane(last_lane), .out_data(s_axis_rq_tdata)
    );

    // With the first beat only: a last beat may leave while the next request is held.
    logic [5:0] number_first;
    logic [3:0] first_be, last_be;
    assign {number_first, first_be, last_be} = first ? {request_number, request.header.first_be, request.header.last_be} : '0;
    if (DATA_WIDTH == 512) begin : user
        // first_be, last_be, addr_offset, is_sop and where, is_eop and where, seq_num0; all else 0.
        assign s_axis_rq_tuser = USER_WIDTH'({
            number_first, 25'b0, 4'b0, last_lane, 1'b0, s_axis_rq_tlast, 4'b0, 1'b0, first, 4'b0, 4'b0, last_be, 4'b0, first_be
        });
    end else begin : user
        // first_be, last_be and seq_num, whose upper bits are behind the parity.
        assign s_axis_rq_tuser = USER_WIDTH'({number_first[5:4], 32'b0, number_first[3:0], 16'b0, last_be, first_be});
    end
endmodule

`default_nettype wire
