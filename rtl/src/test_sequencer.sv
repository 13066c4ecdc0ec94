// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Runs a test: turns addresses into transfers in the order and at the pace of the operation, and ends the test when all are
// done, on a stop, or at the first fault. It reports the end only when nothing is in flight; time-outs bound this wait.
//
// Latency operations have one transaction in flight: a read, or a write followed by a read of the same bytes. The request
// engine limits those of bandwidth operations.
module test_sequencer (
    input  wire logic clk,
    input  wire logic rst,
    input  wire registers_pkg::settings_t settings,
    input  wire logic parameters_good,
    input  wire logic bus_master,

    // All modules are cleared.
    input  wire logic prepared,
    output logic prepare,

    input  wire logic address_valid,
    output logic address_ready,
    input  wire logic [63:0] address,
    input  wire logic [pcielab_pkg::OFFSET_WIDTH-1:0] offset,
    input  wire logic address_in_buffer,

    output logic transfer_valid,
    input  wire logic transfer_ready,
    output pcielab_pkg::transfer_t transfer,

    // A read was answered whole.
    input  wire logic read_done,
    // No request and no completion is in flight.
    input  wire logic quiet,
    input  wire logic fault,
    input  wire registers_pkg::result_t fault_kind,

    output registers_pkg::state_t state,
    output registers_pkg::result_t result,
    // Drops requests that have not left.
    output logic drop,
    output logic ended
);
    import pcielab_pkg::*;
    import registers_pkg::*;

    operation_t operation;
    logic start, stop;
    logic [31:0] left;
    // `left` is not 0.
    logic more;
    logic writes, alone, in_flight, behind_write, go_on;
    result_t reason;
    logic [1:0] settle;
    logic is_pair, outside;

    assign operation = settings.operation.operation;
    assign start = settings.control.start;
    assign stop = settings.control.stop;
    assign alone = operation == LAT_RD || operation == LAT_WRRD;
    assign is_pair = operation == LAT_WRRD;
    assign outside = more && address_valid && !address_in_buffer;
    // A transfer that starts in the clock of a fault is dropped with all others that have not left.
    assign go_on = state == RUN && more && !stop && bus_master && (!alone || !in_flight);

    assign transfer_valid = go_on && address_valid && address_in_buffer;
    always_comb begin
        transfer.write = writes && !behind_write;
        transfer.address = address;
        transfer.offset = offset;
        transfer.length = settings.size;
    end
    // The address of a pair serves twice.
    assign address_ready = go_on && transfer_ready && !(is_pair && !behind_write);
    assign prepare = state == IDLE && start && parameters_good;

    always_ff @(posedge clk) begin
        ended <= 1'b0;
        // Whether the next state is DRAIN, with a reason other than COMPLETE.
        drop <= 1'b0;
        unique case (state)
            IDLE: if (start) begin
                result <= parameters_good ? NONE : BAD_PARAMETER;
                reason <= COMPLETE;
                state <= parameters_good ? PREPARE : IDLE;
                left <= settings.count;
                more <= 1'b1;
                writes <= operation == LAT_WRRD || operation == BW_WR
                    || (operation == BW_RDWR && settings.operation.first_writes);
                behind_write <= 1'b0;
                in_flight <= 1'b0;
            end
            PREPARE: begin
                if (stop) begin
                    reason <= STOPPED;
                    drop <= 1'b1;
                    state <= DRAIN;
                end else if (prepared) state <= RUN;
                settle <= '0;
            end
            RUN: begin
                if (transfer_valid && transfer_ready) begin
                    behind_write <= is_pair && !behind_write;
                    if (operation == BW_RDWR) writes <= !writes;
                    if (!is_pair || behind_write) begin
                        left <= left - 1'b1;
                        more <= left != 32'd1;
                        in_flight <= 1'b1;
                    end
                end
                if (read_done) in_flight <= 1'b0;
                if (fault) reason <= fault_kind;
                else if (!bus_master) reason <= BUS_MASTER_OFF;
                else if (stop) reason <= STOPPED;
                else if (outside) reason <= OUT_OF_BUFFER;
                if (fault || !bus_master || stop || !more || outside) state <= DRAIN;
                drop <= fault || !bus_master || stop || outside;
                settle <= '0;
            end
            // The results of the last data show at most two clocks after everything is quiet.
            // If requests wait for tags that never come back, the fault ends the wait.
            DRAIN: begin
                if (fault && reason == COMPLETE) reason <= fault_kind;
                else if (stop && reason == COMPLETE) reason <= STOPPED;
                else if (!bus_master && reason == COMPLETE) reason <= BUS_MASTER_OFF;
                settle <= quiet ? settle + 2'(settle != '1) : '0;
                drop <= reason != COMPLETE || fault || stop || !bus_master;
                if (quiet && &settle) begin
                    drop <= 1'b0;
                    state <= IDLE;
                    result <= fault && reason == COMPLETE ? fault_kind : reason;
                    ended <= 1'b1;
                end
            end
            default: state <= IDLE;
        endcase
        if (rst) begin
            state <= IDLE;
            result <= NONE;
            {drop, ended} <= '0;
        end
    end
endmodule

`default_nettype wire
