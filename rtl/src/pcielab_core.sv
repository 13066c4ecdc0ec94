// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// The core with a port for each signal of its streams: for benches, pcielab-rtl, and tools without interfaces. See
// benchmark_core.sv for the ports and streams.sv for the rules of the streams.
module pcielab_core #(
    parameter DATA_WIDTH = 256,
    parameter TAGS = 64,
    parameter RECORDS = 4096,
    parameter CLOCK_PS = 4000,
    parameter COMPLETION_HEADERS = 256,
    parameter COMPLETION_DATA_BYTES = 28672,
    parameter COMMANDS = 1,
    parameter MEMORY_BYTES = 65536,
    parameter MEMORY_AXI = 0
) (
    input  wire logic clk, rst,
    input  wire logic [2:0] max_payload, max_read_request,
    input  wire logic bus_master, function_reset, msix_enable, msix_mask,
    input  wire logic completion_boundary_128, extended_tags_known, extended_tags, ten_bit_tags,
    input  wire logic posted_credit, non_posted_credit,
    output logic function_reset_done, test_ended,

    output logic tx_valid, tx_sop, tx_eop, tx_write,
    input  wire logic tx_ready,
    output logic [63:0] tx_address,
    output logic [10:0] tx_dwords,
    output logic [3:0] tx_first_be, tx_last_be,
    output logic [pcielab_pkg::TAG_WIDTH-1:0] tx_tag,
    output logic [DATA_WIDTH-1:0] tx_data,

    input  wire logic rx_valid, rx_sop, rx_eop, rx_poisoned,
    input  wire logic [pcielab_pkg::TAG_WIDTH-1:0] rx_tag,
    input  wire logic [2:0] rx_status,
    input  wire logic [12:0] rx_byte_count,
    input  wire logic [6:0] rx_lower_address,
    input  wire logic [10:0] rx_dwords,
    input  wire logic [DATA_WIDTH-1:0] rx_data,

    input  wire logic reg_valid, reg_write,
    output logic reg_ready, reg_response_valid,
    input  wire logic [16:0] reg_address,
    input  wire logic [31:0] reg_data,
    output logic [31:0] reg_response_data,

    input  wire logic store_valid, store_sop, store_eop,
    output logic store_ready,
    input  wire pcielab_pkg::host_request_t store,
    input  wire logic [DATA_WIDTH-1:0] store_data,

    input  wire logic load_valid,
    output logic load_ready, load_response_valid,
    input  wire logic [pcielab_pkg::COMMAND_WIDTH-1:0] load_address,
    output logic [DATA_WIDTH-1:0] load_response_data,

    output logic m_axi_awvalid, m_axi_awid, m_axi_wvalid, m_axi_wlast, m_axi_bready, m_axi_arvalid, m_axi_arid, m_axi_rready,
    input  wire logic m_axi_awready, m_axi_wready, m_axi_bvalid, m_axi_bid, m_axi_arready, m_axi_rvalid, m_axi_rid, m_axi_rlast,
    output logic [33:0] m_axi_awaddr, m_axi_araddr,
    output logic [7:0] m_axi_awlen, m_axi_arlen,
    output logic [2:0] m_axi_awsize, m_axi_arsize,
    output logic [1:0] m_axi_awburst, m_axi_arburst,
    input  wire logic [1:0] m_axi_bresp, m_axi_rresp,
    output logic [DATA_WIDTH-1:0] m_axi_wdata,
    output logic [DATA_WIDTH/8-1:0] m_axi_wstrb,
    input  wire logic [DATA_WIDTH-1:0] m_axi_rdata
);
    request_stream #(.DATA_WIDTH(DATA_WIDTH)) requests ();
    assign requests.ready = tx_ready;
    assign {tx_valid, tx_sop, tx_eop, tx_data} = {requests.valid, requests.sop, requests.eop, requests.data};
    assign {tx_write, tx_address, tx_dwords, tx_first_be, tx_last_be, tx_tag}
        = requests.header[$bits(pcielab_pkg::request_t)-1:2];
    // A write is out when it leaves the core.
    pcielab_pkg::out_t out;
    assign out.valid = {1'b0, tx_valid && tx_ready && tx_eop && requests.header.report};
    assign out.epoch = {1'b0, requests.header.epoch};

    completion_stream #(.DATA_WIDTH(DATA_WIDTH)) completions ();
    assign {completions.valid, completions.sop, completions.eop} = {rx_valid, rx_sop, rx_eop};
    assign {completions.poisoned, completions.data} = {rx_poisoned, rx_data};
    assign completions.header = {rx_tag, rx_status, rx_byte_count, rx_lower_address, rx_dwords};

    register_access accesses ();
    assign {accesses.valid, accesses.write, accesses.address, accesses.data} = {reg_valid, reg_write, reg_address, reg_data};
    assign {reg_ready, reg_response_valid, reg_response_data}
        = {accesses.ready, accesses.response_valid, accesses.response_data};

    host_stream #(.DATA_WIDTH(DATA_WIDTH)) stores ();
    assign store_ready = stores.ready;
    assign {stores.valid, stores.sop, stores.eop} = {store_valid, store_sop, store_eop};
    assign {stores.header, stores.data} = {store, store_data};

    memory_read #(.DATA_WIDTH(DATA_WIDTH)) loads ();
    assign {loads.valid, loads.address} = {load_valid, load_address};
    assign {load_ready, load_response_valid, load_response_data}
        = {loads.ready, loads.response_valid, loads.response_data};

    axi_port #(.DATA_WIDTH(DATA_WIDTH)) axi ();
    assign {m_axi_awvalid, m_axi_awid, m_axi_awaddr, m_axi_awlen, m_axi_awsize, m_axi_awburst}
        = {axi.awvalid, axi.awid, axi.awaddr, axi.awlen, axi.awsize, axi.awburst};
    assign {m_axi_wvalid, m_axi_wdata, m_axi_wstrb, m_axi_wlast, m_axi_bready}
        = {axi.wvalid, axi.wdata, axi.wstrb, axi.wlast, axi.bready};
    assign {m_axi_arvalid, m_axi_arid, m_axi_araddr, m_axi_arlen, m_axi_arsize, m_axi_arburst, m_axi_rready}
        = {axi.arvalid, axi.arid, axi.araddr, axi.arlen, axi.arsize, axi.arburst, axi.rready};
    assign {axi.awready, axi.wready, axi.bvalid, axi.bresp} = {m_axi_awready, m_axi_wready, m_axi_bvalid, m_axi_bresp};
    assign {axi.arready, axi.rvalid, axi.rdata, axi.rresp, axi.rlast}
        = {m_axi_arready, m_axi_rvalid, m_axi_rdata, m_axi_rresp, m_axi_rlast};

    benchmark_core #(
        .DATA_WIDTH(DATA_WIDTH), .TAGS(TAGS), .RECORDS(RECORDS), .CLOCK_PS(CLOCK_PS),
        .COMPLETION_HEADERS(COMPLETION_HEADERS), .COMPLETION_DATA_BYTES(COMPLETION_DATA_BYTES),
        .COMMANDS(COMMANDS), .MEMORY_BYTES(MEMORY_BYTES), .MEMORY_AXI(MEMORY_AXI)
    ) core (
        .clk, .rst, .max_payload, .max_read_request, .bus_master, .completion_boundary_128, .extended_tags_known,
        .extended_tags, .ten_bit_tags, .posted_credit, .non_posted_credit, .out, .function_reset, .function_reset_done, .msix_enable, .msix_mask, .tx(requests), .rx(completions),
        .access(accesses), .store(stores), .load(loads), .axi, .test_ended
    );
endmodule

`default_nettype wire
