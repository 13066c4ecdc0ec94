"""Answers of the model, which pydantic makes of the compiled half's JSON.

Written by `make generate` from `crates/pcie-model/src`: change the types there.
"""

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

Bound: TypeAlias = Literal[
    "wire-upstream",
    "wire-downstream",
    "tags",
    "posted-credits",
    "non-posted-credits",
    "latency",
    "device-rate",
    "device-port",
    "root-port",
    "replay-buffer",
    "request-rate",
    "write-rate",
    "receive-buffers",
    "completion-buffer",
    "page-walks",
    "translation",
    "write-pool",
    "read-pool",
    "memory",
    "store-interval",
    "core-stores",
]
"""The limits of a rate."""
Instruction: TypeAlias = Literal[
    "uncached-store",
    "combined-store",
    "direct-store",
    "enqueue-store",
    "uncached-load",
    "streaming-load",
    "read-modify-write",
    "doorbell",
    "exchange",
]
"""What a core does with a BAR."""
AccessBound: TypeAlias = Literal[
    "core-stores",
    "fill-buffers",
    "uncached-stores",
    "wire-downstream",
    "wire-upstream",
    "posted-credits",
    "device-drain",
    "round-trip",
    "streaming-lines",
]
"""What limits the rate of accesses."""


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Ceiling(_Answer):
    """The rate that one bound alone would allow."""

    bound: Bound
    """Which bound."""
    gbps: float
    """The rate that it allows, in Gb/s of data."""
    slack: float
    """Its excess over the answer, as a fraction of the answer: 0 where this bound binds, 1 where it allows twice
    as much."""


class Answer(_Answer):
    """A rate and why it is not higher."""

    gbps: float
    """Data in one direction, in Gb/s."""
    millions_per_s: float
    """Units of work (transfers, packets) in millions a second."""
    bound: Bound
    """The bound that binds."""
    ceilings: list[Ceiling]
    """Every bound that this work meets, tightest first."""


class LinkUse(_Answer):
    """Link use of transfers at the rate of an answer."""

    upstream_tlps: float
    """TLPs from the device to the host, for each transfer (for a read and a write together)."""
    downstream_tlps: float
    """TLPs from the host to the device."""
    upstream_gbps: float
    """Bandwidth of those TLPs, headers and framing included, in Gb/s."""
    downstream_gbps: float
    """The same downstream."""
    efficiency: float
    """Data bytes over all bytes of TLPs, both directions, 0 to 1."""
    upstream_flit_fill: float | None
    """In flit mode, the share of the double words for TLPs that carry TLPs upstream, 0 to 1; the others are
    NOPs."""
    downstream_flit_fill: float | None
    """The same downstream."""
    upstream_nop_gbps: float | None
    """In flit mode, bandwidth that NOPs take upstream, in Gb/s."""
    downstream_nop_gbps: float | None
    """The same downstream."""
    whole_dllps_share: float | None
    """Without flits, the share of the rate that is lost where ports send DLLPs in whole bytes with their TLPs, as
    simulated ones do, 0 to 1; `None` under `sigcomm18`, and where anything but the link binds."""
    ide_share: float | None
    """With IDE, the share of the bandwidth without it that its prefixes and MACs take, 0 to 1."""


class Bandwidth(_Answer):
    """The highest bandwidth of transfers of one size."""

    size_bytes: int
    """Bytes of one transfer."""
    read: Answer
    """The device reads host memory."""
    write: Answer
    """The device writes host memory."""
    rdwr: Answer
    """As many reads as writes at once; the rate of one direction."""
    read_use: LinkUse
    """Link use of the reads."""
    write_use: LinkUse
    """Link use of the writes."""
    rdwr_use: LinkUse
    """Link use of both at once."""
    tlp_gbps: float
    """Bandwidth of the link for TLPs in each direction, in Gb/s."""
    tags_to_fill: int | None
    """Read requests outstanding that fill the link, where the round trip is known; one fewer does not."""


class NicThroughput(_Answer):
    """The rates that a NIC reaches with frames of one size, and the line rate."""

    frame_bytes: int
    """Bytes of a frame, FCS included."""
    bi: Answer
    """Sending and receiving at the same rate; the rate of one direction."""
    tx: Answer | None
    """Sending alone; `None` if the device only receives."""
    rx: Answer | None
    """Receiving alone; `None` if the device only sends."""
    line_gbps: float
    """The full line's rate, counted the same way: frames less their FCS."""


class PathSizing(_Answer):
    """One direction's share, descriptors included."""

    dmas_per_packet: float
    """DMAs for each packet."""
    dmas_in_flight: int
    """DMAs in flight."""
    cycles_per_dma: float | None
    """Clock cycles from one DMA to the next, where the clock is known and there are DMAs."""


class Sizing(_Answer):
    """The DMAs in flight and the DMA rate that a full line in both directions needs."""

    frame_bytes: int
    """Bytes of a frame, FCS included."""
    latency_ns: float
    """How long one DMA takes."""
    packet_interval_ns: float
    """From one frame to the next."""
    packets_in_flight: int
    """Packet DMAs in flight in each direction."""
    tx: PathSizing
    """Sending."""
    rx: PathSizing
    """Receiving."""


class LinkSizing(_Answer):
    """The reads in flight, and the space for their completions, with which the link binds."""

    size_bytes: int
    """Bytes of one read DMA."""
    latency_ns: float
    """Round trip of a read request, from its departure to its data's arrival, in ns."""
    read_gbps: float
    """The full link's rate for this size, in Gb/s of data."""
    tags_to_fill: int
    """Read requests outstanding that fill the link; one fewer does not."""
    dmas_in_flight: int
    """Read DMAs in flight that fill the link."""
    completion_headers: int
    """Headers in the device's buffer for completions that suffice: each request reserves as many as RCB allows."""
    completion_bytes: int
    """Bytes in that buffer that suffice: each request reserves its data in whole credits of 16 B."""
    cycles_per_request: float | None
    """Clock cycles from one read request to the next, where the clock is known."""


class EngineRate(_Answer):
    """The rate of one direction."""

    gbytes_per_s: float
    """Data, in GB/s."""
    million_commands_per_s: float
    """Commands, in millions a second."""
    bound: str
    """What limits it: a bound of the link, `queue-depth`, `command-rate` or `device`."""
    ceilings: dict[str, float]
    """The rate that each bound alone would allow, in GB/s."""


class EngineRates(_Answer):
    """The rates of an engine with commands of one size."""

    size_bytes: int
    """Data of one command."""
    depth: int
    """Commands in flight, all queues together."""
    to_device: EngineRate
    """Commands that read host memory, alone."""
    to_host: EngineRate
    """Commands that write host memory, alone."""
    both: EngineRate
    """Both at equal rates; the rate of one direction."""


class ExpanderLoad(_Answer):
    """A read at a load."""

    load: float
    """Share of the peak, 0 to below 1."""
    gbytes_per_s: float
    """Data of both directions together, GB/s."""
    read_latency_ns: float
    """Mean time of a read, beyond the host."""
    to_memory_wait_ns: float
    """Part of it that waits for slots to memory."""
    bank_wait_ns: float
    """Part that waits for a bank."""
    refresh_wait_ns: float
    """Part that waits for a refresh."""
    bus_wait_ns: float
    """Part that waits for the memory's bus."""
    from_memory_wait_ns: float
    """Part that waits for slots from memory."""


class ExpanderRates(_Answer):
    """What a mix of reads and writes reaches."""

    read_share: float
    """Share of the lines that are read, 0 to 1."""
    peak_gbytes_per_s: float
    """The most data of both directions together, GB/s."""
    bound: str
    """What limits it: `slots-to-memory`, `slots-from-memory`, `memory-bus`, `memory-banks` or
    `lines-in-flight`."""
    ceilings: dict[str, float]
    """The rate that each bound alone would allow, GB/s."""
    slots_to_memory: float
    """Slots of a line to memory, in the mean of the mix."""
    slots_from_memory: float
    """Slots of a line from memory."""
    loads: list[ExpanderLoad]
    """How long a read takes at each load."""


class InterleavedMember(_Answer):
    """A memory of those that lines are interleaved over."""

    name: str
    """Its name."""
    line_share: float
    """Share of the lines that go to it."""
    alone_gbytes_per_s: float
    """The most data that it gives alone, GB/s."""
    bound: str
    """What limits it alone."""
    gbytes_per_s: float
    """Its data at the peak of all together, GB/s."""


class InterleavedLoad(_Answer):
    """A read of interleaved memories at a load."""

    load: float
    """Share of the peak of all together, 0 to below 1."""
    gbytes_per_s: float
    """Data of all memories and both directions together, GB/s."""
    read_latency_ns: float
    """Mean time of a read over all memories, by their shares of the lines."""
    member_latencies_ns: list[float]
    """Mean time of a read in each memory."""


class InterleavedRates(_Answer):
    """What memories give together, over which lines are interleaved."""

    read_share: float
    """Share of the lines that are read, 0 to 1."""
    peak_gbytes_per_s: float
    """The most data of all memories and both directions together, GB/s."""
    bound: str
    """The memory that is full first, and what of it."""
    members: list[InterleavedMember]
    """Each memory."""
    loads: list[InterleavedLoad]
    """How long a read takes at each load."""


class Between(_Answer):
    """A value, with the interval that sources and machines leave."""

    least: float
    """The least."""
    usual: float
    """The usual one."""
    most: float
    """The most."""


class AccessTimes(_Answer):
    """What accesses of one kind cost. Every interval has its usual value from the usual values of the profiles."""

    instruction: Instruction
    """What the core does."""
    size_bytes: int
    """Bytes of one access."""
    width_bytes: int
    """Bytes of one load or store."""
    cores: int
    """Cores."""
    tlps: int
    """TLPs that carry the data of one access."""
    downstream_bytes: int
    """Bytes of TLPs from host to device for one access."""
    upstream_bytes: int
    """Bytes of TLPs from device to host for one access."""
    core_ns: Between
    """Time of the core for one access that finds everything idle."""
    done_ns: Between
    """From its start until the last byte is at the device, of a load in the core, and of an exchange back."""
    gbytes_per_s: Between
    """Data of all cores together, if they go on, GB/s."""
    bound: AccessBound
    """What limits that rate."""
    ceilings: dict[str, float]
    """The rate that each bound alone would allow, GB/s."""


class AccessOutcome(_Answer):
    """What simulated accesses took."""

    tlps: int
    """TLPs that carried the data of all cores."""
    core_ns: float
    """Time of the core that took longest, ns."""
    done_ns: float
    """From the start until the last byte arrived, ns."""
    gbytes_per_s: float
    """Data of all cores after the first quarter of their TLPs, GB/s."""


class Sending(_Answer):
    """One way of sending a message."""

    downstream_tlps: float
    """TLPs from host to device."""
    downstream_bytes: float
    """Bytes of TLPs from host to device."""
    upstream_bytes: float
    """Bytes of TLPs from device to host."""
    wire_efficiency: float
    """Data bytes, signatures included, over all bytes of the TLPs from host to device."""
    latency_ns: float
    """Latency of one message alone."""
    cpu_ns: float
    """Core time for one message that finds all buffers empty."""
    bandwidth: Answer
    """Payload bandwidth of a stream of messages."""


class Messages(_Answer):
    """A message of one size, sent in each of the three ways."""

    payload_bytes: int
    """Payload of a message."""
    message_bytes: int
    """Payload and headers, rounded up to a whole word."""
    buffers: int
    """Write-combining buffers that it takes."""
    signatures: int
    """End-of-packet signatures in them."""
    uncached: Sending
    """By uncached stores."""
    write_combined: Sending
    """By write-combined stores."""
    descriptors: Sending
    """By descriptor DMA."""
    descriptor_ns: float
    """When the descriptor's completion starts, after the doorbell."""
    payload_request_ns: float | None
    """When the payload is requested, after the doorbell; `None` if the descriptor carries it."""
    control_share: float
    """Share of descriptors, write-backs and doorbells in all bytes of TLPs of descriptor DMA, both directions."""


class Crossing(_Answer):
    """Where descriptor DMA beats write-combined stores.

    Stores cost steps of 64 B, so the first size at which DMA wins can lie below the size from which it always
    wins.
    """

    first_bytes: int | None
    """The smallest payload at which DMA is better."""
    from_bytes: int | None
    """The smallest payload from which DMA is better at every size up to 64 KiB."""


class Crossings(_Answer):
    """The crossing points."""

    latency: Crossing
    """By the latency of a message."""
    bandwidth: Crossing
    """By bandwidth, message after message."""
    cpu: Crossing
    """By the core's time for a message."""


class Loopback(_Answer):
    """The latency of a looped packet."""

    packet_bytes: int
    """Size of the packet, the payload of a message."""
    pcie_ns: float
    """Stores to the device and DMA back."""
    nic_ns: float
    """The NIC and the line."""
    total_ns: float
    """Both."""
    pcie_share: float
    """PCIe's part."""


class FlitTimes(_Answer):
    """Mean times of TLPs in flits, alone on their directions and ready at any moment."""

    wait_ns: float
    """From when they are ready until their first bytes are sent, in ns."""
    accumulation_ns: float
    """From then until the flits with their last bytes are whole, in ns. Without flits, it is the time of their own
    bytes."""
    check_ns: float
    """Until these flits are corrected and checked, in ns."""


class ReplayLoss(_Answer):
    """The cost of replays on one direction."""

    error_rate: float
    """The probability that a flit, or without flits a TLP, arrives damaged."""
    round_trip_ns: float
    """From when it is sent until it can be sent again, in ns."""
    lost_ns: float
    """Time of the direction that one replay takes, in ns."""
    share: float
    """The share of its time that all replays take, 0 to 1."""


class LinkReplays(_Answer):
    """The cost of replays on both directions."""

    upstream: ReplayLoss
    """From the device to the host."""
    downstream: ReplayLoss
    """From the host to the device."""


class TestBounds(_Answer):
    """The bounds of a test."""

    answer: Answer
    """The bound that binds, and all others."""
    round_trip_ns: float | None
    """How long a read request holds its tag on average, at least, in ns; `None` for a test without reads."""
    flits: FlitTimes | None
    """In flit mode, what flits add to a read that is alone: its requests, and its completions; `None` for a test
    without reads."""
    replays: LinkReplays | None
    """What replays cost each direction while it is full; `None` on a link that damages nothing."""


class Capacities(_Answer):
    """Bytes of a window that a machine keeps close, and the pages that its IOMMU translates."""

    device_lines_bytes: int
    """Of lines that the device wrote, in the ways in which it may allocate (DDIO)."""
    host_lines_bytes: int
    """Of lines that the CPU wrote, of the whole last-level cache."""
    iommu_page_bytes: int | None
    """Of one page of the IOMMU; null without translation."""
    io_tlb_bytes: int | None
    """Of the pages that the IO-TLB has entries for; null without translation."""


class DeviceRates(_Answer):
    """The rates of one device."""

    write: Answer
    """It writes host memory."""
    read: Answer
    """It reads host memory."""


class PoolFill(_Answer):
    """How full a pool of lines is."""

    lines: float
    """Lines in use, on average."""
    latency_ns: float
    """Average time for which a line is in use, in ns."""


class HostRates(_Answer):
    """What a loaded host gives to its devices."""

    cores: int
    """Busy cores."""
    devices: list[DeviceRates]
    """Each device, in the order of the question."""
    write_traffic_gbytes_per_s: float
    """Memory traffic of all devices' writes, in GB/s."""
    write_pool: PoolFill | None
    """The root complex's pool for writes; null where the system names none."""
    read_pool: PoolFill | None
    """The pool for reads."""
