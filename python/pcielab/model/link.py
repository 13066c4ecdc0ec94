"""Parts of questions besides the link: limits of the device, and the Ethernet line behind it.

Written by `make generate` from `crates/pcie-model/src`: change the types there.
"""

from dataclasses import dataclass
from enum import StrEnum


class Accounting(StrEnum):
    """Which arithmetic to use."""

    SPEC = "spec"
    """The specification's: a ceiling that no measurement exceeds."""
    SIGCOMM18 = "sigcomm18"
    """The 2018 paper's, quirks included (`sigcomm18` says which)."""


class Gap(StrEnum):
    """The idle time between two packets."""

    STANDARD = "standard"
    """12 bytes, as senders leave on average."""
    MINIMUM = "minimum"
    """Smallest gap that a receiver must accept after clock compensation: 8 bytes at 1 Gb/s, 5 up to 25 Gb/s, 1
    above."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of a device and of the receiver at the other end. A limit that is left out does not bind."""

    round_trip_ns: float | None = None
    """From a read request's departure to its data's arrival, in ns."""
    tags: int | None = None
    """Read requests that may be outstanding: 32 with 5-bit tags, 256 with 8, 768 with 10, up to 16384 with the 14
    of flit mode."""
    dmas_in_flight: int | None = None
    """DMAs that the device keeps in flight, reads and writes together."""
    dma_ns: float | None = None
    """Time that one of them is in flight, in ns; by default the round trip."""
    posted_header_credits: int | None = None
    """Posted header credits (PH): write TLPs that the receiver holds."""
    posted_data_credits: int | None = None
    """Posted data credits (PD): units of 16 B of write data that the receiver holds."""
    non_posted_header_credits: int | None = None
    """Non-posted header credits (NPH): read requests that the receiver holds."""
    credit_return_ns: float | None = None
    """From a TLP's departure to its credit's return, in ns."""
    device_mdmas_per_s: float | None = None
    """DMAs that the device can start, in millions a second."""
    device_port_ns: float | None = None
    """Time that the device's port needs to send the TLPs of a DMA, in ns: whole units of the port and the gaps
    behind them, which the bound of the wire does not charge."""
    root_port_ns: float | None = None
    """The same of the root port."""
    replay_buffer_ns: float | None = None
    """Time that a port's replay buffer needs for the TLPs of a DMA, in ns: it holds each until its Ack is back.
    The longer time of the two directions."""
    request_interval_ns: float | None = None
    """Least time between two read requests that the root complex accepts, in ns."""
    write_interval_ns: float | None = None
    """Least time between two write TLPs that the root complex accepts, in ns."""
    write_line_ns: float | None = None
    """Additional time for each cache line that they touch, in ns."""
    receive_buffers: int | None = None
    """Read requests whose data the device can buffer until it has processed them."""
    receive_ns: float | None = None
    """From the departure of a request's first completion until the device has processed its data, in ns."""
    completion_buffer_headers: int | None = None
    """Headers of completions that the device can buffer: each read request reserves as many as RCB allows."""
    completion_buffer_bytes: int | None = None
    """Data of completions that the device can buffer, in bytes: each read request reserves room for its data, in
    whole credits of 16 B."""
    walks_per_dma: float | None = None
    """Page walks that an average DMA needs."""
    walk_interval_ns: float | None = None
    """Least time between two page walks, all walkers together, in ns."""
    misses_per_dma: float | None = None
    """Pages of an average DMA that the IO-TLB misses because a driver gives them anew."""
    miss_interval_ns: float | None = None
    """Least time between two of these misses, all walkers together, in ns."""
    write_pool_lines: int | None = None
    """Cache lines of writes that the root complex holds."""
    write_hold_ns: float | None = None
    """Least time for which it holds one, in ns."""
    read_pool_lines: int | None = None
    """Cache lines of read requests that the root complex holds."""
    read_hold_ns: float | None = None
    """Least time for which it holds one, in ns."""
    memory_line_ns: float | None = None
    """Least time between two lines that memory takes from devices, in ns."""
    ack_interval_symbols: int | None = None
    """Symbol times between Acks while TLPs arrive; the specification's limit, if left out."""
    update_fc_interval_symbols: int | None = None
    """Symbol times between UpdateFCs while TLPs arrive; the specification's guideline, if left out."""


@dataclass(frozen=True, kw_only=True)
class Ethernet:
    """An Ethernet line."""

    line_gbps: float = 40.0
    """Gb/s: 1, 2.5, 5, 10, 25, 40, 50, 100, 200, 400 or 800."""
    vlan: bool = False
    """Whether frames carry a VLAN tag on the line, which the NIC strips and adds: 4 bytes more than the frame."""
    gap: Gap = Gap.STANDARD
    """The gap between packets."""
