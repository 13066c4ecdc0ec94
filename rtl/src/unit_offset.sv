// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// The offset in the host buffer of the n-th usable unit of a window. One unit each clock, LATENCY clocks after its number.
//
// Units whose transfer would cross a page are left out. They repeat with a period of at most 64 units; software writes the
// usable units of a period into a table.
module unit_offset #(
    parameter LATENCY = 5
) (
    input  wire logic clk,
    input  wire registers_pkg::settings_t settings,
    input  wire logic table_write,
    input  wire logic [5:0] table_address,
    input  wire logic [5:0] table_data,
    input  wire logic [pcielab_pkg::UNIT_WIDTH-1:0] nth,
    output logic [pcielab_pkg::OFFSET_WIDTH-1:0] offset
);
    import pcielab_pkg::*;

    logic [UNIT_WIDTH-1:0] nth_1, nth_2, periods, first_of_period, unit;
    logic [UNIT_WIDTH+31:0] scaled;
    logic [5:0] in_period, in_period_2;

    lookup #(.WIDTH(6), .DEPTH(64)) usable_units (
        .clk, .write(table_write), .write_address(table_address), .write_data(table_data),
        .read_address(in_period_2), .read_data(in_period)
    );

    always_ff @(posedge clk) begin
        // The reciprocal is 2^31 / usable_in_period, rounded up: exact for numbers below 2^25.
        scaled <= nth * (UNIT_WIDTH + 32)'(settings.reciprocal);
        nth_1 <= nth;

        periods <= UNIT_WIDTH'(scaled >> 31);
        in_period_2 <= 6'(nth_1 - UNIT_WIDTH'(scaled >> 31) * UNIT_WIDTH'(settings.period.usable));
        nth_2 <= nth_1;

        first_of_period <= settings.period.all_usable ? nth_2
            : periods * UNIT_WIDTH'(settings.period.length) + UNIT_WIDTH'(in_period);
        unit <= first_of_period;

        offset <= OFFSET_WIDTH'(unit) * OFFSET_WIDTH'(settings.unit_bytes) + OFFSET_WIDTH'(settings.host_offset);
    end

    initial if (LATENCY != 5) $error("a unit takes 5 clocks from number to offset");
endmodule

`default_nettype wire
