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

// Register accesses, one at a time. A read is answered some clocks after it was taken; a write is not answered.
interface register_access;
    logic valid, ready, write, response_valid;
    logic [16:0] address;
    logic [31:0] data, response_data;

    modport source (output valid, write, address, data, input ready, response_valid, response_data);
    modport sink (input valid, write, address, data, output ready, response_valid, response_data);
endinterface

`default_nettype wire
