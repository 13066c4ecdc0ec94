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
    input  logic clk,
    input  logic rst,
    input  logic stuffed,

    output logic [QUEUE_WIDTH-1:0] look_queue,
    input  logic [7:0] look_words,
    input  logic [511:0] look_data,
    output logic take,

    output logic part_valid,
    input  logic part_ready,
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
    message_t message;
    // Data of a buffer come one clock after its look-up.
    logic shown;
    logic [7:0] shown_words, needed, signatures, before_end;
    logic [QUEUE_WIDTH-1:0] queue;
    logic whole, ends_here, early;

    always_comb begin
        message = messages[queue];
        if (!message.begun) begin
            message.ended = 1'b0;
            message.length = look_data[31:0];
            message.bytes = look_data[31:0];
            message.words = 30'((33'(look_data[31:0]) + 33'd7) >> 3) + 30'd1;
        end
        ends_here = message.words <= 30'd8;
        for (int word = 0; word < 8; word++) begin
            signatures[word] = look_data[64*word +: 64] == SIGNATURE;
            before_end[word] = 30'(word) + 30'd1 < message.words;
            needed[word] = stuffed || 30'(word) < message.words;
        end
    end

    assign whole = (shown_words & needed) == needed;
    assign early = message.ended || (signatures & before_end) != '0;

    assign look_queue = queue;
    assign part_valid = shown && whole;
    assign part_queue = queue;
    assign part_data = look_data;
    assign part_bytes = message.bytes > 32'd64 ? 7'd64 : 7'(message.bytes);
    assign part_first = !message.begun;
    assign part_last = ends_here;
    assign part_length = message.length;
    assign part_intact = !early && signatures[3'(message.words - 30'd1)];
    assign take = part_valid && part_ready;

    always_ff @(posedge clk) begin
        // Words that arrive while a part waits do not belong to it: the sampled words stay.
        if (!shown) shown_words <= look_words;
        shown <= !shown || (part_valid && !part_ready);
        if (shown && (take || !part_valid)) queue <= queue + 1'b1;
        if (take) begin
            messages[queue].begun <= !ends_here;
            messages[queue].ended <= early;
            messages[queue].words <= message.words - 30'd8;
            messages[queue].bytes <= message.bytes - 32'(part_bytes);
            messages[queue].length <= message.length;
        end
        if (rst) begin
            shown <= 1'b0;
            queue <= '0;
            for (int n = 0; n < QUEUES; n++) messages[n].begun <= 1'b0;
        end
    end
endmodule
