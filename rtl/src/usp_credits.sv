// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Whether the link has credit for another request, and which requests are out, for the UltraScale+ hard block. PG213, "Transmit
// Flow Control" (pcie_tfc_nph_av), "Configuration Flow Control Interface" (cfg_fc_sel 4: transmit credits available) and
// "Requester Request Interface" (sequence numbers).
//
// The block counts a write's credits at the end of its pipeline, where the write's number comes back: until then the write is
// pending here and its credits count as taken. Its count of reads lags by two clocks at most, so that a read is pending only
// on its way to the block and a few clocks longer.
//
// A credit signal is three clocks old. While more than four requests fit, that does not matter; else one request starts, and the
// next waits until it is counted.
module usp_credits #(
    // 0: the block's credit wires are not connected, and only the sequence numbers limit requests.
    parameter TRANSMIT_CREDITS = 1
) (
    input  wire logic clk,
    input  wire logic rst,
    // While it is off, the block drops requests without a number.
    input  wire logic bus_master,
    // 128 << code bytes.
    input  wire logic [1:0] max_payload,

    // Requests as they leave the core; a read takes one beat.
    input  wire logic taken,
    input  wire logic sop,
    input  wire logic eop,
    input  wire pcielab_pkg::request_t header,
    // The number of the request that leaves, or of the next one.
    output logic [5:0] number,
    // A read enters the hard block.
    input  wire logic read_entered,

    input  wire logic [3:0] pcie_tfc_nph_av,
    input  wire logic [7:0] cfg_fc_ph,
    input  wire logic [11:0] cfg_fc_pd,
    output logic [2:0] cfg_fc_sel,
    input  wire logic [5:0] pcie_rq_seq_num0,
    input  wire logic pcie_rq_seq_num_vld0,
    input  wire logic [5:0] pcie_rq_seq_num1,
    input  wire logic pcie_rq_seq_num_vld1,

    output logic posted_credit,
    output logic non_posted_credit,
    output pcielab_pkg::out_t out
);
    // Requests that may start before a credit signal counts the first of them.
    localparam BLIND = 4;
    // From a read's entry until pcie_tfc_nph_av certainly counts it.
    localparam COUNTED_CLOCKS = 4;
    localparam NUMBERS = 64;

    typedef struct packed {
        logic write, report, epoch;
        // Data credits, of 16 bytes.
        logic [8:0] credits;
    } entry_t;

    assign cfg_fc_sel = 3'd4;

    // ---- requests that start
    logic started;
    logic [5:0] started_number;
    entry_t start;
    always_ff @(posedge clk) begin
        started <= taken && sop;
        start.write <= header.write;
        start.report <= header.report;
        start.epoch <= header.epoch;
        start.credits <= header.write ? 9'((12'(header.dwords) + 12'd3) >> 2) : '0;
        started_number <= number;
        if (taken && eop) number <= number + 1'b1;
        if (rst) {started, number} <= '0;
    end

    // ---- numbers that come back: only those that are open count
    logic [NUMBERS-1:0] open;
    // A number is looked up in two clocks: its row of eight, then its bit.
    logic [1:0] back, back_2, hit;
    logic [1:0][5:0] back_number;
    logic [1:0][2:0] column;
    logic [1:0][7:0] row;
    entry_t [1:0] entry, entry_2, freed;
    for (genvar n = 0; n < 2; n++) begin : returns
        lookup #(.WIDTH($bits(entry_t)), .DEPTH(NUMBERS)) entries (
            .clk, .write(started), .write_address(started_number), .write_data(start), .read_address(back_number[n]),
            .read_data(entry[n])
        );
        always_ff @(posedge clk) begin
            back_2[n] <= back[n];
            column[n] <= back_number[n][2:0];
            row[n] <= open[{back_number[n][5:3], 3'b0} +: 8];
            entry_2[n] <= entry[n];
            hit[n] <= back_2[n] && row[n][column[n]];
            freed[n] <= entry_2[n];
            if (rst || !bus_master) {back_2[n], hit[n]} <= '0;
        end
        assign out.valid[n] = hit[n] && freed[n].report;
        assign out.epoch[n] = freed[n].epoch;
    end
    always_ff @(posedge clk) begin
        back <= {pcie_rq_seq_num_vld1, pcie_rq_seq_num_vld0};
        back_number <= {pcie_rq_seq_num1, pcie_rq_seq_num0};
        for (int n = 0; n < 2; n++) if (back[n]) open[back_number[n]] <= 1'b0;
        if (started) open[started_number] <= 1'b1;
        if (rst || !bus_master) {back, open} <= '0;
    end

    // ---- pending requests
    logic [6:0] pending, pending_writes, pending_reads;
    logic [14:0] pending_data;
    logic [1:0] freed_writes;
    logic counted_read;
    assign freed_writes = 2'(hit[0] && freed[0].write) + 2'(hit[1] && freed[1].write);
    delay #(.WIDTH(1), .CLOCKS(COUNTED_CLOCKS)) until_counted (.clk, .in(read_entered && !rst), .out(counted_read));
    always_ff @(posedge clk) begin
        pending <= pending + 7'(started) - 7'(hit[0]) - 7'(hit[1]);
        pending_writes <= pending_writes + 7'(started && start.write) - 7'(freed_writes);
        pending_data <= pending_data + 15'(started ? start.credits : '0)
            - 15'(hit[0] ? freed[0].credits : '0) - 15'(hit[1] ? freed[1].credits : '0);
        pending_reads <= pending_reads + 7'(started && !start.write) - 7'(counted_read && pending_reads != '0);
        if (rst || !bus_master) {pending, pending_writes, pending_data, pending_reads} <= '0;
    end

    // ---- credits beside those of pending requests, and numbers beside theirs
    logic [7:0] header_credits;
    logic [11:0] data_credits;
    logic [3:0] read_credits;
    logic signed [8:0] room_headers;
    logic signed [15:0] room_data;
    logic signed [7:0] room_reads;
    logic signed [15:0] most_data;
    logic numbers_left;
    // A request started one or two clocks ago.
    logic [1:0] recent_writes, recent_reads;
    logic starts_write, starts_read, many_writes, some_writes, many_reads, some_reads;
    assign starts_write = taken && sop && header.write;
    assign starts_read = taken && sop && !header.write;
    assign many_writes = room_headers >= 9'(BLIND) && room_data >= BLIND * most_data;
    assign some_writes = room_headers > 0 && room_data >= most_data && recent_writes == '0 && !starts_write;
    assign many_reads = room_reads >= 8'(BLIND);
    assign some_reads = room_reads > 0 && recent_reads == '0 && !starts_read;
    always_ff @(posedge clk) begin
        {header_credits, data_credits, read_credits} <= {cfg_fc_ph, cfg_fc_pd, pcie_tfc_nph_av};
        most_data <= 16'd8 << max_payload;
        room_headers <= 9'(header_credits) - 9'(pending_writes);
        room_data <= 16'(data_credits) - 16'(pending_data);
        room_reads <= 8'(read_credits) - 8'(pending_reads);
        numbers_left <= pending < 7'(NUMBERS - 2 * BLIND);
        recent_writes <= {recent_writes[0], starts_write};
        recent_reads <= {recent_reads[0], starts_read};
        posted_credit <= numbers_left && (TRANSMIT_CREDITS == 0 || many_writes || some_writes);
        non_posted_credit <= numbers_left && (TRANSMIT_CREDITS == 0 || many_reads || some_reads);
        if (rst) {posted_credit, non_posted_credit, recent_writes, recent_reads} <= '0;
    end
endmodule

`default_nettype wire
