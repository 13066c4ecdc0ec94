//! Registers of the FPGA core. Made by rtl/generate_registers.py from rtl/registers.rdl.

/// Identity.
pub const ID: u32 = 0x0;
/// Version.
pub const VERSION: u32 = 0x4;
pub const VERSION_MINOR_SHIFT: u32 = 0x0;
pub const VERSION_MINOR_MASK: u32 = 0xffff;
pub const VERSION_MAJOR_SHIFT: u32 = 0x10;
pub const VERSION_MAJOR_MASK: u32 = 0xffff;
/// Parameters of the build.
pub const PARAMETERS: u32 = 0x8;
pub const PARAMETERS_DATA_BYTES_SHIFT: u32 = 0x0;
pub const PARAMETERS_DATA_BYTES_MASK: u32 = 0xff;
pub const PARAMETERS_TAGS_SHIFT: u32 = 0x8;
pub const PARAMETERS_TAGS_MASK: u32 = 0x3ff;
pub const PARAMETERS_RECORDS_LOG2_SHIFT: u32 = 0x14;
pub const PARAMETERS_RECORDS_LOG2_MASK: u32 = 0x1f;
/// Length of a clock, ps.
pub const CLOCK_PS: u32 = 0xc;
/// Control. Writing a 1 triggers the action; reads as 0.
pub const CONTROL: u32 = 0x10;
pub const CONTROL_START_SHIFT: u32 = 0x0;
pub const CONTROL_START_MASK: u32 = 0x1;
pub const CONTROL_STOP_SHIFT: u32 = 0x1;
pub const CONTROL_STOP_MASK: u32 = 0x1;
pub const CONTROL_RESET_SHIFT: u32 = 0x2;
pub const CONTROL_RESET_MASK: u32 = 0x1;
pub const CONTROL_LATCH_SHIFT: u32 = 0x3;
pub const CONTROL_LATCH_MASK: u32 = 0x1;
/// Status.
pub const STATUS: u32 = 0x14;
pub const STATUS_STATE_SHIFT: u32 = 0x0;
pub const STATUS_STATE_MASK: u32 = 0x7;
pub const STATUS_RESULT_SHIFT: u32 = 0x4;
pub const STATUS_RESULT_MASK: u32 = 0xf;
/// Link.
pub const LINK: u32 = 0x18;
pub const LINK_MAX_PAYLOAD_SHIFT: u32 = 0x0;
pub const LINK_MAX_PAYLOAD_MASK: u32 = 0x7;
pub const LINK_MAX_READ_REQUEST_SHIFT: u32 = 0x4;
pub const LINK_MAX_READ_REQUEST_MASK: u32 = 0x7;
pub const LINK_BUS_MASTER_SHIFT: u32 = 0x8;
pub const LINK_BUS_MASTER_MASK: u32 = 0x1;
/// Completion time-out, clocks. At least 1.
pub const TIMEOUT: u32 = 0x1c;
/// Operation of the test.
pub const OPERATION: u32 = 0x20;
pub const OPERATION_OPERATION_SHIFT: u32 = 0x0;
pub const OPERATION_OPERATION_MASK: u32 = 0x7;
pub const OPERATION_PATTERN_SHIFT: u32 = 0x4;
pub const OPERATION_PATTERN_MASK: u32 = 0x3;
pub const OPERATION_BACKWARDS_SHIFT: u32 = 0x8;
pub const OPERATION_BACKWARDS_MASK: u32 = 0x1;
pub const OPERATION_FIRST_TWICE_SHIFT: u32 = 0x9;
pub const OPERATION_FIRST_TWICE_MASK: u32 = 0x1;
pub const OPERATION_FIRST_WRITES_SHIFT: u32 = 0xa;
pub const OPERATION_FIRST_WRITES_MASK: u32 = 0x1;
pub const OPERATION_CHECK_DATA_SHIFT: u32 = 0xb;
pub const OPERATION_CHECK_DATA_MASK: u32 = 0x1;
/// Bytes of a transfer. 1 to 4,096.
pub const SIZE: u32 = 0x24;
/// Transactions. At least 1.
pub const COUNT: u32 = 0x28;
/// Most transactions in flight that read. 1 to PARAMETERS.tags. A transaction longer than MRRS needs a tag for each of its requests.
pub const OUTSTANDING: u32 = 0x2c;
/// Key of the draws, lower half.
pub const KEY_LO: u32 = 0x30;
/// Key of the draws, upper half.
pub const KEY_HI: u32 = 0x34;
/// List index of the first transaction.
pub const LIST_INDEX: u32 = 0x38;
/// Usable units. At least 1.
pub const USABLE: u32 = 0x3c;
/// Usable unit of the first transaction. For sequential and strided patterns: LIST_INDEX * stride modulo USABLE.
pub const NTH: u32 = 0x40;
/// Usable unit where a replay of the list starts. For sequential and strided patterns.
pub const NTH_WRAP: u32 = 0x44;
/// Units from one transaction to the next. For sequential and strided patterns: the stride modulo USABLE.
pub const STEP: u32 = 0x48;
/// Period of the usable units.
pub const PERIOD: u32 = 0x4c;
pub const PERIOD_USABLE_SHIFT: u32 = 0x0;
pub const PERIOD_USABLE_MASK: u32 = 0x7f;
pub const PERIOD_LENGTH_SHIFT: u32 = 0x8;
pub const PERIOD_LENGTH_MASK: u32 = 0x7f;
pub const PERIOD_ALL_USABLE_SHIFT: u32 = 0x10;
pub const PERIOD_ALL_USABLE_MASK: u32 = 0x1;
/// 2^31 / PERIOD.usable, rounded up.
pub const RECIPROCAL: u32 = 0x50;
/// Bytes of a unit. At least 1.
pub const UNIT_BYTES: u32 = 0x54;
/// Offset of a transfer in its unit, bytes.
pub const HOST_OFFSET: u32 = 0x58;
/// Pieces of the host buffer.
pub const PIECES: u32 = 0x5c;
pub const PIECES_COUNT_SHIFT: u32 = 0x0;
pub const PIECES_COUNT_MASK: u32 = 0x7ff;
pub const PIECES_BYTES_LOG2_SHIFT: u32 = 0x10;
pub const PIECES_BYTES_LOG2_MASK: u32 = 0x3f;
/// Data key. The pattern: the double word at offset o of the host buffer is o exclusive-or this key.
pub const DATA_KEY: u32 = 0x60;
/// Width of a bin of the histogram. 2 to this power clocks.
pub const BIN_SHIFT: u32 = 0x64;
/// Tags in use. Requests use the tags below this number, at most PARAMETERS.tags, from the next test on. Set 32 on a host that does not enable extended tags. A core that reads the device control register uses no more than that allows, whatever this number is. 0: all that it allows, or 32 in a core that does not read it. More than 256 need 10-bit tags: enable them in the device control 2 register first.
pub const LINK_TAGS: u32 = 0x68;
/// Transactions done. CONTROL.latch and the end of a test latch this register and the next six.
pub const TRANSACTIONS: u32 = 0x80;
/// Clocks, lower half. From the clock that takes the first beat of the first request to the clock of the last beat of the last completion or write.
pub const ELAPSED_LO: u32 = 0x88;
/// Clocks, upper half.
pub const ELAPSED_HI: u32 = 0x8c;
/// Bytes read, lower half.
pub const BYTES_READ_LO: u32 = 0x90;
/// Bytes read, upper half.
pub const BYTES_READ_HI: u32 = 0x94;
/// Bytes written, lower half.
pub const BYTES_WRITTEN_LO: u32 = 0x98;
/// Bytes written, upper half.
pub const BYTES_WRITTEN_HI: u32 = 0x9c;
/// Latencies recorded. This register and the next four belong to the running or the last test.
pub const SAMPLES: u32 = 0xa0;
/// Smallest latency, clocks.
pub const LATENCY_MIN: u32 = 0xa4;
/// Largest latency, clocks.
pub const LATENCY_MAX: u32 = 0xa8;
/// Sum of the latencies, clocks, lower half.
pub const LATENCY_SUM_LO: u32 = 0xb0;
/// Sum of the latencies, clocks, upper half.
pub const LATENCY_SUM_HI: u32 = 0xb4;
/// Completions with an error status. This register and the next six count from the last reset.
pub const ERROR_STATUS_COUNT: u32 = 0xc0;
/// Poisoned completions.
pub const POISONED_COUNT: u32 = 0xc4;
/// Completions that did not fit their request.
pub const WRONG_LENGTH_COUNT: u32 = 0xc8;
/// Completions for tags that are not in flight.
pub const UNKNOWN_TAG_COUNT: u32 = 0xcc;
/// Requests not answered in time.
pub const TIMED_OUT_COUNT: u32 = 0xd0;
/// Beats with wrong data.
pub const DATA_MISMATCH_COUNT: u32 = 0xd4;
/// Retired tags. Their requests timed out or got a wrong answer. No test starts until a reset frees them.
pub const RETIRED_TAGS: u32 = 0xd8;
/// Messages by write-combining stores.
pub const MESSAGES: u32 = 0x100;
pub const MESSAGES_ENABLE_SHIFT: u32 = 0x0;
pub const MESSAGES_ENABLE_MASK: u32 = 0x1;
pub const MESSAGES_STUFFED_SHIFT: u32 = 0x1;
pub const MESSAGES_STUFFED_MASK: u32 = 0x1;
/// Queues for messages. A queue has a window of twice its bytes in BAR 2; that of queue q starts at q times the window's size.
pub const MESSAGE_QUEUES: u32 = 0x104;
pub const MESSAGE_QUEUES_COUNT_SHIFT: u32 = 0x0;
pub const MESSAGE_QUEUES_COUNT_MASK: u32 = 0xff;
pub const MESSAGE_QUEUES_BYTES_LOG2_SHIFT: u32 = 0x8;
pub const MESSAGE_QUEUES_BYTES_LOG2_MASK: u32 = 0xff;
/// Rings for messages in host memory.
pub const MESSAGE_RINGS: u32 = 0x108;
pub const MESSAGE_RINGS_DATA_LOG2_SHIFT: u32 = 0x0;
pub const MESSAGE_RINGS_DATA_LOG2_MASK: u32 = 0x1f;
pub const MESSAGE_RINGS_RECORDS_LOG2_SHIFT: u32 = 0x8;
pub const MESSAGE_RINGS_RECORDS_LOG2_MASK: u32 = 0x1f;
/// Address of the rings of the queues, lower half. The rings are contiguous. A multiple of 4 KiB.
pub const MESSAGE_DATA_LO: u32 = 0x110;
/// Address of the rings of the queues, upper half.
pub const MESSAGE_DATA_HI: u32 = 0x114;
/// Address of the records, lower half. A record has 32 bytes: clock (64 bits), length of the message, its first part in its queue's ring, number of the record from 1 on (32 bits each), queue (16), whether it is intact (8), whether it is longer than the ring (8), buffers that the queue has given out (32). A multiple of 4 KiB.
pub const MESSAGE_RECORDS_LO: u32 = 0x118;
/// Address of the records, upper half.
pub const MESSAGE_RECORDS_HI: u32 = 0x11c;
/// Records that software has read. Unread records are never overwritten: the core waits.
pub const MESSAGE_RECORDS_TAKEN: u32 = 0x120;
/// Messages that have left. This register and the next count from MESSAGES.enable on.
pub const MESSAGES_LEFT: u32 = 0x124;
/// Messages with a signature inside.
pub const MESSAGES_DROPPED: u32 = 0x128;
/// Stores that were lost. They came while MESSAGES.enable was unset, overwrote others, or waited for their queue for TIMEOUT clocks.
pub const STORES_LOST: u32 = 0x12c;
/// Stores that belong to no message. Not whole words of 8 bytes within a buffer of 64.
pub const STORES_BAD: u32 = 0x130;
/// Commands. The core moves bytes between its memory and the bus. The memory is BAR 4: stores to it start at multiples of 64 bytes, loads anywhere.
pub const COMMANDS: u32 = 0x180;
pub const COMMANDS_ENABLE_SHIFT: u32 = 0x0;
pub const COMMANDS_ENABLE_MASK: u32 = 0x1;
/// Limits of commands. 0: the core has no commands.
pub const COMMAND_LIMITS: u32 = 0x184;
pub const COMMAND_LIMITS_MEMORY_BYTES_LOG2_SHIFT: u32 = 0x0;
pub const COMMAND_LIMITS_MEMORY_BYTES_LOG2_MASK: u32 = 0x3f;
pub const COMMAND_LIMITS_QUEUES_SHIFT: u32 = 0x8;
pub const COMMAND_LIMITS_QUEUES_MASK: u32 = 0xff;
pub const COMMAND_LIMITS_DEPTH_SHIFT: u32 = 0x10;
pub const COMMAND_LIMITS_DEPTH_MASK: u32 = 0xff;
/// Bus address of the next command, lower half. A multiple of 64 bytes. This register and the next three hold until they are written: COMMAND_SUBMIT takes them.
pub const COMMAND_BUS_LO: u32 = 0x188;
/// Bus address of the next command, upper half.
pub const COMMAND_BUS_HI: u32 = 0x18c;
/// Address of the next command in the core's memory. A multiple of 64 bytes.
pub const COMMAND_MEMORY: u32 = 0x190;
/// Bytes of the next command. At least 1; the command ends inside the memory.
pub const COMMAND_LENGTH: u32 = 0x194;
/// Address of the notices, lower half. A ring in host memory, at a multiple of 4 KiB. A notice has 32 bytes: the clocks at which its command arrived and ended (64 bits each), clocks from its arrival to its start, number of the notice from 1 on, bytes of the command (32 each), number of the command (16), queue (8), whether the command wrote to the bus (8).
pub const NOTICES_LO: u32 = 0x198;
/// Address of the notices, upper half.
pub const NOTICES_HI: u32 = 0x19c;
/// Ring of notices.
pub const NOTICE_RING: u32 = 0x1a0;
pub const NOTICE_RING_NOTICES_LOG2_SHIFT: u32 = 0x0;
pub const NOTICE_RING_NOTICES_LOG2_MASK: u32 = 0x1f;
/// Notices that software has read. Unread notices are never overwritten: the core waits.
pub const NOTICES_TAKEN: u32 = 0x1a4;
/// State of commands.
pub const COMMAND_STATUS: u32 = 0x1a8;
pub const COMMAND_STATUS_READY_SHIFT: u32 = 0x0;
pub const COMMAND_STATUS_READY_MASK: u32 = 0x1;
pub const COMMAND_STATUS_HALTED_SHIFT: u32 = 0x1;
pub const COMMAND_STATUS_HALTED_MASK: u32 = 0x1;
pub const COMMAND_STATUS_RESULT_SHIFT: u32 = 0x4;
pub const COMMAND_STATUS_RESULT_MASK: u32 = 0xf;
/// Commands done. This register and the next count from COMMANDS.enable on. A command that writes counts once its bytes are out: a read of this register that is answered later finds them in front of its answer.
pub const COMMANDS_DONE: u32 = 0x1ac;
/// Commands refused. Their queue was full or not ready, they had no bytes, or they would end outside the memory.
pub const COMMANDS_REFUSED: u32 = 0x1b0;
/// Stores to the memory that were dropped. They did not start at a multiple of 64 bytes.
pub const MEMORY_STORES_BAD: u32 = 0x1b4;
/// MSI-X vector, address, lower half. This register and the next three are the MSI-X table, with one vector: a test has ended.
pub const VECTOR_ADDRESS_LO: u32 = 0x2000;
/// MSI-X vector, address, upper half.
pub const VECTOR_ADDRESS_HI: u32 = 0x2004;
/// MSI-X vector, data.
pub const VECTOR_DATA: u32 = 0x2008;
/// MSI-X vector, control.
pub const VECTOR_CONTROL: u32 = 0x200c;
pub const VECTOR_CONTROL_MASK_SHIFT: u32 = 0x0;
pub const VECTOR_CONTROL_MASK_MASK: u32 = 0x1;
/// MSI-X pending bits.
pub const VECTOR_PENDING: u32 = 0x2800;
/// Parts that software has read. For each queue's ring. Unread parts are never overwritten: the core waits.
pub const MESSAGE_DATA_TAKEN: u32 = 0x140;
pub const MESSAGE_DATA_TAKEN_ENTRIES: u32 = 0x4;
/// Heads of the queues. Buffers that each queue has given out.
pub const MESSAGE_HEADS: u32 = 0x150;
pub const MESSAGE_HEADS_ENTRIES: u32 = 0x4;
/// Submission of a command. An entry for each queue. A write puts the command of the registers above into the queue: bit 0 is set if it writes to the bus, bit 1 if it ends with a notice, bits 31 to 16 are its number.
pub const COMMAND_SUBMIT: u32 = 0x1c0;
pub const COMMAND_SUBMIT_ENTRIES: u32 = 0x4;
/// Commands that wait. In each queue.
pub const COMMANDS_WAITING: u32 = 0x1d0;
pub const COMMANDS_WAITING_ENTRIES: u32 = 0x4;
/// Addresses of the pieces. Lower half, upper half, for each piece of the host buffer; multiples of 4 KiB.
pub const PIECE_TABLE: u32 = 0x4000;
pub const PIECE_TABLE_ENTRIES: u32 = 0x800;
/// Usable units of a period. The usable units of a period, in order.
pub const UNITS: u32 = 0x6000;
pub const UNITS_ENTRIES: u32 = 0x40;
/// Histogram. Latencies in each bin. Read it while no test runs.
pub const HISTOGRAM: u32 = 0x8000;
pub const HISTOGRAM_ENTRIES: u32 = 0x1000;
/// Records. The first latencies of a test, clocks; PARAMETERS.records_log2 gives their number.
pub const RECORDS: u32 = 0x0001_0000;
pub const RECORDS_ENTRIES: u32 = 0x4000;
/// No test runs.
pub const STATE_IDLE: u32 = 0x0;
/// The core clears memories and fills the tag pool.
pub const STATE_PREPARE: u32 = 0x1;
/// The core sends requests.
pub const STATE_RUN: u32 = 0x2;
/// The core waits for the requests in flight.
pub const STATE_DRAIN: u32 = 0x3;
/// A test is running, or none has run.
pub const RESULT_NONE: u32 = 0x0;
/// Every transaction was done.
pub const RESULT_COMPLETE: u32 = 0x1;
/// Software ended it.
pub const RESULT_STOPPED: u32 = 0x2;
/// A register is out of range, or tags are retired: the test did not start.
pub const RESULT_BAD_PARAMETER: u32 = 0x3;
/// A completion had the status unsupported request, completer abort or retry.
pub const RESULT_ERROR_STATUS: u32 = 0x4;
/// A completion's data were poisoned.
pub const RESULT_POISONED: u32 = 0x5;
/// A completion did not fit its request: byte count, lower address or length.
pub const RESULT_WRONG_LENGTH: u32 = 0x6;
/// A completion came for a tag that is not in flight.
pub const RESULT_UNKNOWN_TAG: u32 = 0x7;
/// A request was not answered within TIMEOUT clocks.
pub const RESULT_TIMED_OUT: u32 = 0x8;
/// Data did not pass the check of OPERATION.check_data.
pub const RESULT_DATA_MISMATCH: u32 = 0x9;
/// The host disabled bus mastering.
pub const RESULT_BUS_MASTER_OFF: u32 = 0xa;
/// An address was outside the pieces of the host buffer; no request went there.
pub const RESULT_OUT_OF_BUFFER: u32 = 0xb;
/// Latency of a read.
pub const OPERATION_LAT_RD: u32 = 0x0;
/// Latency of a write followed by a read of the same bytes.
pub const OPERATION_LAT_WRRD: u32 = 0x1;
/// Bandwidth of reads.
pub const OPERATION_BW_RD: u32 = 0x2;
/// Bandwidth of writes.
pub const OPERATION_BW_WR: u32 = 0x3;
/// Bandwidth of alternating reads and writes.
pub const OPERATION_BW_RDWR: u32 = 0x4;
/// Always the first unit.
pub const PATTERN_FIXED: u32 = 0x0;
/// Every unit in order.
pub const PATTERN_SEQUENTIAL: u32 = 0x1;
/// Every n-th unit.
pub const PATTERN_STRIDED: u32 = 0x2;
/// Drawn by squares64.
pub const PATTERN_RANDOM: u32 = 0x3;
