// Arbitrates several sources of requests: whole requests, in turns while several wait. A request without contention passes
// in the clock in which it arrives.
module request_arbiter #(
    parameter DATA_WIDTH = 256,
    parameter SOURCES = 2,
    parameter SOURCE_WIDTH = $clog2(SOURCES)
) (
    input  logic clk,
    input  logic rst,
    request_stream.sink in [SOURCES],
    request_stream.source out
);
    // A request is in progress, and its source.
    logic begun;
    logic [SOURCE_WIDTH-1:0] owner, chosen, last;
    logic [SOURCES-1:0] valid, sop, eop;
    pcielab_pkg::request_t [SOURCES-1:0] header;
    logic [SOURCES-1:0][DATA_WIDTH-1:0] data;

    // The index into an array of interfaces must be a constant.
    for (genvar n = 0; n < SOURCES; n++) begin : sources
        assign {valid[n], sop[n], eop[n]} = {in[n].valid, in[n].sop, in[n].eop};
        assign {header[n], data[n]} = {in[n].header, in[n].data};
        assign in[n].ready = out.ready && chosen == SOURCE_WIDTH'(n);
    end

    // The first waiting source after the last one served.
    always_comb begin
        chosen = last;
        for (int ahead = SOURCES; ahead > 0; ahead--) begin
            automatic int candidate = (int'(last) + ahead) % SOURCES;
            if (valid[candidate]) chosen = SOURCE_WIDTH'(candidate);
        end
        if (begun) chosen = owner;
    end

    assign {out.valid, out.sop, out.eop} = {valid[chosen], sop[chosen], eop[chosen]};
    assign {out.header, out.data} = {header[chosen], data[chosen]};

    always_ff @(posedge clk) begin
        if (out.valid) begin
            // An offered request stays offered.
            owner <= chosen;
            begun <= !(out.ready && out.eop);
            if (out.ready && out.eop) last <= chosen;
        end
        if (rst) {begun, last} <= '0;
    end
endmodule
