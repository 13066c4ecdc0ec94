// Lets several sources of requests share the way out: one request after the other, whole, by turns where more than one
// waits. A request that nobody contends with passes in the clock in which it comes.
module request_arbiter #(
    parameter DATA_WIDTH = 256,
    parameter SOURCES = 2,
    parameter SOURCE_WIDTH = $clog2(SOURCES)
) (
    input  logic clk,
    input  logic rst,
    input  logic [SOURCES-1:0] in_valid,
    output logic [SOURCES-1:0] in_ready,
    input  logic [SOURCES-1:0] in_sop,
    input  logic [SOURCES-1:0] in_eop,
    input  pcielab_pkg::request_t [SOURCES-1:0] in_request,
    input  logic [SOURCES-1:0][DATA_WIDTH-1:0] in_data,
    output logic out_valid,
    input  logic out_ready,
    output logic out_sop,
    output logic out_eop,
    output pcielab_pkg::request_t out_request,
    output logic [DATA_WIDTH-1:0] out_data
);
    // A request has begun that has not ended, and whose it is.
    logic begun;
    logic [SOURCE_WIDTH-1:0] owner, chosen, last;

    // The first behind the one that had its turn last.
    always_comb begin
        chosen = last;
        for (int ahead = SOURCES; ahead > 0; ahead--) begin
            automatic int candidate = (int'(last) + ahead) % SOURCES;
            if (in_valid[candidate]) chosen = SOURCE_WIDTH'(candidate);
        end
        if (begun) chosen = owner;
    end

    assign out_valid = in_valid[chosen];
    assign out_sop = in_sop[chosen];
    assign out_eop = in_eop[chosen];
    assign out_request = in_request[chosen];
    assign out_data = in_data[chosen];
    always_comb begin
        in_ready = '0;
        in_ready[chosen] = out_ready;
    end

    always_ff @(posedge clk) begin
        if (out_valid) begin
            // What was offered stays offered, whether it is taken or not.
            owner <= chosen;
            begun <= !(out_ready && out_eop);
            if (out_ready && out_eop) last <= chosen;
        end
        if (rst) begin
            begun <= 1'b0;
            last <= '0;
        end
    end
endmodule
