"""What the model answers.

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
    "request-rate",
    "write-rate",
    "receive-buffers",
    "page-walks",
    "store-interval",
    "core-stores",
]
"""What can bound a rate."""


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Ceiling(_Answer):
    """The rate that one bound alone would allow."""

    bound: Bound
    """Which bound."""
    gbps: float
    """The rate that it allows, in Gb/s of data."""
    slack: float
    """How much more than the answer that is, as a part of it: 0 where this bound binds, 1 where it allows twice as
    much."""


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
    """What transfers at the rate of an answer take of the link."""

    upstream_tlps: float
    """TLPs from the device to the host, for each transfer (for a read and a write together)."""
    downstream_tlps: float
    """TLPs from the host to the device."""
    upstream_gbps: float
    """Bandwidth of those TLPs, headers and framing included, in Gb/s."""
    downstream_gbps: float
    """The same downstream."""
    efficiency: float
    """Data as a part of all bytes of TLPs, in both directions, 0 to 1."""


class Bandwidth(_Answer):
    """The highest bandwidth of transfers of one size."""

    size_bytes: int
    """Bytes of one transfer."""
    read: Answer
    """The device reads host memory."""
    write: Answer
    """The device writes host memory."""
    rdwr: Answer
    """As many reads as writes at once; the rate is that of one direction."""
    read_use: LinkUse
    """What the reads take of the link."""
    write_use: LinkUse
    """What the writes take of it."""
    rdwr_use: LinkUse
    """What both at once take of it."""
    tlp_gbps: float
    """What the link offers to TLPs in each direction, in Gb/s."""
    tags_to_fill: int | None
    """Read requests outstanding that fill the link, where the round trip is known."""


class NicThroughput(_Answer):
    """What a NIC reaches with frames of one size, and what the line asks for."""

    frame_bytes: int
    """Bytes of a frame, FCS included."""
    bi: Answer
    """Sending and receiving at the same rate; the rate is that of one direction."""
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
    """What a device needs in order to keep up with a full line in both directions."""

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


class Sending(_Answer):
    """One way of sending a message."""

    downstream_tlps: float
    """TLPs from host to device."""
    downstream_bytes: float
    """Bytes of TLPs from host to device."""
    upstream_bytes: float
    """Bytes of TLPs from device to host."""
    wire_efficiency: float
    """Data in the TLPs from host to device, signatures included, as a part of their bytes."""
    latency_ns: float
    """One message by itself."""
    cpu_ns: float
    """What the core spends on one message that finds all buffers empty."""
    bandwidth: Answer
    """Message after message, payload counted."""


class Messages(_Answer):
    """A message of one size, sent in each of the three ways."""

    payload_bytes: int
    """Payload of a message."""
    message_bytes: int
    """With its headers, up to a whole word."""
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
    payload_request_ns: float
    """When the payload is requested, after the doorbell."""
    control_share: float
    """Descriptors, their write-back and doorbells: their share of all bytes of TLPs of descriptor DMA, both
    directions."""


class Crossing(_Answer):
    """Where descriptor DMA beats write-combined stores.

    Since the stores go up in steps of 64 B, there is a first size and a later one from which on it stays so.
    """

    first_bytes: int | None
    """The smallest payload at which DMA is better."""
    from_bytes: int | None
    """The smallest payload from which on it is better up to 64 KiB."""


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
    """Size of the packet, which is the payload of a message."""
    pcie_ns: float
    """Stores to the device and DMA back."""
    nic_ns: float
    """The NIC and the line."""
    total_ns: float
    """Both."""
    pcie_share: float
    """PCIe's part."""


class TestBounds(_Answer):
    """What bounds a test."""

    answer: Answer
    """The bound that binds, and all others."""
    round_trip_ns: float | None
    """How long a read request holds its tag on average, at least, in ns; `None` for a test without reads."""


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
