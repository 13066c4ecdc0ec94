// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Converts requests of the host from the completer request interface (CQ) of the UltraScale+ hard block: dword-aligned,
// without straddling. PG213, "Completer Request Descriptor Formats".
module usp_cq #(
    parameter DATA_WIDTH = 256,
    parameter LANES = DATA_WIDTH / 32,
    parameter USER_WIDTH = DATA_WIDTH == 512 ? 183 : 88
) (
    input  wire logic clk,
    input  wire logic rst,

    input  wire logic [DATA_WIDTH-1:0] m_axis_cq_tdata,
    input  wire logic [LANES-1:0] m_axis_cq_tkeep,
    input  wire logic m_axis_cq_tlast,
    output logic m_axis_cq_tready,
    input  wire logic [USER_WIDTH-1:0] m_axis_cq_tuser,
    input  wire logic m_axis_cq_tvalid,

    host_stream.source host
);
    import pcielab_pkg::*;

    localparam LAST_BE = DATA_WIDTH == 512 ? 8 : 4;

    logic [127:0] descriptor;
    logic [3:0] kind;
    logic [7:0] byte_enables;

    strip_header #(.DATA_WIDTH(DATA_WIDTH), .HEADER_DWORDS(4)) packet (
        .clk, .rst, .in_valid(m_axis_cq_tvalid), .in_ready(m_axis_cq_tready), .in_last(m_axis_cq_tlast),
        .in_beyond(m_axis_cq_tkeep[4]), .in_damaged(1'b0), .in_data(m_axis_cq_tdata),
        .out_valid(host.valid), .out_ready(host.ready), .out_sop(host.sop), .out_eop(host.eop), .out_header(descriptor),
        .out_damaged(), .out_data(host.data)
    );

    assign kind = descriptor[78:75];
    always_comb begin
        // Types 11xx are messages, which need no answer; all others but memory writes do.
        host.header.kind = kind == 4'b0000 ? HOST_READ : kind == 4'b0001 ? HOST_WRITE
            : kind[3:2] == 2'b11 ? HOST_OTHER : HOST_OTHER_READ;
        host.header.bar = descriptor[114:112];
        host.header.address = {descriptor[63:2], 2'b00};
        host.header.dwords = descriptor[74:64];
        {host.header.last_be, host.header.first_be} = byte_enables;
        host.header.requester.id = descriptor[95:80];
        host.header.requester.tag = descriptor[103:96];
        host.header.requester.traffic_class = descriptor[123:121];
        host.header.requester.attributes = descriptor[126:124];
    end

    // They come with the first input beat, which is held while the first output beat leaves.
    always_ff @(posedge clk)
        if (m_axis_cq_tvalid && m_axis_cq_tready) byte_enables <= {m_axis_cq_tuser[LAST_BE+:4], m_axis_cq_tuser[3:0]};
endmodule

`default_nettype wire
