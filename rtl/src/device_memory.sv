// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// The core's memory in block RAM: written by the answers to its reads and by stores to BAR 4, read a beat at a time.
module device_memory #(
    parameter DATA_WIDTH = 256,
    // A power of two, up to 16 MiB.
    parameter BYTES = 65536,
    parameter ADDRESS_WIDTH = $clog2(BYTES / (DATA_WIDTH / 8))
) (
    input  wire logic clk,
    input  wire logic rst,

    // As of memory_writes.sv.
    input  wire logic answer_valid,
    input  wire logic [pcielab_pkg::OFFSET_WIDTH-1:0] answer_offset,
    input  wire logic [pcielab_pkg::LENGTH_WIDTH-1:0] answer_bytes,
    input  wire logic [DATA_WIDTH-1:0] answer_data,
    host_stream.sink store,
    output logic store_bad,

    // Data come two clocks after their address.
    input  wire logic [ADDRESS_WIDTH-1:0] read_address,
    output logic [DATA_WIDTH-1:0] read_data
);
    localparam BEAT_BYTES = DATA_WIDTH / 8;

    logic [ADDRESS_WIDTH-1:0] write_address;
    logic [BEAT_BYTES-1:0] enables;
    logic [DATA_WIDTH-1:0] write_data, looked_up;
    memory_writes #(.DATA_WIDTH(DATA_WIDTH), .ADDRESS_WIDTH(ADDRESS_WIDTH)) writes (
        .clk, .rst, .answer_valid, .answer_offset, .answer_bytes, .answer_data, .store, .takes_stores(1'b1), .store_bad,
        .write_valid(), .write_address, .write_enables(enables), .write_data
    );

    logic [DATA_WIDTH-1:0] content [BYTES / BEAT_BYTES];
    always_ff @(posedge clk) begin
        for (int n = 0; n < BEAT_BYTES; n++)
            if (enables[n]) content[write_address][8*n +: 8] <= write_data[8*n +: 8];
        looked_up <= content[read_address];
        read_data <= looked_up;
    end
endmodule

`default_nettype wire
