"""What questions are about: a link, what else bounds the device on it, the Ethernet line behind it. Plain data."""

from dataclasses import dataclass
from enum import StrEnum


class Accounting(StrEnum):
    """`spec` is a true ceiling; `sigcomm18` reproduces the 2018 paper's numbers, quirks included."""

    SPEC = "spec"
    SIGCOMM18 = "sigcomm18"


class Gap(StrEnum):
    """The idle time between Ethernet packets: what senders leave, or the least a receiver must bear."""

    STANDARD = "standard"
    MINIMUM = "minimum"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What bounds a device besides the wire. What is left out does not bind."""

    round_trip_ns: float | None = None
    tags: int | None = None
    dmas_in_flight: int | None = None
    dma_ns: float | None = None
    posted_header_credits: int | None = None
    posted_data_credits: int | None = None
    non_posted_header_credits: int | None = None
    credit_return_ns: float | None = None
    device_mdmas_per_s: float | None = None
    device_port_ns: float | None = None
    root_port_ns: float | None = None
    request_interval_ns: float | None = None
    write_interval_ns: float | None = None
    write_line_ns: float | None = None
    receive_buffers: int | None = None
    receive_ns: float | None = None
    walks_per_dma: float | None = None
    walk_interval_ns: float | None = None
    ack_interval_symbols: int | None = None
    update_fc_interval_symbols: int | None = None


@dataclass(frozen=True, kw_only=True)
class Ethernet:
    """A line; with `vlan`, frames carry a tag there that the NIC strips and adds."""

    line_gbps: float = 40.0
    vlan: bool = False
    gap: Gap = Gap.STANDARD
