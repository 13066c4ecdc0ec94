// Widths and codes that the modules of the core share.
//
// Codes that software sees are described in rtl/registers.rdl; the test bench of the register file holds them to that.
package pcielab_pkg;
    // A buffer has at most 1,024 pieces of 4 GiB.
    localparam int OFFSET_WIDTH = 42;
    // Transfers have 1 to 4,096 bytes.
    localparam int LENGTH_WIDTH = 13;
    // Units of a window.
    localparam int UNIT_WIDTH = 26;
    // Places of the list that a test replays: 2^20.
    localparam int PLACE_WIDTH = 20;
    localparam int PIECE_INDEX_WIDTH = 10;
    // Tags on the wire; a core uses the lowest TAGS of them.
    localparam int TAG_WIDTH = 8;
    localparam int CLOCKS_WIDTH = 48;

    typedef enum logic [2:0] {
        LAT_RD = 3'd0,
        LAT_WRRD = 3'd1,
        BW_RD = 3'd2,
        BW_WR = 3'd3,
        BW_RDWR = 3'd4
    } operation_t;

    typedef enum logic [1:0] {
        FIXED = 2'd0,
        SEQUENTIAL = 2'd1,
        STRIDED = 2'd2,
        RANDOM = 2'd3
    } pattern_t;

    typedef enum logic [2:0] {
        IDLE = 3'd0,
        PREPARE = 3'd1,
        RUN = 3'd2,
        DRAIN = 3'd3
    } state_t;

    typedef enum logic [3:0] {
        NONE = 4'd0,
        COMPLETE = 4'd1,
        STOPPED = 4'd2,
        BAD_PARAMETER = 4'd3,
        ERROR_STATUS = 4'd4,
        POISONED = 4'd5,
        WRONG_LENGTH = 4'd6,
        UNKNOWN_TAG = 4'd7,
        TIMED_OUT = 4'd8,
        DATA_MISMATCH = 4'd9,
        BUS_MASTER_OFF = 4'd10,
        OUT_OF_BUFFER = 4'd11
    } result_t;

    // What the address list of a test is made from; rtl/registers.rdl says what each means.
    typedef struct packed {
        pattern_t pattern;
        logic backwards;
        logic first_twice;
        logic [63:0] key;
        logic [PLACE_WIDTH-1:0] place;
        logic [UNIT_WIDTH-1:0] usable;
        logic [UNIT_WIDTH-1:0] nth;
        logic [UNIT_WIDTH-1:0] nth_wrap;
        logic [UNIT_WIDTH-1:0] step;
        logic all_usable;
        logic [6:0] usable_in_period;
        logic [6:0] period;
        logic [31:0] reciprocal;
        logic [LENGTH_WIDTH-1:0] unit_bytes;
        logic [11:0] host_offset;
        logic [LENGTH_WIDTH-1:0] size;
        logic [10:0] pieces;
        logic [5:0] piece_shift;
    } address_list_t;

    // A transfer, or a part of one that fits a TLP.
    typedef struct packed {
        logic write;
        logic [63:0] address;
        // Place in the host buffer: what data are there follows from it.
        logic [OFFSET_WIDTH-1:0] offset;
        logic [LENGTH_WIDTH-1:0] length;
    } transfer_t;

    // A request on its way out: a read, or a write whose data follow.
    typedef struct packed {
        logic write;
        // Of the first double word.
        logic [63:0] address;
        logic [10:0] dwords;
        logic [3:0] first_be;
        logic [3:0] last_be;
        logic [TAG_WIDTH-1:0] tag;
    } request_t;

    // What the host wants of the function.
    typedef enum logic [1:0] {
        HOST_READ = 2'd0,
        HOST_WRITE = 2'd1,
        // Something that must be answered, and something that must not.
        HOST_OTHER_READ = 2'd2,
        HOST_OTHER = 2'd3
    } host_kind_t;

    // Whom an answer goes to, and what it must repeat.
    typedef struct packed {
        logic [15:0] id;
        logic [7:0] tag;
        logic [2:0] traffic_class;
        logic [2:0] attributes;
    } requester_t;

    typedef struct packed {
        host_kind_t kind;
        logic [2:0] bar;
        logic [63:0] address;
        logic [10:0] dwords;
        logic [3:0] first_be;
        logic [3:0] last_be;
        requester_t requester;
    } host_request_t;

    // An answer has at most two double words.
    typedef struct packed {
        requester_t requester;
        logic [2:0] status;
        logic [12:0] byte_count;
        logic [6:0] lower_address;
        logic [1:0] dwords;
        logic [63:0] data;
    } host_answer_t;

    // The double word that stands at an offset of the buffer, wherever the core has written there.
    function automatic logic [31:0] pattern_at(logic [OFFSET_WIDTH-1:0] offset, logic [31:0] key);
        return {offset[31:2], 2'b00} ^ key;
    endfunction

    // Double words that a stretch of bytes touches.
    function automatic logic [10:0] dwords_of(logic [1:0] lead, logic [LENGTH_WIDTH-1:0] length);
        return 11'((14'(length) + 14'(lead) + 14'd3) >> 2);
    endfunction

    // Byte enables of the first double word of a stretch, if there are more behind it.
    function automatic logic [3:0] enables_from(logic [1:0] first);
        return 4'(4'b1111 << first);
    endfunction

    // Byte enables of the last double word of a stretch, given the place of its last byte.
    function automatic logic [3:0] enables_to(logic [1:0] last);
        return 4'(4'b1111 >> (2'd3 - last));
    endfunction
endpackage
