// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Walks the list of addresses: gives one list index each clock, with the usable unit that a sequential or strided pattern
// has there.
//
// Latency tests walk forwards and use the first index twice; bandwidth tests walk backwards. After 2^20 entries the list is
// replayed. Software computes the first unit, the unit at the start of a replay and the step, each modulo the usable
// units, so that hardware needs no division.
module list_walk (
    input  wire logic clk,
    input  wire registers_pkg::settings_t settings,
    input  wire logic start,
    input  wire logic step,
    output logic [pcielab_pkg::LIST_INDEX_WIDTH-1:0] index,
    output logic [pcielab_pkg::UNIT_WIDTH-1:0] nth
);
    import pcielab_pkg::*;

    logic repeat_first;
    logic [UNIT_WIDTH:0] up, down;
    logic at_end;

    assign at_end = settings.operation.backwards ? index == '0 : &index;
    assign up = {1'b0, nth} + {1'b0, settings.step};
    assign down = {1'b0, nth} - {1'b0, settings.step};

    always_ff @(posedge clk) begin
        if (start) begin
            index <= settings.list_index;
            nth <= settings.nth;
            repeat_first <= settings.operation.first_twice;
        end else if (step && repeat_first) begin
            repeat_first <= 1'b0;
        end else if (step) begin
            index <= settings.operation.backwards ? index - 1'b1 : index + 1'b1;
            if (at_end) nth <= settings.nth_wrap;
            else if (settings.operation.backwards) nth <= UNIT_WIDTH'(down[UNIT_WIDTH] ? down + {1'b0, settings.usable} : down);
            else nth <= UNIT_WIDTH'(up >= {1'b0, settings.usable} ? up - {1'b0, settings.usable} : up);
        end
    end
endmodule

`default_nettype wire
