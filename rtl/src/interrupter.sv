// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// One MSI-X vector: an event becomes a memory write of the vector's data to its address, after all earlier requests. While
// the vector or the function is masked, the event stays pending; without MSI-X it is dropped.
module interrupter (
    input  wire logic clk,
    input  wire logic rst,
    // Clears the pending event; a write that has been offered still leaves.
    input  wire logic clear,
    input  wire logic event_happened,
    // From the MSI-X capability.
    input  wire logic enable,
    input  wire logic function_mask,
    input  wire logic vector_mask,
    input  wire logic [63:0] address,
    output logic pending,
    output logic request_valid,
    input  wire logic request_ready,
    output pcielab_pkg::request_t request
);
    always_comb begin
        request = '0;
        request.write = 1'b1;
        request.address = {address[63:2], 2'b00};
        request.dwords = 11'd1;
        request.first_be = 4'b1111;
    end

    always_ff @(posedge clk) begin
        pending <= enable && !clear && (event_happened || (pending && !(request_valid && request_ready)));
        // An offered write stays, whatever the masks.
        request_valid <= request_valid ? !request_ready : pending && enable && !function_mask && !vector_mask;
        if (rst) {pending, request_valid} <= '0;
    end
endmodule

`default_nettype wire
