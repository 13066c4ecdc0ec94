// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// The addresses of a test's transactions, in order, as AddressList::offset in crates/pcie-workload gives them: hardware and
// simulation visit the same bytes.
//
// A free-running pipeline feeds a queue that holds everything in flight. After `start`, which also drops the addresses of
// the test before, it delivers one transfer each clock, without end.
module address_generator (
    input  wire logic clk,
    input  wire logic rst,
    input  wire logic start,
    input  wire registers_pkg::settings_t settings,
    input  wire logic unit_write,
    input  wire logic [5:0] unit_address,
    input  wire logic [5:0] unit_data,
    input  wire logic piece_write,
    input  wire logic [pcielab_pkg::PIECE_INDEX_WIDTH:0] piece_address,
    input  wire logic [31:0] piece_data,
    output logic out_valid,
    input  wire logic out_ready,
    output logic [63:0] out_address,
    output logic [pcielab_pkg::OFFSET_WIDTH-1:0] out_offset,
    output logic out_in_buffer
);
    import pcielab_pkg::*;
    import registers_pkg::*;

    localparam DRAW_CLOCKS = 20;
    localparam UNIT_CLOCKS = 5;
    localparam PIECE_CLOCKS = 3;
    localparam CLOCKS = DRAW_CLOCKS + 1 + UNIT_CLOCKS + PIECE_CLOCKS;
    localparam DEPTH = 64;
    localparam COUNT_WIDTH = $clog2(DEPTH) + 1;

    logic running, step, clear;
    // Entries of the queue that are occupied or reserved by the pipeline.
    logic [COUNT_WIDTH-1:0] reserved;
    logic [LIST_INDEX_WIDTH-1:0] index;
    logic [UNIT_WIDTH-1:0] in_order, in_order_late, drawn, nth;
    logic [OFFSET_WIDTH-1:0] offset, offset_late;
    logic [63:0] address;
    logic in_buffer, arrives;
    logic [CLOCKS-1:0] under_way;

    assign clear = rst || start;
    assign step = running && reserved != COUNT_WIDTH'(DEPTH);
    assign arrives = under_way[CLOCKS-1];

    list_walk walk (.clk, .settings, .start, .step, .index, .nth(in_order));
    draw_below #(.LATENCY(DRAW_CLOCKS)) random (.clk, .key(settings.key), .index, .bound(settings.usable), .draw(drawn));
    delay #(.WIDTH(UNIT_WIDTH), .CLOCKS(DRAW_CLOCKS)) beside_draw (.clk, .in(in_order), .out(in_order_late));

    always_ff @(posedge clk)
        nth <= settings.operation.pattern == RANDOM ? drawn : settings.operation.pattern == FIXED ? '0 : in_order_late;

    unit_offset #(.LATENCY(UNIT_CLOCKS)) units (
        .clk, .settings, .table_write(unit_write), .table_address(unit_address), .table_data(unit_data), .nth, .offset
    );
    piece_table #(.LATENCY(PIECE_CLOCKS)) table_of_pieces (
        .clk, .table_write(piece_write), .table_address(piece_address), .table_data(piece_data),
        .pieces(settings.pieces.count), .piece_shift(settings.pieces.bytes_log2), .offset, .length(settings.size), .address,
        .in_buffer
    );
    delay #(.WIDTH(OFFSET_WIDTH), .CLOCKS(PIECE_CLOCKS)) beside_table (.clk, .in(offset), .out(offset_late));

    always_ff @(posedge clk) begin
        under_way <= clear ? '0 : {under_way[CLOCKS-2:0], step};
        // `out_ready` comes last, and only chooses.
        reserved <= out_valid && out_ready ? reserved - COUNT_WIDTH'(!step) : reserved + COUNT_WIDTH'(step);
        running <= (running || start) && !rst;
        if (clear) reserved <= '0;
    end

    stream_fifo #(.WIDTH(64 + OFFSET_WIDTH + 1), .DEPTH(DEPTH)) queue (
        .clk, .rst(clear), .in_valid(arrives), .in_ready(), .in_data({address, offset_late, in_buffer}),
        .out_valid, .out_ready, .out_data({out_address, out_offset, out_in_buffer}), .count()
    );
endmodule

`default_nettype wire
