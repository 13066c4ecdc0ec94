"""What the model answers. The fields are documented where they are computed, in the crate pcie-model."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Bound = Literal[
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


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Ceiling(_Answer):
    """The rate that one bound alone would allow; `slack` is how much more that is (1.0: twice as much)."""

    bound: Bound
    gbps: float
    slack: float


class Answer(_Answer):
    """A rate in one direction, the bound that binds, and every bound that the work meets, tightest first."""

    gbps: float
    millions_per_s: float
    bound: Bound
    ceilings: list[Ceiling]


class LinkUse(_Answer):
    """What transfers take of the link: TLPs of one; bandwidth with headers; data as a part of their bytes."""

    upstream_tlps: float
    downstream_tlps: float
    upstream_gbps: float
    downstream_gbps: float
    efficiency: float


class Bandwidth(_Answer):
    """DMA transfers of one size; `rdwr` is one direction's rate with as many reads as writes."""

    size_bytes: int
    read: Answer
    write: Answer
    rdwr: Answer
    read_use: LinkUse
    write_use: LinkUse
    rdwr_use: LinkUse
    tlp_gbps: float
    tags_to_fill: int | None


class NicThroughput(_Answer):
    """A device sending and receiving (`bi`, one direction's rate), only sending, and only receiving."""

    frame_bytes: int
    bi: Answer
    tx: Answer | None
    rx: Answer | None
    line_gbps: float


class PathSizing(_Answer):
    """One direction's DMAs, descriptors included."""

    dmas_per_packet: float
    dmas_in_flight: int
    cycles_per_dma: float | None


class Sizing(_Answer):
    """What a device needs in order to keep up with a full line."""

    frame_bytes: int
    latency_ns: float
    packet_interval_ns: float
    packets_in_flight: int
    tx: PathSizing
    rx: PathSizing


class Sending(_Answer):
    """One way of sending a message; `bandwidth` counts payload."""

    downstream_tlps: float
    downstream_bytes: float
    upstream_bytes: float
    wire_efficiency: float
    latency_ns: float
    cpu_ns: float
    bandwidth: Answer


class Messages(_Answer):
    """A message of one size, sent by uncached stores, by write-combined stores and by descriptor DMA."""

    payload_bytes: int
    message_bytes: int
    buffers: int
    signatures: int
    uncached: Sending
    write_combined: Sending
    descriptors: Sending
    descriptor_ns: float
    payload_request_ns: float
    control_share: float


class Crossing(_Answer):
    """The smallest payload at which DMA is better, and the one from which on it stays so up to 64 KiB."""

    first_bytes: int | None
    from_bytes: int | None


class Crossings(_Answer):
    """Where descriptor DMA beats write-combined stores."""

    latency: Crossing
    bandwidth: Crossing
    cpu: Crossing


class Loopback(_Answer):
    """The latency of a packet written by stores, looped back, and returned by DMA."""

    packet_bytes: int
    pcie_ns: float
    nic_ns: float
    total_ns: float
    pcie_share: float
