// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Counts commands that have ended, and writes a notice to host memory for each that asks for one. A notice leaves behind the
// data of its command. Software reports how many it has read; the notifier waits rather than overwrite one.
module notifier #(
    parameter DATA_WIDTH = 256
) (
    input  wire logic clk,
    input  wire logic rst,
    // Notices may start.
    input  wire logic go,
    input  wire registers_pkg::settings_t settings,
    input  wire logic [pcielab_pkg::CLOCKS_WIDTH-1:0] clock,

    // Of the two executors, which take turns; each is held for a clock at least.
    input  wire logic [1:0] ended_valid,
    output logic [1:0] ended_ready,
    input  wire pcielab_pkg::ended_command_t [1:0] ended,

    request_stream.source tx,
    output logic [31:0] done
);
    import pcielab_pkg::*;

    typedef enum logic [1:0] {LOOK, WAIT, NOTICE} step_t;

    step_t step;
    logic turn, take;
    logic [1:0] waits;
    ended_command_t [1:0] waiting;
    ended_command_t held;
    logic [CLOCKS_WIDTH-1:0] ended_at;
    logic [31:0] number, ring, in_ring, unread;

    assign take = step == LOOK && go && waits[turn];
    assign ended_ready = ~waits;

    always_comb begin
        tx.header = '0;
        tx.header.write = 1'b1;
        tx.header.address = {settings.notices, 12'b0} + 64'({in_ring, 5'b0});
        tx.header.dwords = 11'd8;
        tx.header.first_be = 4'b1111;
        tx.header.last_be = 4'b1111;
        tx.data = DATA_WIDTH'({
            8'(held.write), 8'(held.queue_number), held.number, 32'(held.length), number + 32'd1,
            32'(held.started - held.arrived), 64'(ended_at), 64'(held.arrived)
        });
    end
    assign tx.valid = step == NOTICE;
    assign tx.sop = 1'b1;
    assign tx.eop = 1'b1;

    always_ff @(posedge clk) begin
        // All of these are constant from a clock before the request on.
        ring <= 32'd1 << settings.notice_ring.notices_log2;
        in_ring <= number & (ring - 1'b1);
        unread <= number - settings.notices_taken;
        for (int n = 0; n < 2; n++)
            if (!waits[n]) begin
                waiting[n] <= ended[n];
                waits[n] <= ended_valid[n];
            end
        unique case (step)
            LOOK: begin
                turn <= !turn;
                if (take) begin
                    held <= waiting[turn];
                    ended_at <= clock;
                    done <= done + 1'b1;
                    waits[turn] <= 1'b0;
                    if (waiting[turn].notify) step <= WAIT;
                end
            end
            WAIT: if (unread < ring && go) step <= NOTICE;
            NOTICE: if (tx.ready) begin
                number <= number + 1'b1;
                step <= LOOK;
            end
            default: step <= LOOK;
        endcase
        if (rst) begin
            step <= LOOK;
            {turn, waits, number, done} <= '0;
        end
    end
endmodule

`default_nettype wire
