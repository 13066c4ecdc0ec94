// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// The streams of the core and between its modules. A beat is taken in a clock with `valid` and `ready`; the header travels with
// the first beat. The payload starts in the lowest double word of the first beat, whatever its address, and fills every beat
// but the last.

// Requests of the core: a read is a beat without data.
interface request_stream #(
    parameter DATA_WIDTH = 256
);
    logic valid, ready, sop, eop;
    pcielab_pkg::request_t header;
    logic [DATA_WIDTH-1:0] data;

    modport source (output valid, sop, eop, header, data, input ready);
    modport sink (input valid, sop, eop, header, data, output ready);
endinterface

// Completions, always taken: a requester must have room for the data that it requests. Any beat may be poisoned.
interface completion_stream #(
    parameter DATA_WIDTH = 256
);
    logic valid, sop, eop, poisoned;
    pcielab_pkg::completion_t header;
    logic [DATA_WIDTH-1:0] data;

    modport source (output valid, sop, eop, poisoned, header, data);
    modport sink (input valid, sop, eop, poisoned, header, data);
endinterface

// Requests of the host, with its stores of messages.
interface host_stream #(
    parameter DATA_WIDTH = 256
);
    logic valid, ready, sop, eop;
    pcielab_pkg::host_request_t header;
    logic [DATA_WIDTH-1:0] data;

    modport source (output valid, sop, eop, header, data, input ready);
    modport sink (input valid, sop, eop, header, data, output ready);
endinterface

// Answers to the host.
interface answer_stream #(
    parameter DATA_WIDTH = 256
);
    logic valid, ready, sop, eop;
    pcielab_pkg::host_answer_t header;
    logic [DATA_WIDTH-1:0] data;

    modport source (output valid, sop, eop, header, data, input ready);
    modport sink (input valid, sop, eop, header, data, output ready);
endinterface

// Reads of the core's memory, in beats; answered in order, some clocks after they were taken.
interface memory_read #(
    parameter DATA_WIDTH = 256
);
    logic valid, ready, response_valid;
    // Of the first byte of the beat.
    logic [pcielab_pkg::COMMAND_WIDTH-1:0] address;
    logic [DATA_WIDTH-1:0] response_data;

    modport source (output valid, address, input ready, response_valid, response_data);
    modport sink (input valid, address, output ready, response_valid, response_data);
endinterface

// An AXI4 port without the signals that stay 0.
interface axi_port #(
    parameter DATA_WIDTH = 256,
    parameter ADDRESS_WIDTH = 34
);
    logic awvalid, awready, wvalid, wready, wlast, bvalid, bready, arvalid, arready, rvalid, rready, rlast;
    logic awid, arid;
    logic [ADDRESS_WIDTH-1:0] awaddr, araddr;
    logic [7:0] awlen, arlen;
    logic [2:0] awsize, arsize;
    logic [1:0] awburst, arburst, bresp, rresp;
    logic [DATA_WIDTH-1:0] wdata, rdata;
    logic [DATA_WIDTH/8-1:0] wstrb;

    modport source (
        output awvalid, awid, awaddr, awlen, awsize, awburst, wvalid, wdata, wstrb, wlast, bready, arvalid, arid, araddr, arlen,
        arsize, arburst, rready,
        input awready, wready, bvalid, bresp, arready, rvalid, rdata, rresp, rlast
    );
endinterface

// Register accesses, one at a time. A read is answered some clocks after it was taken; a write is not answered.
interface register_access;
    logic valid, ready, write, response_valid;
    logic [16:0] address;
    logic [31:0] data, response_data;

    modport source (output valid, write, address, data, input ready, response_valid, response_data);
    modport sink (input valid, write, address, data, output ready, response_valid, response_data);
endinterface

`default_nettype wire
