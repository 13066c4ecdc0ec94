// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Modules with streams, with a port for each signal: Verilator supports no interface as a top port, and cocotb drives ports.

module flat_request_engine #(
    parameter DATA_WIDTH = 256,
    parameter TAGS = 64,
    parameter ID_WIDTH = $clog2(TAGS)
) (
    input  wire logic clk, rst, part_valid, part_first, part_last, tag_valid, slot_valid, tx_ready, ten_bit_tags,
    input  wire logic [31:0] data_key,
    input  wire pcielab_pkg::transfer_t part,
    input  wire logic [ID_WIDTH-1:0] tag, slot,
    output logic part_ready, issue, issue_first, tx_valid, tx_sop, tx_eop, tx_write, tx_starts_transfer, tx_ends_transfer,
    output logic [ID_WIDTH-1:0] issue_slot,
    output logic [63:0] tx_address,
    output logic [10:0] tx_dwords,
    output logic [3:0] tx_first_be, tx_last_be,
    output logic [pcielab_pkg::TAG_WIDTH-1:0] tx_tag,
    output logic [DATA_WIDTH-1:0] tx_data,
    output logic [pcielab_pkg::LENGTH_WIDTH-1:0] tx_bytes
);
    request_stream #(.DATA_WIDTH(DATA_WIDTH)) tx ();
    assign tx.ready = tx_ready;
    assign {tx_valid, tx_sop, tx_eop, tx_data} = {tx.valid, tx.sop, tx.eop, tx.data};
    assign {tx_write, tx_address, tx_dwords, tx_first_be, tx_last_be, tx_tag}
        = tx.header[$bits(pcielab_pkg::request_t)-1:2];
    request_engine #(.DATA_WIDTH(DATA_WIDTH), .TAGS(TAGS)) engine (.*);
endmodule

module flat_request_arbiter #(
    parameter DATA_WIDTH = 256,
    parameter SOURCES = 2
) (
    input  wire logic clk, rst, out_ready, posted_credit, non_posted_credit,
    input  wire logic [SOURCES-1:0] in_valid, in_sop, in_eop,
    input  wire pcielab_pkg::request_t [SOURCES-1:0] in_request,
    input  wire logic [SOURCES-1:0][DATA_WIDTH-1:0] in_data,
    output logic [SOURCES-1:0] in_ready,
    output logic out_valid, out_sop, out_eop,
    output pcielab_pkg::request_t out_request,
    output logic [DATA_WIDTH-1:0] out_data
);
    request_stream #(.DATA_WIDTH(DATA_WIDTH)) in [SOURCES] ();
    request_stream #(.DATA_WIDTH(DATA_WIDTH)) out ();
    for (genvar n = 0; n < SOURCES; n++) begin : sources
        assign {in[n].valid, in[n].sop, in[n].eop} = {in_valid[n], in_sop[n], in_eop[n]};
        assign {in[n].header, in[n].data} = {in_request[n], in_data[n]};
        assign in_ready[n] = in[n].ready;
    end
    assign out.ready = out_ready;
    assign {out_valid, out_sop, out_eop, out_request, out_data} = {out.valid, out.sop, out.eop, out.header, out.data};
    request_arbiter #(.DATA_WIDTH(DATA_WIDTH), .SOURCES(SOURCES)) arbiter (.*);
endmodule

module flat_completion_tracker #(
    parameter DATA_WIDTH = 256,
    parameter TAGS = 64,
    parameter ID_WIDTH = $clog2(TAGS)
) (
    input  wire logic clk, rst, ten_bit_tags, issue, rx_valid, rx_sop, rx_eop, rx_poisoned,
    input  wire logic [31:0] timeout,
    input  wire logic [ID_WIDTH-1:0] issue_tag, issue_slot,
    input  wire logic [5:0] issue_parts,
    input  wire logic [pcielab_pkg::OFFSET_WIDTH-1:0] issue_offset,
    input  wire logic [pcielab_pkg::LENGTH_WIDTH-1:0] issue_length,
    input  wire logic [pcielab_pkg::TAG_WIDTH-1:0] rx_tag,
    input  wire logic [2:0] rx_status,
    input  wire logic [12:0] rx_byte_count,
    input  wire logic [6:0] rx_lower_address,
    input  wire logic [10:0] rx_dwords,
    input  wire logic [DATA_WIDTH-1:0] rx_data,
    output logic ready, free_tag, free_slot, transfer_done, expected_data, fault, timed_out, quiet, space_freed,
    output logic space_freed_first,
    output logic [6:0] space_freed_address,
    output logic [pcielab_pkg::LENGTH_WIDTH-1:0] space_freed_bytes,
    output logic [ID_WIDTH-1:0] freed_tag, freed_slot,
    output logic [pcielab_pkg::LENGTH_WIDTH-1:0] received_bytes, expected_bytes,
    output logic [pcielab_pkg::OFFSET_WIDTH-1:0] expected_offset,
    output logic [DATA_WIDTH-1:0] beat_data,
    output registers_pkg::result_t fault_kind,
    output logic [ID_WIDTH:0] retired_count
);
    completion_stream #(.DATA_WIDTH(DATA_WIDTH)) rx ();
    assign {rx.valid, rx.sop, rx.eop, rx.poisoned} = {rx_valid, rx_sop, rx_eop, rx_poisoned};
    assign {rx.header, rx.data} = {rx_tag, rx_status, rx_byte_count, rx_lower_address, rx_dwords, rx_data};
    completion_tracker #(.DATA_WIDTH(DATA_WIDTH), .TAGS(TAGS)) tracker (.*);
endmodule

module flat_message_receiver #(
    parameter DATA_WIDTH = 256,
    parameter QUEUES = 4,
    parameter SLOTS = 64
) (
    input  wire logic clk, rst, enable, stuffed, bus_master, store_valid, store_sop, store_eop, out_ready,
    input  wire logic [31:0] timeout, records_taken,
    input  wire logic [63:0] data_address, records_address,
    input  wire logic [4:0] data_log2, records_log2,
    input  wire logic [QUEUES-1:0][31:0] data_taken,
    input  wire pcielab_pkg::host_request_t store,
    input  wire logic [DATA_WIDTH-1:0] store_data,
    output logic store_ready, out_valid, out_sop, out_eop,
    output pcielab_pkg::request_t out_request,
    output logic [DATA_WIDTH-1:0] out_data,
    output logic [QUEUES-1:0][31:0] heads,
    output logic [31:0] messages, dropped, stores_lost, stores_bad
);
    host_stream #(.DATA_WIDTH(DATA_WIDTH)) stores ();
    request_stream #(.DATA_WIDTH(DATA_WIDTH)) tx ();
    registers_pkg::settings_t settings;
    always_comb begin
        settings = registers_pkg::settings_reset();
        settings.timeout = timeout;
        settings.messages.enable = enable;
        settings.messages.stuffed = stuffed;
        settings.message_rings.data_log2 = data_log2;
        settings.message_rings.records_log2 = records_log2;
        settings.message_data = data_address[63:12];
        settings.message_records = records_address[63:12];
        settings.message_records_taken = records_taken;
    end
    assign store_ready = stores.ready;
    assign {stores.valid, stores.sop, stores.eop} = {store_valid, store_sop, store_eop};
    assign {stores.header, stores.data} = {store, store_data};
    logic record_left;
    assign tx.ready = out_ready;
    assign {out_valid, out_sop, out_eop, out_request, out_data} = {tx.valid, tx.sop, tx.eop, tx.header, tx.data};
    assign record_left = tx.valid && tx.ready && tx.header.dwords == 11'd8;
    message_receiver #(.DATA_WIDTH(DATA_WIDTH), .QUEUES(QUEUES), .SLOTS(SLOTS)) receiver (.store(stores), .*);
endmodule

// The rules of contracts.sv, on ports.
module flat_contracts (
    input  wire logic clk, rst, valid, ready, sop, eop, last,
    input  wire logic [7:0] payload,
    input  wire logic [11:0] length,
    input  wire logic [7:0] keep
);
    held_contract #(.WIDTH(8)) held (.clk, .rst, .valid, .ready, .payload);
    packet_contract packets (.clk, .rst, .taken(valid && ready), .sop, .eop, .beats((length + 12'd7) / 12'd8));
    axi_contract #(.LANES(8)) axi (.clk, .rst, .valid, .ready, .last, .keep, .dwords(length));
endmodule

`default_nettype wire
