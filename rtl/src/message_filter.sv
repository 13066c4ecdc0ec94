// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// The end-of-packet filter: takes the buffers of each queue in order, finds the end of each message, and passes on its
// bytes without the signatures, exactly as crates/pcie-sim/src/pio/filter.rs does.
//
// The first four bytes of a message state its length; it ends at the first signature after that many bytes. A message that
// contains a signature earlier would end too soon for a filter of signatures alone: it is marked as not intact.
//
// Queues take turns, buffer by buffer. A buffer is complete once all its words have arrived or, with `stuffed` unset, those
// that the message still needs.
module message_filter #(
    parameter QUEUES = 4,
    parameter QUEUE_WIDTH = $clog2(QUEUES)
) (
    input  wire logic clk,
    input  wire logic rst,
    input  wire logic stuffed,

    output logic [QUEUE_WIDTH-1:0] look_queue,
    input  wire logic [7:0] look_words,
    input  wire logic [511:0] look_data,
    // Gives the first buffer of a queue back.
    output logic take,
    output logic [QUEUE_WIDTH-1:0] taken_queue,

    output logic part_valid,
    input  wire logic part_ready,
    output logic [QUEUE_WIDTH-1:0] part_queue,
    output logic [511:0] part_data,
    // Bytes of the message in this part: 0 to 64.
    output logic [6:0] part_bytes,
    output logic part_first,
    output logic part_last,
    // With the last part: the stated length, and whether the first signature ends the message.
    output logic [31:0] part_length,
    output logic part_intact
);
    localparam logic [63:0] SIGNATURE = 64'hDEAD_BEEF_CAFE_BEEF;

    // A message that has begun: words to come, with the first signature; bytes to come; the stated length.
    typedef struct packed {
        logic begun;
        logic ended;
        logic [29:0] words;
        logic [31:0] bytes;
        logic [31:0] length;
    } message_t;

    message_t [QUEUES-1:0] messages;
    message_t held, message, next;
    // A visit of a queue: look up its first buffer; compare its words, which come a clock later; decide. A queue whose
    // buffer is empty takes a clock.
    typedef enum logic [1:0] {LOOK, COMPARE, DECIDE} step_t;
    step_t step;
    logic free, take_now, is_stale;
    // `more`: words of the message follow this one.
    logic [7:0] shown_words, signatures, held_more, stated_more, more, needed;
    logic [63:0] stated_bytes;
    logic [QUEUE_WIDTH-1:0] queue;
    logic is_long, whole, early, is_signed, part_early, part_signed;

    always_comb begin
        message = held;
        if (!held.begun) begin
            message.length = look_data[31:0];
            message.bytes = look_data[31:0];
        end
        // A message of n bytes has as many words as hold n bytes, and a signature.
        stated_bytes = ~({64{1'b1}} << look_data[5:0]);
        for (int word = 0; word < 8; word++) more[word] = held.begun ? held_more[word] : is_long || stated_more[word];
        needed = stuffed ? '1 : {more[6:0], 1'b1};
        whole = (shown_words & needed) == needed;
        early = (held.begun && held.ended) || (signatures & more) != '0;
        is_signed = (signatures & {more[6:0], 1'b1} & ~more) != '0;
    end

    assign look_queue = queue;
    assign free = !part_valid || part_ready;
    assign take_now = part_valid && part_ready;
    // The first buffer of the queue is on offer, or is given back in this clock.
    assign is_stale = (part_valid && part_queue == queue) || (take && taken_queue == queue);
    assign part_intact = !part_early && part_signed;

    always_ff @(posedge clk) begin
        unique case (step)
            LOOK: begin
                // Words that arrive later do not belong to this visit.
                shown_words <= look_words;
                held <= messages[queue];
                for (int word = 0; word < 8; word++) held_more[word] <= 30'(word) + 30'd1 < messages[queue].words;
                if (look_words == '0) queue <= queue + 1'b1;
                else if (!is_stale) step <= COMPARE;
            end
            COMPARE: begin
                is_long <= look_data[31:6] != '0;
                for (int word = 0; word < 8; word++) begin
                    stated_more[word] <= stated_bytes[8*word];
                    signatures[word] <= look_data[64*word +: 64] == SIGNATURE;
                end
                step <= DECIDE;
            end
            DECIDE: if (free || !whole) begin
                queue <= queue + 1'b1;
                step <= LOOK;
            end
            default: step <= LOOK;
        endcase

        // The part on offer; its queue goes on when it is taken.
        if (free) begin
            part_valid <= step == DECIDE && whole;
            part_queue <= queue;
            part_data <= look_data;
            part_bytes <= message.bytes > 32'd64 ? 7'd64 : 7'(message.bytes);
            part_first <= !held.begun;
            part_last <= !more[7];
            part_length <= message.length;
            part_early <= early;
            part_signed <= is_signed;
            next.begun <= more[7];
            next.ended <= early;
            next.words <= held.begun ? message.words - 30'd8 : 30'((look_data[31:0] - 32'd49) >> 3);
            next.bytes <= message.bytes > 32'd64 ? message.bytes - 32'd64 : '0;
            next.length <= message.length;
        end
        if (take_now) messages[part_queue] <= next;
        take <= take_now;
        taken_queue <= part_queue;
        if (rst) begin
            step <= LOOK;
            {part_valid, take} <= '0;
            queue <= '0;
            for (int n = 0; n < QUEUES; n++) messages[n].begun <= 1'b0;
        end
    end
endmodule

`default_nettype wire
