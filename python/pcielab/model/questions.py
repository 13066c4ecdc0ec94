"""Questions to the model: what they are made of, and the functions that ask them."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from pydantic import TypeAdapter

from pcielab import _core
from pcielab.errors import InputError
from pcielab.model.answers import Bandwidth, NicThroughput, Sizing
from pcielab.model.nic import NicProfile


class Accounting(StrEnum):
    """`spec` is a true ceiling; `sigcomm18` reproduces the 2018 paper's numbers, quirks included."""

    SPEC = "spec"
    SIGCOMM18 = "sigcomm18"


class Gap(StrEnum):
    """The idle time between Ethernet packets: what senders leave, or the least a receiver must bear."""

    STANDARD = "standard"
    MINIMUM = "minimum"


@dataclass(frozen=True, kw_only=True)
class Link:
    """A link as its two ends negotiated it."""

    generation: int
    lanes: int
    mps_bytes: int
    mrrs_bytes: int
    rcb_bytes: int = 64
    address_bits: int = 64
    ecrc: bool = False
    flit_mode: bool | None = None


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


_INTEGERS = 1 << 32
_BANDWIDTHS = TypeAdapter(list[Bandwidth])
_THROUGHPUTS = TypeAdapter(list[NicThroughput])
_SIZINGS = TypeAdapter(list[Sizing])


def bandwidth(
    link: Link,
    sizes_bytes: Sequence[int],
    *,
    accounting: Accounting = Accounting.SPEC,
    limits: Limits | None = None,
    offset_bytes: int = 0,
) -> list[Bandwidth]:
    """The highest bandwidth of transfers of each size, starting `offset_bytes` above a 4 KiB boundary."""
    question = {
        "model": model_json(link, accounting, limits),
        "sizes_bytes": list(sizes_bytes),
        "offset_bytes": offset_bytes,
    }
    return _BANDWIDTHS.validate_json(_core.model_bandwidth(question_json(question)))


def nic(
    device: NicProfile,
    link: Link,
    frames_bytes: Sequence[int],
    *,
    ethernet: Ethernet | None = None,
    accounting: Accounting = Accounting.SPEC,
    limits: Limits | None = None,
) -> list[NicThroughput]:
    """The rates that a device reaches with Ethernet frames of each size, FCS included."""
    question = {
        "model": model_json(link, accounting, limits),
        "device": device.as_question(),
        "ethernet": asdict(ethernet or Ethernet()),
        "frames_bytes": list(frames_bytes),
    }
    return _THROUGHPUTS.validate_json(_core.model_nic(question_json(question)))


def sizing(
    frames_bytes: Sequence[int],
    latencies_ns: Sequence[float],
    *,
    ethernet: Ethernet | None = None,
    device: NicProfile | None = None,
    clock_ghz: float | None = None,
) -> list[Sizing]:
    """What a device must hold in flight for each frame size and each latency of one DMA."""
    question = {
        "ethernet": asdict(ethernet or Ethernet()),
        "device": device.as_question() if device else None,
        "clock_ghz": clock_ghz,
        "latencies_ns": list(latencies_ns),
        "frames_bytes": list(frames_bytes),
    }
    return _SIZINGS.validate_json(_core.model_sizing(question_json(question)))


def model_json(link: Link, accounting: Accounting, limits: Limits | None) -> dict[str, Any]:
    """The model that a question is put to, as the compiled half takes it."""
    return {"link": asdict(link), "accounting": accounting, "limits": asdict(limits or Limits())}


def question_json(question: dict[str, Any]) -> str:
    """A question as the compiled half takes it.

    Raises:
        InputError: A number in it is none that it could read.
    """
    _check_numbers(question)
    return json.dumps(question)


def _check_numbers(value: Any, key: str = "") -> None:
    """Name the key of a number that the compiled half could not even read; it checks all others itself."""
    if isinstance(value, dict):
        for inner_key, inner in value.items():
            _check_numbers(inner, inner_key)
    elif isinstance(value, list):
        for inner in value:
            _check_numbers(inner, key)
    elif isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{key}: {value} is out of range: give a finite number")
    elif isinstance(value, int) and not 0 <= value < _INTEGERS:
        raise InputError(f"{key}: {value} is out of range: give a whole number above 0, below {_INTEGERS}")
