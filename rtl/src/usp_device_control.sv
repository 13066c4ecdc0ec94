// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Reads the device control register over the configuration management interface (cfg_mgmt) of the UltraScale+ hard block, again
// and again: whether the host enables extended tags is on no wire. PG213, "Configuration Management Interface".
module usp_device_control #(
    // The double word of the configuration space: the PCI Express capability is at 0x70, and the register 8 bytes behind.
    parameter logic [9:0] ADDRESS = 10'h1e,
    // Clocks between two reads: 2 to this power.
    parameter PAUSE_LOG2 = 10
) (
    input  wire logic clk,
    input  wire logic rst,

    output logic [9:0] cfg_mgmt_addr,
    output logic [7:0] cfg_mgmt_function_number,
    output logic cfg_mgmt_write,
    output logic [31:0] cfg_mgmt_write_data,
    output logic [3:0] cfg_mgmt_byte_enable,
    output logic cfg_mgmt_read,
    input  wire logic [31:0] cfg_mgmt_read_data,
    input  wire logic cfg_mgmt_read_write_done,
    output logic cfg_mgmt_debug_access,

    // The register was read.
    output logic known,
    output logic extended_tags
);
    localparam EXTENDED_TAG_ENABLE = 8;

    logic [PAUSE_LOG2-1:0] waited;

    assign cfg_mgmt_addr = ADDRESS;
    assign {cfg_mgmt_function_number, cfg_mgmt_write, cfg_mgmt_write_data, cfg_mgmt_byte_enable} = '0;
    assign cfg_mgmt_debug_access = 1'b0;

    always_ff @(posedge clk) begin
        waited <= cfg_mgmt_read ? '0 : waited + 1'b1;
        if (cfg_mgmt_read && cfg_mgmt_read_write_done) begin
            cfg_mgmt_read <= 1'b0;
            known <= 1'b1;
            extended_tags <= cfg_mgmt_read_data[EXTENDED_TAG_ENABLE];
        end else if (&waited) cfg_mgmt_read <= 1'b1;
        if (rst) {cfg_mgmt_read, known, extended_tags, waited} <= '0;
    end
endmodule

`default_nettype wire
