// Walks the list of addresses: gives out places of the list, one a clock, and beside each the usable unit that a fixed,
// sequential or strided pattern has there.
//
// Latency tests walk forwards and use the first place twice; bandwidth tests walk backwards. At the end of its 2^20 places
// the list is replayed. Software works out the first unit, the unit at the start of a replay and the step, each modulo
// the usable units, so that no division is left.
module list_walk (
    input  logic clk,
    input  registers_pkg::settings_t settings,
    input  logic start,
    input  logic step,
    output logic [pcielab_pkg::PLACE_WIDTH-1:0] place,
    output logic [pcielab_pkg::UNIT_WIDTH-1:0] nth
);
    import pcielab_pkg::*;

    logic repeat_place;
    logic [UNIT_WIDTH:0] up, down;
    logic at_end;

    assign at_end = settings.operation.backwards ? place == '0 : &place;
    assign up = {1'b0, nth} + {1'b0, settings.step};
    assign down = {1'b0, nth} - {1'b0, settings.step};

    always_ff @(posedge clk) begin
        if (start) begin
            place <= settings.place;
            nth <= settings.nth;
            repeat_place <= settings.operation.first_twice;
        end else if (step && repeat_place) begin
            repeat_place <= 1'b0;
        end else if (step) begin
            place <= settings.operation.backwards ? place - 1'b1 : place + 1'b1;
            if (at_end) nth <= settings.nth_wrap;
            else if (settings.operation.backwards) nth <= UNIT_WIDTH'(down[UNIT_WIDTH] ? down + {1'b0, settings.usable} : down);
            else nth <= UNIT_WIDTH'(up >= {1'b0, settings.usable} ? up - {1'b0, settings.usable} : up);
        end
    end
endmodule
