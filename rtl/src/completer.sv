// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Answers the host, one request at a time: reads and writes of BAR 0 become register accesses of one or two double words,
// and writes to BAR 2 (messages) and BAR 4 (the memory of commands, if there is one) are stores. BAR 2 is prefetchable, so
// a host may read it at any length: it reads as zeros. Other reads are unsupported requests; other writes are dropped.
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

    output logic answer_valid,
    input  wire logic answer_ready,
    output pcielab_pkg::host_answer_t answer,

    register_access.source access
);
    import pcielab_pkg::*;

    typedef enum logic [2:0] {TAKE, ACCESS, RESPONSE, CUT, ANSWER} step_t;

    step_t step;
    host_request_t held;
    logic [63:0] data;
    // The access is to the second of two double words.
    logic second;
    // The answer is cut at multiples of 128 bytes, the read completion boundary of an endpoint, which no MPS is below.
    logic is_zeros;
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
    assign answer_valid = step == ANSWER;
    always_comb begin
        answer.requester = held.requester;
        answer.status = held.kind == HOST_OTHER_READ ? 3'b001 : 3'b000;
        answer.byte_count = 13'({held.dwords, 2'b00}) - 13'(lead) - 13'(behind);
        answer.lower_address = {held.address[6:2], lead};
        answer.dwords = piece;
        answer.data = data;
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
                is_zeros <= 1'b0;
                if (is_read && host.header.bar == 3'd2) begin
                    data <= '0;
                    is_zeros <= 1'b1;
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
                is_last_piece <= !is_zeros || held.dwords <= 11'(to_boundary);
                piece <= is_zeros && held.dwords > 11'(to_boundary) ? to_boundary : 6'(held.dwords);
                if (held.kind == HOST_OTHER_READ) piece <= '0;
                step <= ANSWER;
            end
            ANSWER: if (answer_ready) begin
                held.first_be <= 4'b1111;
                held.address[6:2] <= held.address[6:2] + 5'(piece);
                held.dwords <= held.dwords - 11'(piece);
                step <= is_last_piece ? TAKE : CUT;
            end
            default: step <= TAKE;
        endcase
        if (rst) step <= TAKE;
    end
endmodule

`default_nettype wire
