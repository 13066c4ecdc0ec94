// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Counts each kind of fault, from reset on. If several kinds occur in one clock, all are counted, and `kind` names the one
// that ends the test.
module fault_counters (
    input  wire logic clk,
    input  wire logic rst,
    input  wire logic completion_fault,
    input  wire registers_pkg::result_t completion_kind,
    input  wire logic timed_out,
    input  wire logic mismatch,
    output logic fault,
    output registers_pkg::result_t kind,
    output logic [31:0] error_status_count,
    output logic [31:0] poisoned_count,
    output logic [31:0] wrong_length_count,
    output logic [31:0] unknown_tag_count,
    output logic [31:0] timed_out_count,
    output logic [31:0] data_mismatch_count
);
    import registers_pkg::*;

    assign fault = completion_fault || timed_out || mismatch;
    assign kind = completion_fault ? completion_kind : timed_out ? TIMED_OUT : DATA_MISMATCH;

    always_ff @(posedge clk) begin
        error_status_count <= error_status_count + 32'(completion_fault && completion_kind == ERROR_STATUS);
        poisoned_count <= poisoned_count + 32'(completion_fault && completion_kind == POISONED);
        wrong_length_count <= wrong_length_count + 32'(completion_fault && completion_kind == WRONG_LENGTH);
        unknown_tag_count <= unknown_tag_count + 32'(completion_fault && completion_kind == UNKNOWN_TAG);
        timed_out_count <= timed_out_count + 32'(timed_out);
        data_mismatch_count <= data_mismatch_count + 32'(mismatch);
        if (rst) begin
            {error_status_count, poisoned_count, wrong_length_count} <= '0;
            {unknown_tag_count, timed_out_count, data_mismatch_count} <= '0;
        end
    end
endmodule

`default_nettype wire
