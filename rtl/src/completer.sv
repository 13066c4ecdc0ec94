// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Answers the host, one request at a time: reads and writes of BAR 0 become register accesses of one or two double words,
// and writes to BAR 2 (messages) and BAR 4 (the memory of commands, if there is one) are stores. Both are prefetchable, so that a
// host may read them at any length: BAR 2 reads as zeros, BAR 4 as the memory. Other reads are unsupported requests; other
// writes are dropped.
//
// Registers are written whole: writes of single bytes, or of more than two double words, are dropped.
module completer #(
    parameter DATA_WIDTH = 256,
    // 0: the core has no memory of commands.
    parameter COMMANDS = 1
) (
    input  wire logic clk,
    input  wire logic rst,

    host_stream.sink host,
    // Writes to BARs 2 and 4.
    host_stream.source store,
    // Reads of BAR 4.
    memory_read.source load,

    answer_stream.source answer,

    register_access.source access
);
    import pcielab_pkg::*;

    typedef enum logic [2:0] {TAKE, ACCESS, RESPONSE, CUT, MEASURE, LOAD, ANSWER} step_t;

    localparam LANES = DATA_WIDTH / 32;
    localparam LANE_WIDTH = $clog2(LANES);
    // The most beats of an answer, and bits of a number of beats that it touches.
    localparam BEATS = 32 / LANES;
    localparam COUNT_WIDTH = $clog2(BEATS) + 1;

    step_t step;
    host_request_t held;
    logic [63:0] data;
    // The access is to the second of two double words.
    logic second;
    // The answer is cut at multiples of 128 bytes, the read completion boundary of an endpoint, which no MPS is below.
    logic is_zeros, is_memory, is_long;
    logic [5:0] to_boundary;
    logic [5:0] piece;
    logic is_last_piece;
    logic is_read, is_register, is_whole;
    logic [1:0] lead, behind;

    assign is_read = host.header.kind == HOST_READ;
    assign is_register = host.header.bar == 3'd0 && host.header.dwords <= 11'd2 && host.header.dwords != '0;
    assign is_whole = host.header.first_be == 4'b1111 && (host.header.dwords == 11'd1 || host.header.last_be == 4'b1111);

    // All beats of a store follow its first one.
    logic of_store, is_store, store_begun;
    assign of_store = host.header.bar == 3'd2 || (COMMANDS != 0 && host.header.bar == 3'd4);
    assign is_store = host.sop ? host.header.kind == HOST_WRITE && of_store : store_begun;
    assign store.valid = host.valid && is_store && step == TAKE;
    assign {store.sop, store.eop, store.header, store.data} = {host.sop, host.eop, host.header, host.data};
    assign host.ready = step == TAKE && (!is_store || store.ready);
    assign access.valid = step == ACCESS;
    assign access.write = held.kind == HOST_WRITE;
    assign access.address = held.address[16:0] + {14'b0, second, 2'b00};
    assign access.data = data[32*second +: 32];

    // Bytes of the first and the last double word that were not requested. A read of no bytes is answered like one of one byte.
    assign lead = held.first_be[0] || held.first_be == '0 ? 2'd0 : held.first_be[1] ? 2'd1 : held.first_be[2] ? 2'd2 : 2'd3;
    assign behind = held.last_be[3] ? 2'd0 : held.last_be[2] ? 2'd1 : held.last_be[1] ? 2'd2 : 2'd3;

    assign to_boundary = 6'd32 - 6'(held.address[6:2]);
    assign is_long = is_zeros || is_memory;

    // ---- loads: the beats of the memory that a piece touches become the beats of its answer, from its first double word on
    logic [COUNT_WIDTH-1:0] to_load, to_come, to_shift, touched, beats;
    logic [LANE_WIDTH-1:0] first_lane;
    logic [DATA_WIDTH-1:0] previous, arrived, upper, lower, shifted, loaded;
    logic came, came_before, shifts, put;
    assign first_lane = held.address[2 +: LANE_WIDTH];
    assign touched = COUNT_WIDTH'((7'(first_lane) + 7'(piece) + 7'(LANES - 1)) >> LANE_WIDTH);
    assign beats = piece == '0 ? COUNT_WIDTH'(1) : COUNT_WIDTH'((7'(piece) + 7'(LANES - 1)) >> LANE_WIDTH);
    assign load.valid = step == LOAD && to_load != '0;
    // A beat of the answer has parts of two beats, unless they start alike; the last one may lie in one.
    assign shifts = to_shift != '0 && (came ? came_before || first_lane == '0 : came_before && to_come == '0);
    assign {upper, lower} = came && first_lane != '0 ? {arrived, previous} : {DATA_WIDTH'(0), arrived};
    always_ff @(posedge clk) begin
        if (load.valid && load.ready) begin
            load.address <= load.address + COMMAND_WIDTH'(LANES * 4);
            to_load <= to_load - 1'b1;
        end
        if (load.response_valid) begin
            {previous, arrived} <= {arrived, load.response_data};
            to_come <= to_come - 1'b1;
        end
        came <= load.response_valid;
        came_before <= came_before || came;
        put <= shifts;
        shifted <= DATA_WIDTH'({upper, lower} >> {first_lane, 5'b0});
        if (shifts) to_shift <= to_shift - 1'b1;
        if (step == MEASURE) begin
            load.address <= {held.address[COMMAND_WIDTH-1:2+LANE_WIDTH], {(2 + LANE_WIDTH){1'b0}}};
            {to_load, to_come} <= {2{touched}};
            to_shift <= is_memory ? beats : '0;
            came_before <= 1'b0;
        end
        if (rst) {to_shift, came, put} <= '0;
    end
    stream_fifo #(.WIDTH(DATA_WIDTH), .DEPTH(BEATS)) of_answer (
        .clk, .rst, .in_valid(put), .in_ready(), .in_data(shifted), .out_valid(),
        .out_ready(answer.valid && answer.ready && is_memory), .out_data(loaded), .count()
    );

    // ---- the answer
    logic [COUNT_WIDTH-1:0] left;
    assign answer.valid = step == ANSWER;
    assign answer.eop = left == COUNT_WIDTH'(1);
    always_comb begin
        answer.header.requester = held.requester;
        answer.header.status = held.kind == HOST_OTHER_READ ? 3'b001 : 3'b000;
        answer.header.byte_count = 13'({held.dwords, 2'b00}) - 13'(lead) - 13'(behind);
        answer.header.lower_address = {held.address[6:2], lead};
        answer.header.dwords = piece;
        answer.data = is_memory ? loaded : DATA_WIDTH'(data);
    end

    always_ff @(posedge clk) begin
        if (host.valid && host.ready) store_begun <= is_store && !host.eop;
        unique case (step)
            TAKE: if (host.valid && host.sop) begin
                held <= host.header;
                // The byte enables of the last double word, also where it is the first.
                if (host.header.dwords == 11'd1) held.last_be <= host.header.first_be;
                data <= host.data[63:0];
                second <= 1'b0;
                is_zeros <= is_read && host.header.bar == 3'd2;
                is_memory <= COMMANDS != 0 && is_read && host.header.bar == 3'd4;
                if (is_read && of_store) begin
                    data <= '0;
                    step <= CUT;
                end else if (is_register && (is_read || (host.header.kind == HOST_WRITE && is_whole))) step <= ACCESS;
                else if (is_read || host.header.kind == HOST_OTHER_READ) begin
                    held.kind <= HOST_OTHER_READ;
                    step <= CUT;
                end
            end
            ACCESS: if (access.ready) begin
                if (!access.write) step <= RESPONSE;
                else if (second || held.dwords == 11'd1) step <= TAKE;
                else second <= 1'b1;
            end
            RESPONSE: if (access.response_valid) begin
                data[32*second +: 32] <= access.response_data;
                second <= 1'b1;
                step <= second || held.dwords == 11'd1 ? CUT : ACCESS;
            end
            CUT: begin
                is_last_piece <= !is_long || held.dwords <= 11'(to_boundary);
                piece <= is_long && held.dwords > 11'(to_boundary) ? to_boundary : 6'(held.dwords);
                if (held.kind == HOST_OTHER_READ) piece <= '0;
                step <= MEASURE;
            end
            MEASURE: begin
                left <= beats;
                answer.sop <= 1'b1;
                step <= is_memory ? LOAD : ANSWER;
            end
            // The last beat is in the queue a clock after `put`.
            LOAD: if (to_shift == '0 && !put) step <= ANSWER;
            ANSWER: if (answer.ready) begin
                answer.sop <= 1'b0;
                left <= left - 1'b1;
                if (answer.eop) begin
                    held.first_be <= 4'b1111;
                    held.address[6:2] <= held.address[6:2] + 5'(piece);
                    held.dwords <= held.dwords - 11'(piece);
                    // The next piece starts at a boundary.
                    if (!is_last_piece) held.address[COMMAND_WIDTH-1:7] <= held.address[COMMAND_WIDTH-1:7] + 1'b1;
                    step <= is_last_piece ? TAKE : CUT;
                end
            end
            default: step <= TAKE;
        endcase
        if (rst) step <= TAKE;
    end
endmodule

`default_nettype wire
