// Walks the list of addresses: gives out places of the list, one a clock, and beside each the usable unit that a fixed,
// sequential or strided pattern has there.
//
// Latency tests walk forwards and use the first place twice; bandwidth tests walk backwards. At the end of its 2^20 places
// the list is replayed. Software works out the first unit, the unit at the start of a replay and the step, each modulo
// the usable units, so that no division is left.
module list_walk (
    input  logic clk,
    input  pcielab_pkg::address_list_t list,
    input  logic start,
    input  logic step,
    output logic [pcielab_pkg::PLACE_WIDTH-1:0] place,
    output logic [pcielab_pkg::UNIT_WIDTH-1:0] nth
);
    import pcielab_pkg::*;

    logic repeat_place;
    logic [UNIT_WIDTH:0] up, down;
    logic at_end;

    assign at_end = list.backwards ? place == '0 : &place;
    assign up = {1'b0, nth} + {1'b0, list.step};
    assign down = {1'b0, nth} - {1'b0, list.step};

    always_ff @(posedge clk) begin
        if (start) begin
            place <= list.place;
            nth <= list.nth;
            repeat_place <= list.first_twice;
        end else if (step && repeat_place) begin
            repeat_place <= 1'b0;
        end else if (step) begin
            place <= list.backwards ? place - 1'b1 : place + 1'b1;
            if (at_end) nth <= list.nth_wrap;
            else if (list.backwards) nth <= UNIT_WIDTH'(down[UNIT_WIDTH] ? down + {1'b0, list.usable} : down);
            else nth <= UNIT_WIDTH'(up >= {1'b0, list.usable} ? up - {1'b0, list.usable} : up);
        end
    end
endmodule
