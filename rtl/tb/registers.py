"""Registers of the FPGA core. Made by rtl/generate_registers.py from rtl/registers.rdl."""

ID = 0x0
"""Identity."""
VERSION = 0x4
"""Version."""
VERSION_MINOR_SHIFT = 0x0
"""Place of `minor` in VERSION."""
VERSION_MINOR_MASK = 0xFFFF
"""What `minor` can hold."""
VERSION_MAJOR_SHIFT = 0x10
"""Place of `major` in VERSION."""
VERSION_MAJOR_MASK = 0xFFFF
"""What `major` can hold."""
PARAMETERS = 0x8
"""What the core was built with."""
PARAMETERS_DATA_BYTES_SHIFT = 0x0
"""Place of `data_bytes` in PARAMETERS."""
PARAMETERS_DATA_BYTES_MASK = 0xFF
"""What `data_bytes` can hold."""
PARAMETERS_TAGS_SHIFT = 0x8
"""Place of `tags` in PARAMETERS."""
PARAMETERS_TAGS_MASK = 0x1FF
"""What `tags` can hold."""
PARAMETERS_RECORDS_LOG2_SHIFT = 0x14
"""Place of `records_log2` in PARAMETERS."""
PARAMETERS_RECORDS_LOG2_MASK = 0x1F
"""What `records_log2` can hold."""
CLOCK_PS = 0xC
"""Length of a clock, ps."""
CONTROL = 0x10
"""Control. Writing a 1 does it; reads as 0."""
CONTROL_START_SHIFT = 0x0
"""Place of `start` in CONTROL."""
CONTROL_START_MASK = 0x1
"""What `start` can hold."""
CONTROL_STOP_SHIFT = 0x1
"""Place of `stop` in CONTROL."""
CONTROL_STOP_MASK = 0x1
"""What `stop` can hold."""
CONTROL_RESET_SHIFT = 0x2
"""Place of `reset` in CONTROL."""
CONTROL_RESET_MASK = 0x1
"""What `reset` can hold."""
CONTROL_LATCH_SHIFT = 0x3
"""Place of `latch` in CONTROL."""
CONTROL_LATCH_MASK = 0x1
"""What `latch` can hold."""
STATUS = 0x14
"""Status."""
STATUS_STATE_SHIFT = 0x0
"""Place of `state` in STATUS."""
STATUS_STATE_MASK = 0x7
"""What `state` can hold."""
STATUS_RESULT_SHIFT = 0x4
"""Place of `result` in STATUS."""
STATUS_RESULT_MASK = 0xF
"""What `result` can hold."""
LINK = 0x18
"""Link."""
LINK_MAX_PAYLOAD_SHIFT = 0x0
"""Place of `max_payload` in LINK."""
LINK_MAX_PAYLOAD_MASK = 0x7
"""What `max_payload` can hold."""
LINK_MAX_READ_REQUEST_SHIFT = 0x4
"""Place of `max_read_request` in LINK."""
LINK_MAX_READ_REQUEST_MASK = 0x7
"""What `max_read_request` can hold."""
LINK_BUS_MASTER_SHIFT = 0x8
"""Place of `bus_master` in LINK."""
LINK_BUS_MASTER_MASK = 0x1
"""What `bus_master` can hold."""
TIMEOUT = 0x1C
"""Completion time-out, clocks. At least 1."""
OPERATION = 0x20
"""What is done."""
OPERATION_OPERATION_SHIFT = 0x0
"""Place of `operation` in OPERATION."""
OPERATION_OPERATION_MASK = 0x7
"""What `operation` can hold."""
OPERATION_PATTERN_SHIFT = 0x4
"""Place of `pattern` in OPERATION."""
OPERATION_PATTERN_MASK = 0x3
"""What `pattern` can hold."""
OPERATION_BACKWARDS_SHIFT = 0x8
"""Place of `backwards` in OPERATION."""
OPERATION_BACKWARDS_MASK = 0x1
"""What `backwards` can hold."""
OPERATION_FIRST_TWICE_SHIFT = 0x9
"""Place of `first_twice` in OPERATION."""
OPERATION_FIRST_TWICE_MASK = 0x1
"""What `first_twice` can hold."""
OPERATION_FIRST_WRITES_SHIFT = 0xA
"""Place of `first_writes` in OPERATION."""
OPERATION_FIRST_WRITES_MASK = 0x1
"""What `first_writes` can hold."""
OPERATION_CHECK_DATA_SHIFT = 0xB
"""Place of `check_data` in OPERATION."""
OPERATION_CHECK_DATA_MASK = 0x1
"""What `check_data` can hold."""
SIZE = 0x24
"""Bytes of a transfer. 1 to 4,096."""
COUNT = 0x28
"""Transactions. At least 1."""
OUTSTANDING = 0x2C
"""Transactions that read, in flight at most. 1 to PARAMETERS.tags. A transaction longer than MRRS needs a tag for each of its requests."""
KEY_LO = 0x30
"""Key of the draws, lower half."""
KEY_HI = 0x34
"""Key of the draws, upper half."""
PLACE = 0x38
"""Place in the list of the first transaction."""
USABLE = 0x3C
"""Units that may be used. At least 1."""
NTH = 0x40
"""Usable unit of the first transaction. Of patterns in order: place * stride modulo USABLE."""
NTH_WRAP = 0x44
"""Usable unit where a replay of the list starts. Of patterns in order."""
STEP = 0x48
"""Units from one transaction to the next. Of patterns in order: the stride modulo USABLE."""
PERIOD = 0x4C
"""Period of the usable units."""
PERIOD_USABLE_SHIFT = 0x0
"""Place of `usable` in PERIOD."""
PERIOD_USABLE_MASK = 0x7F
"""What `usable` can hold."""
PERIOD_LENGTH_SHIFT = 0x8
"""Place of `length` in PERIOD."""
PERIOD_LENGTH_MASK = 0x7F
"""What `length` can hold."""
PERIOD_ALL_USABLE_SHIFT = 0x10
"""Place of `all_usable` in PERIOD."""
PERIOD_ALL_USABLE_MASK = 0x1
"""What `all_usable` can hold."""
RECIPROCAL = 0x50
"""2^31 / PERIOD.usable, rounded up."""
UNIT_BYTES = 0x54
"""Bytes of a unit. At least 1."""
HOST_OFFSET = 0x58
"""Offset of a transfer in its unit, bytes."""
PIECES = 0x5C
"""Pieces of the host buffer."""
PIECES_COUNT_SHIFT = 0x0
"""Place of `count` in PIECES."""
PIECES_COUNT_MASK = 0x7FF
"""What `count` can hold."""
PIECES_BYTES_LOG2_SHIFT = 0x10
"""Place of `bytes_log2` in PIECES."""
PIECES_BYTES_LOG2_MASK = 0x3F
"""What `bytes_log2` can hold."""
DATA_KEY = 0x60
"""Data key. The double word at offset o of the host buffer is written, and expected, as o exclusive-or this."""
BIN_SHIFT = 0x64
"""Width of a bin of the histogram. 2 to this power clocks."""
LINK_TAGS = 0x68
"""Tags in use. Requests use the tags below it, up to PARAMETERS.tags; 0 means all. Set 32 on a host that enables no extended tags."""
TRANSACTIONS = 0x80
"""Transactions done. This and the next seven are held by CONTROL.latch and by the end of a test."""
ELAPSED_LO = 0x88
"""Clocks, lower half. From the clock in which the first beat of the first request is taken to that in which the last beat of what ended last is."""
ELAPSED_HI = 0x8C
"""Clocks, upper half."""
BYTES_READ_LO = 0x90
"""Bytes read, lower half."""
BYTES_READ_HI = 0x94
"""Bytes read, upper half."""
BYTES_WRITTEN_LO = 0x98
"""Bytes written, lower half."""
BYTES_WRITTEN_HI = 0x9C
"""Bytes written, upper half."""
SAMPLES = 0xA0
"""Latencies recorded. This and the next four are of the test that runs or ran last."""
LATENCY_MIN = 0xA4
"""Smallest latency, clocks."""
LATENCY_MAX = 0xA8
"""Largest latency, clocks."""
LATENCY_SUM_LO = 0xB0
"""Sum of the latencies, clocks, lower half."""
LATENCY_SUM_HI = 0xB4
"""Sum of the latencies, clocks, upper half."""
ERROR_STATUS_COUNT = 0xC0
"""Completions with an error status. This and the next six count from the last reset."""
POISONED_COUNT = 0xC4
"""Poisoned completions."""
WRONG_LENGTH_COUNT = 0xC8
"""Completions that did not fit their request."""
UNKNOWN_TAG_COUNT = 0xCC
"""Completions for tags with nothing in flight."""
TIMED_OUT_COUNT = 0xD0
"""Requests not answered in time."""
DATA_MISMATCH_COUNT = 0xD4
"""Beats with data that were not expected."""
RETIRED_TAGS = 0xD8
"""Tags that are retired. Their requests timed out, or were answered wrongly. No test starts until a reset takes them back."""
MESSAGES = 0x100
"""Messages by write-combining stores."""
MESSAGES_ENABLE_SHIFT = 0x0
"""Place of `enable` in MESSAGES."""
MESSAGES_ENABLE_MASK = 0x1
"""What `enable` can hold."""
MESSAGES_STUFFED_SHIFT = 0x1
"""Place of `stuffed` in MESSAGES."""
MESSAGES_STUFFED_MASK = 0x1
"""What `stuffed` can hold."""
MESSAGE_QUEUES = 0x104
"""Queues for messages. Queue q has the window of twice its bytes that starts at q times as many in BAR 2."""
MESSAGE_QUEUES_COUNT_SHIFT = 0x0
"""Place of `count` in MESSAGE_QUEUES."""
MESSAGE_QUEUES_COUNT_MASK = 0xFF
"""What `count` can hold."""
MESSAGE_QUEUES_BYTES_LOG2_SHIFT = 0x8
"""Place of `bytes_log2` in MESSAGE_QUEUES."""
MESSAGE_QUEUES_BYTES_LOG2_MASK = 0xFF
"""What `bytes_log2` can hold."""
MESSAGE_RINGS = 0x108
"""Rings for messages in host memory."""
MESSAGE_RINGS_DATA_LOG2_SHIFT = 0x0
"""Place of `data_log2` in MESSAGE_RINGS."""
MESSAGE_RINGS_DATA_LOG2_MASK = 0x1F
"""What `data_log2` can hold."""
MESSAGE_RINGS_RECORDS_LOG2_SHIFT = 0x8
"""Place of `records_log2` in MESSAGE_RINGS."""
MESSAGE_RINGS_RECORDS_LOG2_MASK = 0x1F
"""What `records_log2` can hold."""
MESSAGE_DATA_LO = 0x110
"""Address of the rings of the queues, lower half. One behind the other. A multiple of 4 KiB."""
MESSAGE_DATA_HI = 0x114
"""Address of the rings of the queues, upper half."""
MESSAGE_RECORDS_LO = 0x118
"""Address of the records, lower half. A record has 32 bytes: clock (64 bits), length of the message, its first part in its queue's ring, number of the record from 1 on (32 bits each), queue (16), whether it is intact (8), whether it is longer than the ring (8), buffers that the queue has given out (32). A multiple of 4 KiB."""
MESSAGE_RECORDS_HI = 0x11C
"""Address of the records, upper half."""
MESSAGE_RECORDS_TAKEN = 0x120
"""Records that software has read. None that it has not is overwritten: the core waits."""
MESSAGES_LEFT = 0x124
"""Messages that have left. This and the next are counted from MESSAGES.enable on."""
MESSAGES_DROPPED = 0x128
"""Messages with a signature inside."""
STORES_LOST = 0x12C
"""Stores that were lost. They came while MESSAGES.enable was unset, overwrote others, or found no room in their queue for TIMEOUT clocks."""
STORES_BAD = 0x130
"""Stores that are none of a message. Not whole words of 8 bytes within a buffer of 64."""
VECTOR_ADDRESS_LO = 0x2000
"""MSI-X vector, address, lower half. This and the next three are the MSI-X table, of one vector: a test has ended."""
VECTOR_ADDRESS_HI = 0x2004
"""MSI-X vector, address, upper half."""
VECTOR_DATA = 0x2008
"""MSI-X vector, data."""
VECTOR_CONTROL = 0x200C
"""MSI-X vector, control."""
VECTOR_CONTROL_MASK_SHIFT = 0x0
"""Place of `mask` in VECTOR_CONTROL."""
VECTOR_CONTROL_MASK_MASK = 0x1
"""What `mask` can hold."""
VECTOR_PENDING = 0x2800
"""MSI-X pending bits."""
MESSAGE_DATA_TAKEN = 0x140
"""Parts that software has read. Of each queue's ring. None that it has not is overwritten: the core waits."""
MESSAGE_DATA_TAKEN_ENTRIES = 0x4
"""Entries of MESSAGE_DATA_TAKEN."""
MESSAGE_HEADS = 0x150
"""Heads of the queues. Buffers that each queue has given out."""
MESSAGE_HEADS_ENTRIES = 0x4
"""Entries of MESSAGE_HEADS."""
PIECE_TABLE = 0x4000
"""Addresses of the pieces. Lower half, upper half, for each piece of the host buffer; multiples of 4 KiB."""
PIECE_TABLE_ENTRIES = 0x800
"""Entries of PIECE_TABLE."""
UNITS = 0x6000
"""Usable units of a period. Which units of a period may be used, in order."""
UNITS_ENTRIES = 0x40
"""Entries of UNITS."""
HISTOGRAM = 0x8000
"""Histogram. Latencies in each bin. Reads are good while no test runs."""
HISTOGRAM_ENTRIES = 0x1000
"""Entries of HISTOGRAM."""
RECORDS = 0x10000
"""Records. The first latencies of a test, clocks. As many as PARAMETERS.records_log2 says."""
RECORDS_ENTRIES = 0x4000
"""Entries of RECORDS."""
STATE_IDLE = 0x0
"""No test runs."""
STATE_PREPARE = 0x1
"""Memories are cleared, tags put in order."""
STATE_RUN = 0x2
"""Requests are made."""
STATE_DRAIN = 0x3
"""What is in flight is waited for."""
RESULT_NONE = 0x0
"""A test runs, or none has."""
RESULT_COMPLETE = 0x1
"""Every transaction was done."""
RESULT_STOPPED = 0x2
"""Software ended it."""
RESULT_BAD_PARAMETER = 0x3
"""A register is out of range, or tags are retired: nothing was done."""
RESULT_ERROR_STATUS = 0x4
"""A completion said unsupported request, completer abort or retry."""
RESULT_POISONED = 0x5
"""A completion's data were marked as bad."""
RESULT_WRONG_LENGTH = 0x6
"""A completion did not fit its request: byte count, lower address or length."""
RESULT_UNKNOWN_TAG = 0x7
"""A completion for a tag that has nothing in flight."""
RESULT_TIMED_OUT = 0x8
"""A request was not answered in TIMEOUT clocks."""
RESULT_DATA_MISMATCH = 0x9
"""Data were not what OPERATION.check_data expects."""
RESULT_BUS_MASTER_OFF = 0xA
"""The host took away the right to make requests."""
RESULT_OUT_OF_BUFFER = 0xB
"""An address outside the pieces of the host buffer; nothing was sent there."""
OPERATION_LAT_RD = 0x0
"""Latency of a read."""
OPERATION_LAT_WRRD = 0x1
"""Latency of a write and the read of the same bytes behind it."""
OPERATION_BW_RD = 0x2
"""Bandwidth of reads."""
OPERATION_BW_WR = 0x3
"""Bandwidth of writes."""
OPERATION_BW_RDWR = 0x4
"""Bandwidth of reads and writes by turns."""
PATTERN_FIXED = 0x0
"""The first unit, always."""
PATTERN_SEQUENTIAL = 0x1
"""One after the other."""
PATTERN_STRIDED = 0x2
"""Every n-th."""
PATTERN_RANDOM = 0x3
"""Drawn by squares64."""
