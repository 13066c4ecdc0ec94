// Follows the reads in flight: takes completions in any order of tags, cut anywhere the specification allows, and signals
// when a request and when a whole transfer is answered. Each completion gives at most one fault, in the clock of its last
// beat. The tag of a completion that does not fit its request is retired, because more may still arrive for it, and so is
// a tag that times out. Retired tags stay retired until the core is reset.
//
// A completion that ends with an error status ends its request, as the specification says.
module completion_tracker #(
    parameter DATA_WIDTH = 256,
    parameter TAGS = 64,
    parameter ID_WIDTH = $clog2(TAGS)
) (
    input  logic clk,
    input  logic rst,
    // Rises TAGS clocks after a reset, before the first request.
    output logic ready,
    input  logic [31:0] timeout,

    input  logic issue,
    input  logic [ID_WIDTH-1:0] issue_tag,
    input  logic [ID_WIDTH-1:0] issue_slot,
    input  logic [5:0] issue_parts,
    input  logic [pcielab_pkg::OFFSET_WIDTH-1:0] issue_offset,
    input  logic [pcielab_pkg::LENGTH_WIDTH-1:0] issue_length,

    completion_stream.sink rx,

    output logic free_tag,
    output logic [ID_WIDTH-1:0] freed_tag,
    output logic free_slot,
    output logic [ID_WIDTH-1:0] freed_slot,
    // A transfer is answered whole; in the clock of the last beat.
    output logic transfer_done,
    // Space of the hard block that a completion's last beat frees: see completion_budget.sv.
    output logic space_freed,
    output logic space_freed_first,
    output logic [6:0] space_freed_address,
    output logic [pcielab_pkg::LENGTH_WIDTH-1:0] space_freed_bytes,
    // Payload bytes that the beat ends.
    output logic [pcielab_pkg::LENGTH_WIDTH-1:0] received_bytes,
    // Expected data of the current beat.
    output logic [pcielab_pkg::OFFSET_WIDTH-1:0] expected_offset,
    output logic expected_data,
    output logic [pcielab_pkg::LENGTH_WIDTH-1:0] expected_bytes,

    output logic fault,
    output registers_pkg::result_t fault_kind,
    output logic timed_out,
    // Only retired tags are in flight.
    output logic quiet,
    output logic [ID_WIDTH:0] retired_count
);
    import pcielab_pkg::*;
    import registers_pkg::*;

    localparam LANES = DATA_WIDTH / 32;

    typedef struct packed {
        logic [ID_WIDTH-1:0] slot;
        logic [5:0] parts;
        logic [OFFSET_WIDTH-1:0] offset;
        logic [LENGTH_WIDTH-1:0] length;
    } request_t;

    logic [TAGS-1:0] in_flight, retired;
    logic [ID_WIDTH:0] open_count;

    // ---- fields of a completion, held from its first beat on
    logic [ID_WIDTH-1:0] tag, held_tag;
    logic known, held_known;
    logic [10:0] dwords_left, held_dwords_left;
    logic is_error, held_is_error, poisoned, held_poisoned, malformed, held_malformed;
    logic [LENGTH_WIDTH-1:0] payload, held_payload;

    request_t request;
    logic [LENGTH_WIDTH-1:0] received;
    logic [LENGTH_WIDTH-1:0] remaining, carried;
    logic [6:0] lower_address;
    logic is_last_completion, header_malformed, beat_malformed;
    logic ends, request_done, retire_now;

    // ---- the initial sweep, and time-outs
    logic sweeping;
    logic [ID_WIDTH-1:0] sweep;
    logic [ID_WIDTH-1:0] looked_at;
    logic [31:0] clock, issued_at;

    lookup #(.WIDTH($bits(request_t)), .DEPTH(TAGS)) requests (
        .clk, .write(issue), .write_address(issue_tag),
        .write_data({issue_slot, issue_parts, issue_offset, issue_length}),
        .read_address(tag), .read_data(request)
    );
    // Bytes that each request has received; zero again once it is answered.
    lookup #(.WIDTH(LENGTH_WIDTH), .DEPTH(TAGS)) progress (
        .clk, .write(sweeping || ends), .write_address(sweeping ? sweep : tag),
        .write_data(sweeping || request_done ? '0 : received + payload),
        .read_address(tag), .read_data(received)
    );
    // Requests of each transfer that have been answered.
    logic [5:0] answered;
    lookup #(.WIDTH(6), .DEPTH(TAGS)) answered_parts (
        .clk, .write(sweeping || request_done), .write_address(sweeping ? sweep : request.slot),
        .write_data(sweeping || free_slot ? '0 : answered + 1'b1),
        .read_address(request.slot), .read_data(answered)
    );
    // Clock at which each tag was issued.
    lookup #(.WIDTH(32), .DEPTH(TAGS)) issue_clocks (
        .clk, .write(issue), .write_address(issue_tag), .write_data(clock),
        .read_address(looked_at), .read_data(issued_at)
    );

    // ---- the header against the request
    assign tag = rx.sop ? rx.header.tag[ID_WIDTH-1:0] : held_tag;
    assign remaining = request.length - received;
    assign lower_address = 7'(request.offset[6:0] + received[6:0]);
    // Bytes of the completion's double words from its lower address on.
    assign carried = LENGTH_WIDTH'({rx.header.dwords, 2'b00}) - LENGTH_WIDTH'(rx.header.lower_address[1:0]);
    assign is_last_completion = rx.header.byte_count <= carried;
    assign header_malformed = rx.header.byte_count != remaining
        || rx.header.lower_address != lower_address
        || rx.header.dwords == '0
        || (is_last_completion
            ? rx.header.dwords != dwords_of(rx.header.lower_address[1:0], rx.header.byte_count)
            // All but the last end at a read completion boundary; the smallest is 64 bytes.
            : 6'(rx.header.lower_address[5:0] + carried[5:0]) != '0);

    assign known = rx.sop
        ? (TAGS == 2 ** TAG_WIDTH || rx.header.tag < TAG_WIDTH'(TAGS)) && in_flight[tag] && !retired[tag]
        : held_known;
    assign is_error = rx.sop ? rx.header.status != 3'b000 : held_is_error;
    assign poisoned = rx.poisoned || (!rx.sop && held_poisoned);
    assign dwords_left = rx.sop ? rx.header.dwords : held_dwords_left;
    assign payload = rx.sop ? (is_last_completion ? rx.header.byte_count : carried) : held_payload;
    assign beat_malformed = (dwords_left <= 11'(LANES)) != rx.eop && !is_error;
    assign malformed = (rx.sop ? header_malformed && !is_error : held_malformed) || beat_malformed;

    // ---- consequences
    assign ends = rx.valid && rx.eop && known;
    assign request_done = ends && !malformed && (is_error || received + payload == request.length);
    assign retire_now = ends && malformed;
    assign free_tag = request_done;
    assign freed_tag = tag;
    assign free_slot = request_done && answered + 1'b1 == request.parts;
    assign freed_slot = request.slot;
    assign transfer_done = free_slot;
    assign received_bytes = ends && !malformed && !is_error ? payload : '0;
    // Nothing follows an error status.
    assign space_freed = ends && !malformed;
    assign space_freed_first = received == '0;
    assign space_freed_address = lower_address;
    assign space_freed_bytes = is_error ? remaining : payload;

    assign fault = rx.valid && rx.eop && (!known || malformed || is_error || poisoned);
    assign fault_kind = !known ? UNKNOWN_TAG : malformed ? WRONG_LENGTH : is_error ? ERROR_STATUS : POISONED;

    // ---- the expected data: later beats continue at the held offset
    logic [OFFSET_WIDTH-1:0] held_offset;
    logic [LENGTH_WIDTH-1:0] held_bytes;
    assign expected_offset = rx.sop ? request.offset + OFFSET_WIDTH'(received) : held_offset;
    assign expected_bytes = rx.sop ? payload : held_bytes;
    assign expected_data = rx.valid && known && !is_error && !malformed && !poisoned;

    // ---- time-outs: one tag is checked each clock
    assign timed_out = in_flight[looked_at] && !retired[looked_at] && !sweeping
        && !(rx.valid && tag == looked_at) && !(issue && issue_tag == looked_at)
        && clock - issued_at > timeout;

    assign quiet = open_count == '0;
    assign ready = !sweeping;

    always_ff @(posedge clk) begin
        clock <= clock + 1'b1;
        looked_at <= looked_at + 1'b1;
        // The rest of a completion whose tag times out between two beats is unknown: it was counted.
        if (timed_out && looked_at == held_tag) held_known <= 1'b0;
        if (rx.valid) begin
            held_tag <= tag;
            held_known <= known;
            held_is_error <= is_error;
            held_poisoned <= poisoned;
            held_malformed <= malformed;
            held_dwords_left <= dwords_left - 11'(LANES);
            held_payload <= payload;
            // Later beats start at a whole double word.
            held_offset <= {expected_offset[OFFSET_WIDTH-1:2], 2'b00} + OFFSET_WIDTH'(LANES * 4);
            held_bytes <= expected_bytes - LENGTH_WIDTH'(LANES * 4) + LENGTH_WIDTH'(expected_offset[1:0]);
        end
        if (issue) in_flight[issue_tag] <= 1'b1;
        if (request_done) in_flight[tag] <= 1'b0;
        if (retire_now) retired[tag] <= 1'b1;
        if (timed_out) retired[looked_at] <= 1'b1;
        retired_count <= retired_count + (ID_WIDTH + 1)'(retire_now) + (ID_WIDTH + 1)'(timed_out);
        open_count <= open_count + (ID_WIDTH + 1)'(issue) - (ID_WIDTH + 1)'(request_done)
            - (ID_WIDTH + 1)'(retire_now) - (ID_WIDTH + 1)'(timed_out);
        sweep <= sweeping ? sweep + 1'b1 : '0;
        if (&sweep) sweeping <= 1'b0;
        if (rst) begin
            {clock, looked_at, in_flight, retired, retired_count, open_count, sweep} <= '0;
            sweeping <= 1'b1;
        end
    end
endmodule
