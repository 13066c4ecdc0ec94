// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// The core's memory behind an AXI4 port, as that of HBM or of a DRAM controller: written by the answers to the core's reads and by
// stores to BAR 4, read a beat at a time. A transaction has one beat; all have the ID 0, so that answers come in order.
//
// AXI orders no read behind a write. A read that comes behind a write here waits until the memory has acknowledged that write.
// Answers are always taken: `takes_reads` falls while the queue of writes still has room for those of all reads on their way.
//
// A reset of the core does not reset this module: what was offered on AXI stays offered.
module axi_memory #(
    parameter DATA_WIDTH = 256,
    parameter ADDRESS_WIDTH = 11,
    parameter AXI_ADDRESS_WIDTH = 34,
    // Beats that the hard block's buffer holds, and more; a power of two. As many again have room while `takes_reads` is low, which is
    // more than the transfers hold that were taken before.
    parameter ANSWER_BEATS = 2048
) (
    input  wire logic clk,
    // With the memory only.
    input  wire logic rst,

    // As of memory_writes.sv.
    input  wire logic answer_valid,
    input  wire logic [pcielab_pkg::OFFSET_WIDTH-1:0] answer_offset,
    input  wire logic [pcielab_pkg::LENGTH_WIDTH-1:0] answer_bytes,
    input  wire logic [DATA_WIDTH-1:0] answer_data,
    host_stream.sink store,
    output logic store_bad,

    // Data come in the order of the addresses, and are always taken.
    input  wire logic read_valid,
    output logic read_ready,
    input  wire logic [ADDRESS_WIDTH-1:0] read_address,
    output logic read_response_valid,
    output logic [DATA_WIDTH-1:0] read_data,
    // Reads of the bus may start that bring answers.
    output logic takes_reads,
    // Accesses that the memory refused.
    output logic [31:0] errors,

    axi_port.source axi
);
    localparam BEAT_BYTES = DATA_WIDTH / 8;
    localparam BEAT_WIDTH = $clog2(BEAT_BYTES);
    localparam DEPTH = 2 * ANSWER_BEATS;
    // Numbers of writes, of which fewer than half wait.
    localparam NUMBER_WIDTH = $clog2(DEPTH) + 3;
    localparam READS = 16;

    assign {axi.awid, axi.awlen, axi.arid, axi.arlen} = '0;
    assign {axi.awsize, axi.arsize} = {2{3'(BEAT_WIDTH)}};
    assign {axi.awburst, axi.arburst} = {2{2'b01}};
    assign axi.wlast = 1'b1;

    // ---- writes
    logic write_valid, queued, half_full, address_taken, data_taken;
    logic [ADDRESS_WIDTH-1:0] write_address, address;
    logic [BEAT_BYTES-1:0] write_enables;
    logic [DATA_WIDTH-1:0] write_data;
    logic [$clog2(DEPTH):0] count;
    memory_writes #(.DATA_WIDTH(DATA_WIDTH), .ADDRESS_WIDTH(ADDRESS_WIDTH)) writes (
        .clk, .rst, .answer_valid, .answer_offset, .answer_bytes, .answer_data, .store, .takes_stores(!half_full), .store_bad,
        .write_valid, .write_address, .write_enables, .write_data
    );
    deep_fifo #(.WIDTH(ADDRESS_WIDTH + BEAT_BYTES + DATA_WIDTH), .DEPTH(DEPTH)) queue (
        .clk, .rst, .in_valid(write_valid), .in_data({write_address, write_enables, write_data}), .out_valid(queued),
        .out_ready((address_taken || axi.awready) && (data_taken || axi.wready)), .out_data({address, axi.wstrb, axi.wdata}),
        .count
    );
    assign takes_reads = !half_full;
    // Address and data are taken in any order.
    assign axi.awvalid = queued && !address_taken;
    assign axi.wvalid = queued && !data_taken;
    assign axi.awaddr = AXI_ADDRESS_WIDTH'({address, {BEAT_WIDTH{1'b0}}});
    assign axi.bready = 1'b1;

    // ---- reads: a beat that came with or before one has its number three clocks later
    localparam NUMBERED_CLOCKS = 3;
    logic [NUMBER_WIDTH-1:0] accepted, acknowledged, behind_number, since;
    logic [$clog2(READS):0] read_count;
    logic taken, numbered, waiting, leaves;
    logic [ADDRESS_WIDTH-1:0] numbered_address, waiting_address;
    assign read_ready = !read_count[$clog2(READS)];
    assign taken = read_valid && read_ready;
    delay #(.WIDTH(1 + ADDRESS_WIDTH), .CLOCKS(NUMBERED_CLOCKS)) until_numbered (
        .clk, .in({taken && !rst, read_address}), .out({numbered, numbered_address})
    );
    stream_fifo #(.WIDTH(NUMBER_WIDTH + ADDRESS_WIDTH), .DEPTH(READS)) reads (
        .clk, .rst, .in_valid(numbered), .in_ready(), .in_data({accepted, numbered_address}), .out_valid(waiting),
        .out_ready(leaves), .out_data({behind_number, waiting_address}), .count()
    );
    // Never negative once it is not: fewer writes than half of the numbers wait.
    assign since = acknowledged - behind_number;
    assign axi.arvalid = waiting && !since[NUMBER_WIDTH-1];
    assign axi.araddr = AXI_ADDRESS_WIDTH'({waiting_address, {BEAT_WIDTH{1'b0}}});
    assign axi.rready = 1'b1;
    assign leaves = axi.arvalid && axi.arready;

    always_ff @(posedge clk) begin
        if (queued) begin
            address_taken <= (address_taken || axi.awready) && !(data_taken || axi.wready);
            data_taken <= (data_taken || axi.wready) && !(address_taken || axi.awready);
        end
        half_full <= count >= ($clog2(DEPTH) + 1)'(ANSWER_BEATS - 8);
        accepted <= accepted + NUMBER_WIDTH'(write_valid);
        acknowledged <= acknowledged + NUMBER_WIDTH'(axi.bvalid);
        read_count <= read_count + ($clog2(READS) + 1)'(taken) - ($clog2(READS) + 1)'(leaves);
        read_response_valid <= axi.rvalid;
        read_data <= axi.rdata;
        errors <= errors + 32'(axi.bvalid && axi.bresp[1]) + 32'(axi.rvalid && axi.rresp[1]);
        if (rst) {address_taken, data_taken, accepted, acknowledged, read_count, read_response_valid, errors} <= '0;
    end
endmodule

`default_nettype wire
