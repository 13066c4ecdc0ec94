// Cuts transfers into parts that fit a TLP: reads at multiples of MRRS, writes at multiples of MPS. Both divide 4 KiB, so
// that no part crosses a page. One part each clock.
module splitter (
    input  logic clk,
    input  logic rst,
    // Both limits as the device control register encodes them: 128 << code bytes.
    input  logic [2:0] max_payload,
    input  logic [2:0] max_read_request,
    input  logic in_valid,
    output logic in_ready,
    input  pcielab_pkg::transfer_t in_transfer,
    output logic out_valid,
    input  logic out_ready,
    output pcielab_pkg::transfer_t out_part,
    output logic out_first,
    output logic out_last,
    // Parts of the whole transfer.
    output logic [5:0] out_parts
);
    import pcielab_pkg::*;

    transfer_t rest;
    logic busy;
    logic [LENGTH_WIDTH-1:0] limit, room;
    logic [3:0] doublings, in_doublings;
    logic [LENGTH_WIDTH-1:0] in_reach;

    assign doublings = 4'(rest.write ? max_payload : max_read_request);
    assign limit = LENGTH_WIDTH'(128) << doublings;
    assign room = limit - (rest.address[LENGTH_WIDTH-1:0] & (limit - 1'b1));
    assign in_doublings = 4'(in_transfer.write ? max_payload : max_read_request);
    assign in_reach = (in_transfer.address[LENGTH_WIDTH-1:0] & ((LENGTH_WIDTH'(128) << in_doublings) - 1'b1))
        + in_transfer.length - 1'b1;

    assign out_valid = busy;
    assign out_last = rest.length <= room;
    always_comb begin
        out_part = rest;
        out_part.length = out_last ? rest.length : room;
    end
    assign in_ready = !busy || (out_ready && out_last);

    always_ff @(posedge clk) begin
        if (in_valid && in_ready) begin
            rest <= in_transfer;
            out_first <= 1'b1;
            out_parts <= 6'(in_reach >> (4'd7 + in_doublings)) + 1'b1;
        end else if (out_valid && out_ready) begin
            rest.address <= rest.address + 64'(room);
            rest.offset <= rest.offset + OFFSET_WIDTH'(room);
            rest.length <= rest.length - room;
            out_first <= 1'b0;
        end
        busy <= (in_valid && in_ready) || (busy && !(out_ready && out_last));
        if (rst) busy <= 1'b0;
    end
endmodule
