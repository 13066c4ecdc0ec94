"""The card: timer, command path, DMA path and its data engine."""

from typing import Literal

from pydantic import Field

from pcielab.profiles.part import Count, Name, Nanoseconds, Padding, Part, Quantum, Size, Size32, StepTime


class Timer(Part):
    """The timer that latencies are read from."""

    numerator_ns: Count
    """Length of a tick in ns: numerator."""
    denominator: Count
    """Length of a tick in ns: denominator."""
    cycles: Count
    """Clock cycles in a tick: what the published columns count."""


class DataEngine(Part):
    """The engine that moves data between port and card memory, in segments of card addresses."""

    read_fixed_ns: StepTime
    """Time per DMA, reads."""
    write_fixed_ns: StepTime
    """Time per DMA, writes."""
    segment_bytes: Size32
    """Segment of card addresses."""
    segment_ns: StepTime
    """Time for a whole segment."""
    word_bytes: Size32
    """Width of the card's memory bus."""
    word_ns: StepTime
    """Time per word of a last, partial segment."""
    short_tail_ns: StepTime
    """Time for a last segment that holds no more than one word."""
    misaligned_single_ns: StepTime
    """Time for a transfer of a single segment both of whose ends are unaligned."""
    boundary_aligned_ns: StepTime
    """Extra for a request boundary inside a segment, aligned transfers."""
    boundary_misaligned_ns: StepTime
    """The same, misaligned transfers."""
    write_gap_bytes: Padding
    """Behind a part of a write that is a single TLP, the uplink ends its TLPs on a multiple of this and stays
    idle for as much again: nothing hides how the card turns to the next part; 0: it goes straight on."""
    write_part_bytes: Size32
    """Writes are first cut at host addresses that are multiples of this, a power of two of 64 to 4096, and each
    part then into TLPs of at most MPS, counted from where the part starts."""


class DmaPath(Part):
    """The DMA path."""

    outstanding: int = Field(ge=1, le=65_536)
    """DMAs that can be waiting or going on at once: workers, or the depth of the request pipeline."""
    transfer_bytes_most: Size32
    """Longest transfer."""
    transfer_multiple_bytes: int = Field(default=1, ge=1, le=4096)
    """Transfers are multiples of so many bytes: others are not supported."""
    tags: int | None = Field(default=None, ge=1, le=16_384)
    """Tags that the card uses, of those that the link gives it; absent: all."""
    tag_order: Literal["in-turn", "any-free"] = "in-turn"
    """Which tag the next read request gets: the next in turn, which is waited for while it is in use even if
    others are free (`in-turn`), or any that is free (`any-free`)."""
    cut_through: bool = False
    """Whether data are passed on while they arrive, and not once all of a transfer are there."""
    read_overhead_ns: StepTime
    """From the start of a latency measurement until the first TLP is handed to the port, and from the last byte
    received until the end of the measurement, together, for a read."""
    write_overhead_ns: StepTime
    """What the write of a write-then-read pair takes to start, over what a read takes."""
    write_to_read_ns: StepTime
    """From when the data of the write of a pair are out of the card's memory until the read behind it starts."""
    write_acknowledged_ns: StepTime
    """The same from when the write's last TLP has left: the card calls a write done no sooner than the root port
    has acknowledged it."""
    loop_ns: Nanoseconds
    """Loop time between two latency measurements."""
    request_interval_ns: StepTime
    """From one read request of a DMA to the next."""
    busy_request_interval_ns: StepTime = 0.0
    """Least time between any two read requests when many DMAs are going on."""
    partial_word_ns: StepTime
    """Extra latency of a read that ends on a part of a word of the card's memory."""
    unaligned_card_ns: StepTime
    """Extra latency of a read that starts off a word of the card's memory."""
    unaligned_host_ns: StepTime
    """The same off a word on the host: the data are shifted."""
    receive_buffers: int = Field(ge=1, le=65_536)
    """Read requests whose data the card takes in before the data engine is done with them: with so many of them on
    hand, the root complex has to wait with the next completion."""
    engine: DataEngine
    """The engine that moves data between the port and the card's memory."""


class BarWindow(Part):
    """A movable window onto bus addresses, rewritten to reach another part of memory."""

    window_bytes: Size
    """Bytes it covers."""
    moved_ns: Nanoseconds
    """Extra latency of a read right after it was moved."""
    move_ns: Nanoseconds
    """Extra loop time when it has to be moved."""


class CommandPath(Part):
    """The command path: small reads and writes straight from the card's registers."""

    transfer_bytes_most: Size32
    """Longest transfer."""
    read_overhead_ns: StepTime
    """Start and end of a measurement together, for a read."""
    read_byte_ns: StepTime
    """Time for each byte read."""
    write_byte_ns: StepTime
    """Time for each byte written."""
    read_split_ns: StepTime
    """Extra latency of a read of a whole cache line at an offset, which is split."""
    write_split_ns: StepTime
    """The same for a write and the read behind it."""
    loop_ns: Nanoseconds
    """Loop time between two measurements."""
    write_loop_ns: Nanoseconds
    """Extra loop time of a write-then-read pair, for the shortest write: what is to be written is made ready."""
    write_loop_byte_ns: StepTime
    """And so much more for each byte."""
    address_bits: int = Field(ge=32, le=64)
    """Address bits that the path can drive: higher ones are dropped."""
    bar_window: BarWindow | None = None
    """The window register that must be rewritten to reach another part of memory, where the board has one."""


class Card(Part):
    """A card that can run the micro-benchmarks."""

    name: Name
    """Short name."""
    kind: Literal["queued", "direct"]
    """How it issues DMAs: workers enqueue descriptors and wait for their completion (`queued`; pcie-bench paper,
    section 5.1), or a state machine hands one request per clock to the core (`direct`; section 5.2)."""
    timer: Timer
    """Its timer."""
    latency_samples_most: Count | None = None
    """Most samples that one latency test can journal; absent without a limit."""
    transactions_most: Count | None = None
    """Most transactions of one bandwidth test; absent without a limit."""
    uplink_quantum_bytes: Quantum
    """The port sends TLPs upstream in units of this many bytes."""
    uplink_data_quantum_bytes: Size32
    """The data of a write TLP occupy whole units of this many bytes, a power of two of 4 to 4096."""
    uplink_gap_bytes: Padding
    """Bytes that the port leaves free behind each TLP."""
    uplink_dllp_bytes: Padding
    """Bytes of DLLPs that the port sends upstream for each completion that arrives."""
    dma: DmaPath
    """The DMA path."""
    command: CommandPath | None = None
    """The command path, where the card has one."""
