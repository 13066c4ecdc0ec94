// SPDX-License-Identifier: Apache-2.0
`default_nettype none

// Widths, headers and functions that the modules of the core share; registers_pkg has the registers.
package pcielab_pkg;
    // A buffer has at most 1,024 pieces of 4 GiB.
    localparam int OFFSET_WIDTH = 42;
    // Transfers have 1 to 4,096 bytes.
    localparam int LENGTH_WIDTH = 13;
    // Units of a window.
    localparam int UNIT_WIDTH = 26;
    // A test replays a list of 2^20 addresses.
    localparam int LIST_INDEX_WIDTH = 20;
    localparam int PIECE_INDEX_WIDTH = 10;
    // Tags on the wire. A core uses TAGS of them: the lowest, or those from FIRST_TEN_BIT_TAG on, because the specification forbids
    // a requester of 10-bit tags those whose upper two bits are 0.
    localparam int TAG_WIDTH = 10;
    localparam int FIRST_TEN_BIT_TAG = 256;
    localparam int CLOCKS_WIDTH = 48;
    // Queues of commands, and commands that each holds.
    localparam int COMMAND_QUEUES = 4;
    localparam int COMMAND_DEPTH = 32;
    localparam int COMMAND_QUEUE_WIDTH = $clog2(COMMAND_QUEUES);
    // Commands have up to 16 MiB less one byte.
    localparam int COMMAND_WIDTH = 24;
    // Addresses of commands are multiples of this, so that a beat of the bus is a beat of the core's memory.
    localparam int COMMAND_ALIGNMENT = 64;

    // A transfer, or a part of one that fits a TLP.
    typedef struct packed {
        logic write;
        logic [63:0] address;
        // Offset in the host buffer, which determines the data.
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
        // The core waits until this write is out: see out_t.
        logic report;
        logic epoch;
    } request_t;

    // Up to two reported writes that are out: no completion of the core can pass them any more. With the epoch of each, because
    // some may be from before a reset.
    typedef struct packed {
        logic [1:0] valid;
        logic [1:0] epoch;
    } out_t;

    // A command: moves bytes from the bus into the core's memory, or, if it writes, out of it.
    typedef struct packed {
        logic write;
        logic notify;
        // As software numbers it.
        logic [15:0] number;
        logic [COMMAND_QUEUE_WIDTH-1:0] queue_number;
        logic [63:0] address;
        logic [COMMAND_WIDTH-1:0] memory;
        logic [COMMAND_WIDTH-1:0] length;
        // Clock at which it entered its queue.
        logic [CLOCKS_WIDTH-1:0] arrived;
    } command_t;

    // A command that is done, for its notice.
    typedef struct packed {
        logic write;
        logic notify;
        logic [15:0] number;
        logic [COMMAND_QUEUE_WIDTH-1:0] queue_number;
        logic [COMMAND_WIDTH-1:0] length;
        logic [CLOCKS_WIDTH-1:0] arrived;
        // Clock at which its executor took it.
        logic [CLOCKS_WIDTH-1:0] started;
    } ended_command_t;

    // The header of a completion.
    typedef struct packed {
        logic [TAG_WIDTH-1:0] tag;
        logic [2:0] status;
        logic [12:0] byte_count;
        logic [6:0] lower_address;
        logic [10:0] dwords;
    } completion_t;

    // Requests of the host. HOST_OTHER_READ needs an answer, HOST_OTHER does not.
    typedef enum logic [1:0] {
        HOST_READ = 2'd0,
        HOST_WRITE = 2'd1,
        HOST_OTHER_READ = 2'd2,
        HOST_OTHER = 2'd3
    } host_kind_t;

    // Fields of a request that its answer repeats.
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

    // The header of an answer, whose beats hold at most 32 double words.
    typedef struct packed {
        requester_t requester;
        logic [2:0] status;
        logic [12:0] byte_count;
        logic [6:0] lower_address;
        logic [5:0] dwords;
    } host_answer_t;

    // What the notice of a command repeats.
    function automatic ended_command_t ended_command(command_t command, logic [CLOCKS_WIDTH-1:0] started);
        return '{
            write: command.write, notify: command.notify, number: command.number, queue_number: command.queue_number,
            length: command.length, arrived: command.arrived, started: started
        };
    endfunction

    // The double word of the data pattern at an offset of the buffer.
    function automatic logic [31:0] pattern_at(logic [OFFSET_WIDTH-1:0] offset, logic [31:0] key);
        return {offset[31:2], 2'b00} ^ key;
    endfunction

    // Number of double words that `length` bytes touch, from byte `lead` of the first one on.
    function automatic logic [10:0] dwords_of(logic [1:0] lead, logic [LENGTH_WIDTH-1:0] length);
        return 11'((14'(length) + 14'(lead) + 14'd3) >> 2);
    endfunction

    // Byte enables of the first of several double words.
    function automatic logic [3:0] enables_from(logic [1:0] first);
        return 4'(4'b1111 << first);
    endfunction

    // Byte enables of the last double word, up to byte `last`.
    function automatic logic [3:0] enables_to(logic [1:0] last);
        return 4'(4'b1111 >> (2'd3 - last));
    endfunction
endpackage

`default_nettype wire
