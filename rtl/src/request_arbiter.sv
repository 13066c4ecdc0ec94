// Lets several sources of requests share the way out: one request after the other, whole, by turns where more than one
// waits. A request that nobody contends with passes in the clock in which it comes.
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
    // A request has begun that has not ended, and whose it is.
    logic begun;
    logic [SOURCE_WIDTH-1:0] owner, chosen, last;
    logic [SOURCES-1:0] valid, sop, eop;
    pcielab_pkg::request_t [SOURCES-1:0] header;
    logic [SOURCES-1:0][DATA_WIDTH-1:0] data;

    // An array of interfaces takes no index but a constant.
    for (genvar n = 0; n < SOURCES; n++) begin : sources
        assign {valid[n], sop[n], eop[n]} = {in[n].valid, in[n].sop, in[n].eop};
        assign {header[n], data[n]} = {in[n].header, in[n].data};
        assign in[n].ready = out.ready && chosen == SOURCE_WIDTH'(n);
    end

    // The first behind the one that had its turn last.
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
            // What was offered stays offered, whether it is taken or not.
            owner <= chosen;
            begun <= !(out.ready && out.eop);
            if (out.ready && out.eop) last <= chosen;
        end
        if (rst) begin
            begun <= 1'b0;
            last <= '0;
        end
    end
endmodule
