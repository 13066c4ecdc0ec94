// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// add_header and strip_header in series, for the bench of both.
module header_pair #(
    parameter DATA_WIDTH = 256,
    parameter HEADER_DWORDS = 3
) (
    input  wire logic clk,
    input  wire logic rst,
    input  wire logic in_valid,
    output logic in_ready,
    input  wire logic in_sop,
    input  wire logic in_eop,
    input  wire logic [32*HEADER_DWORDS-1:0] in_header,
    input  wire logic [10:0] in_dwords,
    input  wire logic in_damaged,
    input  wire logic [DATA_WIDTH-1:0] in_data,
    // A beat may pass from one to the other.
    input  wire logic pass,
    output logic between_valid,
    output logic between_ready,
    output logic between_first,
    output logic between_last,
    output logic [DATA_WIDTH/32-1:0] between_keep,
    output logic [DATA_WIDTH-1:0] between_data,
    output logic out_valid,
    input  wire logic out_ready,
    output logic out_sop,
    output logic out_eop,
    output logic [32*HEADER_DWORDS-1:0] out_header,
    output logic out_damaged,
    output logic [DATA_WIDTH-1:0] out_data
);
    add_header #(.DATA_WIDTH(DATA_WIDTH), .HEADER_DWORDS(HEADER_DWORDS)) add (
        .clk, .rst, .in_valid, .in_ready, .in_sop, .in_eop, .in_header,
        .in_dwords(12'(in_dwords) + 12'(HEADER_DWORDS)), .in_data,
        .out_valid(between_valid), .out_ready(between_ready && pass), .out_first(between_first), .out_last(between_last),
        .out_keep(between_keep), .out_last_lane(), .out_data(between_data)
    );
    strip_header #(.DATA_WIDTH(DATA_WIDTH), .HEADER_DWORDS(HEADER_DWORDS)) strip (
        .clk, .rst, .in_valid(between_valid && pass), .in_ready(between_ready), .in_last(between_last),
        .in_beyond(between_keep[HEADER_DWORDS]), .in_damaged, .in_data(between_data),
        .out_valid, .out_ready, .out_sop, .out_eop, .out_header, .out_damaged, .out_data
    );
endmodule

`default_nettype wire
