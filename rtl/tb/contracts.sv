// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Rules of the streams, bound to the modules that send on them: each build of a bench checks them in every clock, and a broken
// rule ends the bench. rtl/src/streams.sv and the AXI4-Stream specification state the rules.
//
// With two states, as in Verilator, `known` holds always: random initial values stand in for it. The first edge of the clock may
// show these values, so that the rules hold from the first reset on.

// A stream whose sender holds an offered entry until it is taken.
module held_contract #(
    parameter WIDTH = 1
) (
    input  wire logic clk, rst, valid, ready,
    input  wire logic [WIDTH-1:0] payload
);
    logic was_reset = 1'b0;
    always_ff @(posedge clk) if (rst) was_reset <= 1'b1;

    held: assert property (@(posedge clk) disable iff (rst || !was_reset) valid && !ready |=> valid)
        else $error("%m: valid fell before ready");
    stable: assert property (@(posedge clk) disable iff (rst || !was_reset) valid && !ready |=> $stable(payload))
        else $error("%m: the payload changed before ready");
    known: assert property (@(posedge clk) disable iff (rst || !was_reset) !$isunknown({valid, ready}) && (!valid || !$isunknown(payload)))
        else $error("%m: unknown values");
endmodule

// Packets of beats: the first beat has `sop`, the last `eop`, and there are as many as the header's `beats` says.
module packet_contract (
    input  wire logic clk, rst,
    // A beat is taken.
    input  wire logic taken, sop, eop,
    // With the first beat.
    input  wire logic [11:0] beats
);
    logic open;
    logic [11:0] left;
    wire logic [11:0] beat_left = sop ? beats : left;
    always_ff @(posedge clk) begin
        if (taken) {open, left} <= {!eop, beat_left - 12'd1};
        if (rst) open <= 1'b0;
    end

    logic was_reset = 1'b0;
    always_ff @(posedge clk) if (rst) was_reset <= 1'b1;

    start: assert property (@(posedge clk) disable iff (rst || !was_reset) taken |-> sop == !open)
        else $error("%m: sop is not at the start of a packet");
    length: assert property (@(posedge clk) disable iff (rst || !was_reset) taken |-> eop == (beat_left <= 12'd1))
        else $error("%m: eop does not fit the header's length");
endmodule

// A packet of an AXI4-Stream of the hard block: `tkeep` has every lane of all beats but the last, whose lanes are the lowest,
// and `tlast` ends it after the descriptor's length.
module axi_contract #(
    parameter LANES = 8
) (
    input  wire logic clk, rst, valid, ready, last,
    input  wire logic [LANES-1:0] keep,
    // Of descriptor and payload, with the first beat.
    input  wire logic [11:0] dwords
);
    logic open;
    logic [11:0] left;
    wire logic [11:0] now_left = open ? left : dwords;
    wire logic [11:0] kept = now_left < 12'(LANES) ? now_left : 12'(LANES);
    always_ff @(posedge clk) begin
        if (valid && ready) {open, left} <= {!last, now_left - 12'(LANES)};
        if (rst) open <= 1'b0;
    end

    logic was_reset = 1'b0;
    always_ff @(posedge clk) if (rst) was_reset <= 1'b1;

    tlast: assert property (@(posedge clk) disable iff (rst || !was_reset) valid |-> last == (now_left <= 12'(LANES)))
        else $error("%m: tlast does not fit the descriptor's length");
    tkeep: assert property (@(posedge clk) disable iff (rst || !was_reset) valid |-> keep == LANES'((64'd1 << kept) - 64'd1))
        else $error("%m: tkeep does not fit the descriptor's length");
    whole: assert property (@(posedge clk) disable iff (rst || !was_reset) open |-> valid)
        else $error("%m: a packet has a gap");
endmodule

`define HELD(MODULE, STREAM) \
    bind MODULE held_contract #(.WIDTH(2 + $bits(pcielab_pkg::request_t) + DATA_WIDTH)) STREAM``_held ( \
        .clk, .rst, .valid(STREAM.valid), .ready(STREAM.ready), \
        .payload({STREAM.sop, STREAM.eop, STREAM.header, STREAM.data}) \
    );
`define PACKETS(MODULE, STREAM) \
    bind MODULE packet_contract STREAM``_packets ( \
        .clk, .rst, .taken(STREAM.valid && STREAM.ready), .sop(STREAM.sop), .eop(STREAM.eop), \
        .beats(STREAM.header.write ? (12'(STREAM.header.dwords) + 12'(DATA_WIDTH / 32 - 1)) / 12'(DATA_WIDTH / 32) : 12'd1) \
    );

`HELD(request_engine, tx)
`PACKETS(request_engine, tx)
`HELD(request_arbiter, out)
`HELD(write_executor, tx)
`PACKETS(write_executor, tx)
`HELD(notifier, tx)
`PACKETS(notifier, tx)
`HELD(message_writer, tx)
`PACKETS(message_writer, tx)

bind stream_register held_contract #(.WIDTH(WIDTH)) out_held (.clk, .rst, .valid(out_valid), .ready(out_ready), .payload(out_data));
bind stream_fifo held_contract #(.WIDTH(WIDTH)) out_held (.clk, .rst, .valid(out_valid), .ready(out_ready), .payload(out_data));
bind splitter held_contract #(.WIDTH($bits(pcielab_pkg::transfer_t) + 8)) out_held (
    .clk, .rst, .valid(out_valid), .ready(out_ready), .payload({out_part, out_first, out_last, out_parts})
);
bind interrupter held_contract #(.WIDTH($bits(pcielab_pkg::request_t))) request_held (
    .clk, .rst, .valid(request_valid), .ready(request_ready), .payload(request)
);
bind completer held_contract #(.WIDTH(50)) access_held (
    .clk, .rst, .valid(access.valid), .ready(access.ready), .payload({access.write, access.address, access.data})
);
bind completer held_contract #(.WIDTH(2 + $bits(pcielab_pkg::host_answer_t) + DATA_WIDTH)) answer_held (
    .clk, .rst, .valid(answer.valid), .ready(answer.ready), .payload({answer.sop, answer.eop, answer.header, answer.data})
);
bind completer packet_contract answer_packets (
    .clk, .rst, .taken(answer.valid && answer.ready), .sop(answer.sop), .eop(answer.eop),
    .beats(answer.header.dwords == '0 ? 12'd1 : (12'(answer.header.dwords) + 12'(LANES - 1)) / 12'(LANES))
);
bind completer held_contract #(.WIDTH(pcielab_pkg::COMMAND_WIDTH)) load_held (
    .clk, .rst, .valid(load.valid), .ready(load.ready), .payload(load.address)
);
bind axi_memory held_contract #(.WIDTH(ADDRESS_WIDTH)) write_addresses_held (
    .clk, .rst, .valid(axi.awvalid), .ready(axi.awready), .payload(address)
);
bind axi_memory held_contract #(.WIDTH(DATA_WIDTH + BEAT_BYTES)) write_data_held (
    .clk, .rst, .valid(axi.wvalid), .ready(axi.wready), .payload({axi.wstrb, axi.wdata})
);
bind axi_memory held_contract #(.WIDTH(ADDRESS_WIDTH)) read_addresses_held (
    .clk, .rst, .valid(axi.arvalid), .ready(axi.arready), .payload(waiting_address)
);
bind usp_cq held_contract #(.WIDTH(2)) host_held (
    .clk, .rst, .valid(host.valid), .ready(host.ready), .payload({host.sop, host.eop})
);

bind usp_rc packet_contract rx_packets (
    .clk, .rst, .taken(rx.valid), .sop(rx.sop), .eop(rx.eop),
    .beats(rx.header.dwords == '0 ? 12'd1 : (12'(rx.header.dwords) + 12'(LANES - 1)) / 12'(LANES))
);

bind usp_rq held_contract #(.WIDTH(DATA_WIDTH + LANES + 1 + USER_WIDTH)) rq_held (
    .clk, .rst, .valid(s_axis_rq_tvalid), .ready(s_axis_rq_tready),
    .payload({s_axis_rq_tdata, s_axis_rq_tkeep, s_axis_rq_tlast, s_axis_rq_tuser})
);
bind usp_rq axi_contract #(.LANES(LANES)) rq_packets (
    .clk, .rst, .valid(s_axis_rq_tvalid), .ready(s_axis_rq_tready), .last(s_axis_rq_tlast), .keep(s_axis_rq_tkeep),
    .dwords(12'd4 + (s_axis_rq_tdata[78:75] == 4'b0001 ? 12'(s_axis_rq_tdata[74:64]) : 12'd0))
);
bind usp_cc held_contract #(.WIDTH(DATA_WIDTH + LANES + 1 + USER_WIDTH)) cc_held (
    .clk, .rst, .valid(s_axis_cc_tvalid), .ready(s_axis_cc_tready),
    .payload({s_axis_cc_tdata, s_axis_cc_tkeep, s_axis_cc_tlast, s_axis_cc_tuser})
);
bind usp_cc axi_contract #(.LANES(LANES)) cc_packets (
    .clk, .rst, .valid(s_axis_cc_tvalid), .ready(s_axis_cc_tready), .last(s_axis_cc_tlast), .keep(s_axis_cc_tkeep),
    .dwords(12'd3 + 12'(s_axis_cc_tdata[42:32]))
);

`default_nettype wire
