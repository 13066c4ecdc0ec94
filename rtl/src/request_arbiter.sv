// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Arbitrates several sources of requests: whole requests, in turns while several wait. A request of the source that was
// served last passes in the clock in which it arrives; one of another source passes a clock later, or behind the request
// in front of it without a gap. A request without credit lets the others pass.
module request_arbiter #(
    parameter DATA_WIDTH = 256,
    parameter SOURCES = 2,
    parameter SOURCE_WIDTH = $clog2(SOURCES)
) (
    input  wire logic clk,
    input  wire logic rst,
    // The link has credit for another write, and for another read. Either may fall only after a request was taken.
    input  wire logic posted_credit,
    input  wire logic non_posted_credit,
    request_stream.sink in [SOURCES],
    request_stream.source out
);
    // The source that may send, decided a clock ahead: its index, and a bit for each source, with which `ready` is one LUT.
    logic [SOURCE_WIDTH-1:0] chosen, next;
    logic [SOURCES-1:0] may_send;
    // A request is offered, which takes its credit, or has sent beats, and others follow.
    logic started;
    logic [SOURCES-1:0] credit, passes;
    logic [SOURCES-1:0] valid, sop, eop;
    pcielab_pkg::request_t [SOURCES-1:0] header;
    logic [SOURCES-1:0][DATA_WIDTH-1:0] data;

    // The index into an array of interfaces must be a constant.
    for (genvar n = 0; n < SOURCES; n++) begin : sources
        assign {valid[n], sop[n], eop[n]} = {in[n].valid, in[n].sop, in[n].eop};
        assign {header[n], data[n]} = {in[n].header, in[n].data};
        assign credit[n] = in[n].header.write ? posted_credit : non_posted_credit;
        assign passes[n] = may_send[n] && (started || credit[n]);
        assign in[n].ready = out.ready && passes[n];
    end

    // The first waiting source after the chosen one, which comes last.
    always_comb begin
        next = chosen;
        for (int ahead = SOURCES - 1; ahead > 0; ahead--) begin
            automatic int candidate = (int'(chosen) + ahead) % SOURCES;
            if (valid[candidate] && credit[candidate]) next = SOURCE_WIDTH'(candidate);
        end
    end

    assign {out.valid, out.sop, out.eop} = {(valid & passes) != '0, sop[chosen], eop[chosen]};
    assign {out.header, out.data} = {header[chosen], data[chosen]};

    always_ff @(posedge clk) begin
        // An offered request stays offered, and all its beats follow.
        if (out.valid ? out.ready && out.eop : !started) begin
            chosen <= next;
            may_send <= SOURCES'(1) << next;
        end
        if (out.valid) started <= !(out.ready && out.eop);
        if (rst) begin
            {started, chosen} <= '0;
            may_send <= SOURCES'(1);
        end
    end
endmodule

`default_nettype wire
