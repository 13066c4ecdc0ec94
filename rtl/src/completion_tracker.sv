// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Follows the reads in flight: takes completions in any order of tags, cut anywhere the specification allows, and signals
// when a request and when a whole transfer is answered. Each completion gives at most one fault, with its last beat. The tag of a completion that does not fit its request is retired, because more may still arrive for it, and so is
// a tag that times out. Retired tags stay retired until the core is reset.
//
// A completion that ends with an error status ends its request, as the specification says.
//
// A beat passes three registers: its header with its request, its checks, and the results. Tags return, and the expected
// data come, two clocks after the beat; slots and results come after RESULT_CLOCKS.
module completion_tracker #(
    parameter DATA_WIDTH = 256,
    parameter TAGS = 64,
    parameter ID_WIDTH = $clog2(TAGS),
    parameter RESULT_CLOCKS = 3
) (
    input  wire logic clk,
    input  wire logic rst,
    // Rises TAGS clocks after a reset, before the first request.
    output logic ready,
    input  wire logic [31:0] timeout,
    // Tags have 10 bits.
    input  wire logic ten_bit_tags,

    // A request leaves in the next clock, and is answered later.
    input  wire logic issue,
    input  wire logic [ID_WIDTH-1:0] issue_tag,
    input  wire logic [ID_WIDTH-1:0] issue_slot,
    input  wire logic [5:0] issue_parts,
    input  wire logic [pcielab_pkg::OFFSET_WIDTH-1:0] issue_offset,
    input  wire logic [pcielab_pkg::LENGTH_WIDTH-1:0] issue_length,

    completion_stream.sink rx,

    // Two clocks after the last beat of a completion.
    output logic free_tag,
    output logic [ID_WIDTH-1:0] freed_tag,
    // RESULT_CLOCKS after the last beat of a transfer.
    output logic free_slot,
    output logic [ID_WIDTH-1:0] freed_slot,
    // A transfer is answered whole; RESULT_CLOCKS after the last beat.
    output logic transfer_done,
    // Space of the hard block that a completion's last beat frees, two clocks after it: see completion_budget.sv.
    output logic space_freed,
    output logic space_freed_first,
    output logic [6:0] space_freed_address,
    output logic [pcielab_pkg::LENGTH_WIDTH-1:0] space_freed_bytes,
    // Payload bytes of the completion that ends; RESULT_CLOCKS after its last beat.
    output logic [pcielab_pkg::LENGTH_WIDTH-1:0] received_bytes,
    // A beat and its expected data, two clocks after it was taken.
    output logic [DATA_WIDTH-1:0] beat_data,
    output logic [pcielab_pkg::OFFSET_WIDTH-1:0] expected_offset,
    output logic expected_data,
    output logic [pcielab_pkg::LENGTH_WIDTH-1:0] expected_bytes,

    // RESULT_CLOCKS after the last beat.
    output logic fault,
    output registers_pkg::result_t fault_kind,
    output logic timed_out,
    // Only retired tags are in flight, except for one that was issued in the clock before.
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

    // Tags in flight, without those that are retired.
    logic [TAGS-1:0] open;
    logic [ID_WIDTH:0] open_count;

    // ---- the initial sweep
    logic sweeping;
    logic [ID_WIDTH-1:0] sweep;

    // ---- first clock: a header, with its request; held until the next header
    logic [ID_WIDTH-1:0] tag, tag_1;
    logic is_open, in_range, known_1, load;
    request_t request, request_1;
    logic [LENGTH_WIDTH-1:0] carried, carried_1, payload, payload_1;
    logic [12:0] byte_count_1;
    logic [6:0] lower_address_1;
    logic has_no_data_1, is_last_completion, is_last_1, is_error, is_error_1, still_open, still_known;
    // Of each beat; a completion stays poisoned, and malformed by its number of beats.
    logic valid_1, sop_1, eop_1, poisoned_1, beats_malformed, beats_malformed_1;
    logic [10:0] dwords_left, dwords_left_1;
    logic [DATA_WIDTH-1:0] data_1;

    // ---- second clock: against the request
    // Bytes that the request lacks, and that it has already according to the completion.
    logic begun;
    logic [LENGTH_WIDTH-1:0] remaining, received;
    logic [6:0] lower_address;
    logic contradicts_itself, contradicts_itself_2, wrong_count_2, wrong_address_2;
    logic known_2, valid_2, last_beat_2, poisoned_2, beats_malformed_2, completes_2, is_error_2;
    logic first_2;
    logic [6:0] address_2;
    logic [LENGTH_WIDTH-1:0] remaining_2;
    logic [ID_WIDTH-1:0] tag_2, slot_2;
    logic [5:0] last_part_2;
    logic [LENGTH_WIDTH-1:0] payload_2;

    // ---- third clock: consequences
    logic malformed, ends, request_done, retire_now, closes, transfer_ends, closed_before;
    logic [ID_WIDTH-1:0] tag_before;
    logic [5:0] answered;

    // ---- time-outs: one tag is checked each clock
    logic [ID_WIDTH-1:0] looked_at, looked_2, looked_3, looked_4;
    logic [31:0] clock, issued_at, age_2;
    logic open_2, answered_2, silent_3, overdue_3, times_out;

    lookup #(.WIDTH($bits(request_t)), .DEPTH(TAGS)) requests (
        .clk, .write(issue), .write_address(issue_tag),
        .write_data({issue_slot, issue_parts, issue_offset, issue_length}),
        .read_address(tag), .read_data(request)
    );
    // Whether a request has an answer already, and the bytes that it then lacks; all zero after its last completion. Whether
    // the tag is still open shows late, and only in what is written.
    logic [LENGTH_WIDTH:0] progress_made;
    assign progress_made = is_last_1 || is_error_1 ? '0 : {1'b1, byte_count_1 - payload_1};
    lookup #(.WIDTH(LENGTH_WIDTH + 1), .DEPTH(TAGS)) progress (
        .clk, .write(sweeping || (valid_1 && eop_1)), .write_address(sweeping ? sweep : tag_1),
        .write_data(sweeping ? '0 : still_open ? progress_made : {begun, remaining}),
        .read_address(tag_1), .read_data({begun, remaining})
    );
    // Requests of each transfer that have been answered. Whether this one is shows late, too.
    lookup #(.WIDTH(6), .DEPTH(TAGS)) answered_parts (
        .clk, .write(sweeping || ends), .write_address(sweeping ? sweep : slot_2),
        .write_data(sweeping || (request_done && transfer_ends) ? '0 : answered + 6'(request_done)),
        .read_address(slot_2), .read_data(answered)
    );
    // Clock at which each tag was issued.
    lookup #(.WIDTH(32), .DEPTH(TAGS)) issue_clocks (
        .clk, .write(issue), .write_address(issue_tag), .write_data(clock),
        .read_address(looked_at), .read_data(issued_at)
    );

    assign load = rx.valid && rx.sop;
    logic [TAG_WIDTH-1:0] number;
    if (TAGS > FIRST_TEN_BIT_TAG) begin : wide
        // Tags from 256 on are those of the numbers from 0 on; others turn into numbers beyond 512.
        assign number = ten_bit_tags ? {!(^rx.header.tag[9:8]), rx.header.tag[9], rx.header.tag[7:0]} : rx.header.tag;
    end else begin : narrow
        assign number = rx.header.tag;
    end
    assign tag = number[ID_WIDTH-1:0];
    assign in_range = number < TAG_WIDTH'(TAGS);
    // A time-out may close the tag in this clock; so may a completion ahead, which `still_known` looks at a clock later.
    assign is_open = open[tag] && !(timed_out && looked_4 == tag);
    // Bytes of the completion's double words from its lower address on.
    assign carried = LENGTH_WIDTH'({rx.header.dwords, 2'b00}) - LENGTH_WIDTH'(rx.header.lower_address[1:0]);
    assign is_last_completion = rx.header.byte_count <= carried;
    assign payload = is_last_completion ? rx.header.byte_count : carried;
    assign is_error = rx.sop ? rx.header.status != 3'b000 : is_error_1;
    assign dwords_left = rx.sop ? rx.header.dwords : dwords_left_1;
    assign beats_malformed = ((dwords_left <= 11'(LANES)) != rx.eop && !is_error) || (!rx.sop && beats_malformed_1);

    // `malformed` is late; what follows it on its tag changes nothing that is used, because the tag is retired.
    assign still_open = known_1 && !(ends && completes_2 && tag_2 == tag_1) && !(closed_before && tag_before == tag_1)
        && !(timed_out && looked_4 == tag_1);
    assign still_known = still_open && !(retire_now && tag_2 == tag_1);
    always_ff @(posedge clk) begin
        valid_1 <= rx.valid;
        if (rx.valid) begin
            sop_1 <= rx.sop;
            eop_1 <= rx.eop;
            poisoned_1 <= rx.poisoned || (!rx.sop && poisoned_1);
            is_error_1 <= is_error;
            beats_malformed_1 <= beats_malformed;
            dwords_left_1 <= dwords_left - 11'(LANES);
            data_1 <= rx.data;
        end
        known_1 <= load ? in_range && is_open : still_known;
        if (load) begin
            tag_1 <= tag;
            request_1 <= request;
            payload_1 <= payload;
            byte_count_1 <= rx.header.byte_count;
            lower_address_1 <= rx.header.lower_address;
            is_last_1 <= is_last_completion;
            has_no_data_1 <= rx.header.dwords == '0;
            carried_1 <= carried;
        end
        if (rst) {valid_1, known_1} <= '0;
    end

    assign contradicts_itself = has_no_data_1
        || (is_last_1
            // Less than a double word remains.
            ? LENGTH_WIDTH'(carried_1 - byte_count_1) > LENGTH_WIDTH'(3)
            // All but the last end at a read completion boundary; the smallest is 64 bytes.
            : 6'(lower_address_1[5:0] + payload_1[5:0]) != '0);
    assign received = request_1.length - byte_count_1;
    assign lower_address = 7'(request_1.offset[6:0] + received[6:0]);
    always_ff @(posedge clk) begin
        valid_2 <= valid_1;
        last_beat_2 <= valid_1 && eop_1;
        if (valid_1) begin
            poisoned_2 <= poisoned_1;
            is_error_2 <= is_error_1;
            beats_malformed_2 <= beats_malformed_1;
            known_2 <= still_known;
            tag_2 <= tag_1;
            slot_2 <= request_1.slot;
            last_part_2 <= request_1.parts - 1'b1;
            payload_2 <= payload_1;
            completes_2 <= is_last_1 || is_error_1;
            beat_data <= data_1;
            // Later beats start at a whole double word.
            expected_offset <= sop_1 ? request_1.offset + OFFSET_WIDTH'(received)
                : {expected_offset[OFFSET_WIDTH-1:2], 2'b00} + OFFSET_WIDTH'(LANES * 4);
            expected_bytes <= sop_1 ? payload_1
                : expected_bytes - LENGTH_WIDTH'(LANES * 4) + LENGTH_WIDTH'(expected_offset[1:0]);
        end
        if (valid_1 && sop_1) begin
            contradicts_itself_2 <= contradicts_itself && !is_error_1;
            wrong_address_2 <= lower_address_1 != lower_address && !is_error_1;
            wrong_count_2 <= byte_count_1 != (begun ? remaining : request_1.length) && !is_error_1;
            first_2 <= !begun;
            // An error status may have any byte count.
            address_2 <= 7'(request_1.offset[6:0] + (begun ? 7'(request_1.length - remaining) : '0));
            remaining_2 <= begun ? remaining : request_1.length;
        end
        if (rst) {valid_2, last_beat_2} <= '0;
    end

    assign malformed = contradicts_itself_2 || wrong_address_2 || wrong_count_2 || beats_malformed_2;
    assign expected_data = valid_2 && known_2 && !is_error_2 && !malformed && !poisoned_2;
    assign ends = last_beat_2 && known_2;
    // The last completion of a request that is as it should be carries all bytes that were missing.
    assign request_done = ends && !malformed && completes_2;
    assign retire_now = ends && malformed;
    assign closes = request_done || retire_now;
    assign free_tag = request_done;
    assign freed_tag = tag_2;
    assign transfer_ends = answered == last_part_2;
    assign transfer_done = free_slot;
    // Nothing follows an error status.
    assign space_freed = ends && !malformed;
    assign space_freed_first = first_2;
    assign space_freed_address = address_2;
    assign space_freed_bytes = is_error_2 ? remaining_2 : payload_2;
    always_ff @(posedge clk) begin
        free_slot <= request_done && transfer_ends;
        freed_slot <= slot_2;
        received_bytes <= ends && !malformed && !is_error_2 ? payload_2 : '0;
        fault <= last_beat_2 && (!known_2 || malformed || is_error_2 || poisoned_2);
        fault_kind <= !known_2 ? UNKNOWN_TAG : malformed ? WRONG_LENGTH : is_error_2 ? ERROR_STATUS : POISONED;
        timed_out <= times_out;
        closed_before <= closes;
        tag_before <= tag_2;
        if (rst) {free_slot, received_bytes, fault, timed_out, closed_before} <= '0;
    end

    // Three clocks: the tag's age, whether it is too old, and the time-out, unless a completion is on its way.
    function automatic logic is_answered(logic [ID_WIDTH-1:0] at);
        return (valid_1 && tag_1 == at) || (valid_2 && tag_2 == at);
    endfunction
    assign times_out = silent_3 && overdue_3 && !is_answered(looked_3);
    always_ff @(posedge clk) begin
        looked_at <= looked_at + 1'b1;
        looked_2 <= looked_at;
        age_2 <= clock - issued_at;
        open_2 <= open[looked_at];
        answered_2 <= is_answered(looked_at);
        looked_3 <= looked_2;
        looked_4 <= looked_3;
        overdue_3 <= age_2 > timeout;
        silent_3 <= open_2 && !answered_2 && !is_answered(looked_2);
        if (rst) {looked_at, open_2, silent_3} <= '0;
    end

    // ---- tags in flight
    logic issued;
    logic [ID_WIDTH-1:0] issued_tag;
    logic [1:0] closed;
    assign quiet = open_count == '0;
    assign ready = !sweeping;
    always_ff @(posedge clk) begin
        clock <= clock + 1'b1;
        if (closes) open[tag_2] <= 1'b0;
        if (timed_out) open[looked_4] <= 1'b0;
        // The request itself leaves no earlier.
        issued <= issue;
        issued_tag <= issue_tag;
        if (issued) open[issued_tag] <= 1'b1;
        retired_count <= retired_count + (ID_WIDTH + 1)'(retire_now) + (ID_WIDTH + 1)'(timed_out);
        closed <= 2'(closes) + 2'(timed_out);
        open_count <= open_count + (ID_WIDTH + 1)'(issued) - (ID_WIDTH + 1)'(closed);
        sweep <= sweeping ? sweep + 1'b1 : '0;
        if (&sweep) sweeping <= 1'b0;
        if (rst) begin
            {clock, open, retired_count, open_count, issued, closed, sweep} <= '0;
            sweeping <= 1'b1;
        end
    end

    initial if (RESULT_CLOCKS != 3) $error("results come three clocks after their beat");
endmodule

`default_nettype wire
