// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Registers a stream in both directions: neither `valid` nor `ready` passes in the same clock. One entry each clock, a clock
// after it was put in; a spare register holds the entry that arrives as `out_ready` falls.
module stream_register #(
    parameter WIDTH = 32
) (
    input  wire logic clk,
    input  wire logic rst,
    input  wire logic in_valid,
    output logic in_ready,
    input  wire logic [WIDTH-1:0] in_data,
    output logic out_valid,
    input  wire logic out_ready,
    output logic [WIDTH-1:0] out_data
);
    logic spare_valid, leaves;
    logic [WIDTH-1:0] spare;

    assign in_ready = !spare_valid;
    assign leaves = out_ready || !out_valid;

    always_ff @(posedge clk) begin
        if (!spare_valid) spare <= in_data;
        if (leaves) out_data <= spare_valid ? spare : in_data;
        out_valid <= !leaves || spare_valid || in_valid;
        spare_valid <= !leaves && (spare_valid || in_valid);
        if (rst) {out_valid, spare_valid} <= '0;
    end
endmodule

`default_nettype wire
