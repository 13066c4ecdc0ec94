"""Questions to the model.

pydantic makes the objects of answers, which the compiled half has computed, from their JSON.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import out_of_range
from pcielab.library.link import Link
from pcielab.model.answer_list import Answers
from pcielab.model.answers import (
    Bandwidth,
    Capacities,
    EngineRates,
    ExpanderRates,
    InterleavedRates,
    LinkSizing,
    NicThroughput,
    Sizing,
    TestBounds,
)
from pcielab.model.link import Accounting, Ethernet, Limits
from pcielab.model.whole_questions import (
    BandwidthQuestion,
    EngineQuestion,
    ExpanderQuestion,
    InterleavedQuestion,
    LinkSizingQuestion,
    NicQuestion,
    SizingQuestion,
)

if TYPE_CHECKING:
    from pcielab.library.engines import EngineProfile
    from pcielab.library.expanders import ExpanderProfile
    from pcielab.library.nics import NicProfile

_INTEGERS = 1 << 32
_BANDWIDTHS = TypeAdapter(list[Bandwidth])
_THROUGHPUTS = TypeAdapter(list[NicThroughput])
_SIZINGS = TypeAdapter(list[Sizing])
_LINK_SIZINGS = TypeAdapter(list[LinkSizing])
_RATES = TypeAdapter(list[EngineRates])
_EXPANDED = TypeAdapter(list[ExpanderRates])
_INTERLEAVED = TypeAdapter(list[InterleavedRates])
_BOUNDS = TypeAdapter(list[TestBounds | None])


@refuses_wrong_types
def bandwidth(
    link: Link,
    sizes_bytes: Sequence[int],
    *,
    accounting: Accounting = Accounting.SPEC,
    limits: Limits | None = None,
    offset_bytes: int = 0,
    completion_bytes: int | None = None,
    low_share: float | None = None,
) -> list[Bandwidth]:
    """The highest bandwidth of transfers of each size, starting `offset_bytes` above a 4 KiB boundary.

    The host's completions are as large as MPS, or end at every multiple of `completion_bytes`. With `low_share`,
    that share of the transfers has addresses below 4 GiB, and all others have 64 bits.
    """
    question: BandwidthQuestion = {
        "model": model_json(link, accounting, limits),
        "sizes_bytes": list(sizes_bytes),
        "offset_bytes": offset_bytes,
        "completion_bytes": completion_bytes,
        "low_share": low_share,
    }
    return Answers(_BANDWIDTHS.validate_json(_core.model_bandwidth(question_json(question))))


@refuses_wrong_types
def nic(
    device: "NicProfile",
    link: Link,
    frames_bytes: Sequence[int],
    *,
    ethernet: Ethernet | None = None,
    accounting: Accounting = Accounting.SPEC,
    limits: Limits | None = None,
    low_share: float | None = None,
) -> list[NicThroughput]:
    """The rates that a device reaches with Ethernet frames of each size, FCS included.

    `low_share` is as in `bandwidth`.
    """
    question: NicQuestion = {
        "model": model_json(link, accounting, limits),
        "ethernet": asdict(ethernet or Ethernet()),
        "frames_bytes": list(frames_bytes),
        "low_share": low_share,
    }
    return Answers(_THROUGHPUTS.validate_json(_core.model_nic(device.handle, question_json(question))))


@refuses_wrong_types
def sizing(
    frames_bytes: Sequence[int],
    latencies_ns: Sequence[float],
    *,
    ethernet: Ethernet | None = None,
    device: "NicProfile | None" = None,
    clock_ghz: float | None = None,
) -> list[Sizing]:
    """DMAs that a device must keep in flight, for each frame size and each latency of one DMA."""
    question: SizingQuestion = {
        "ethernet": asdict(ethernet or Ethernet()),
        "clock_ghz": clock_ghz,
        "latencies_ns": list(latencies_ns),
        "frames_bytes": list(frames_bytes),
    }
    handle = device.handle if device else None
    return Answers(_SIZINGS.validate_json(_core.model_sizing(handle, question_json(question))))


@refuses_wrong_types
def link_sizing(
    link: Link,
    sizes_bytes: Sequence[int],
    latencies_ns: Sequence[float],
    *,
    accounting: Accounting = Accounting.SPEC,
    completion_bytes: int | None = None,
    clock_ghz: float | None = None,
) -> list[LinkSizing]:
    """Tags, reads in flight and completion space that fill a link, for each size and each round trip of a read.

    >>> from pcielab import model
    >>> link = model.Link(generation=4, lanes=8, mps_bytes=256, mrrs_bytes=512)
    >>> model.link_sizing(link, [64], [900.0])[0].tags_to_fill
    168
    """
    question: LinkSizingQuestion = {
        "model": model_json(link, accounting, None),
        "sizes_bytes": list(sizes_bytes),
        "latencies_ns": list(latencies_ns),
        "completion_bytes": completion_bytes,
        "clock_ghz": clock_ghz,
    }
    return Answers(_LINK_SIZINGS.validate_json(_core.model_link_sizing(question_json(question))))


@refuses_wrong_types
def engine(
    profile: "EngineProfile", sizes_bytes: Sequence[int], *, link: Link | None = None, depth: int | None = None
) -> list[EngineRates]:
    """The rates that an engine reaches with commands of each size: a drive, a GPU's copy engines, an FPGA shell.

    A rate is the least of four bounds: the link with every access of a command on it, the commands in flight, the
    engine's commands a second, and the data that the engine itself takes or gives.

    Args:
        profile: The engine; see `load_engine`.
        sizes_bytes: Data of a command: 60 B to 4 KiB, or a multiple of 4 KiB up to 1 GiB.
        link: The link; absent: the engine's usual one.
        depth: Commands in flight; absent: the engine's usual number. `both` has as many in each direction.

    Raises:
        InputError: A size or the depth is out of range.
    """
    question: EngineQuestion = {
        "link": asdict(link) if link else None,
        "sizes_bytes": list(sizes_bytes),
        "depth": depth,
    }
    return Answers(_RATES.validate_json(_core.model_engine(profile.handle, question_json(question))))


@refuses_wrong_types
def expander(
    profile: "ExpanderProfile",
    read_shares: Sequence[float],
    *,
    loads: Sequence[float] = (),
    requesters: Mapping[str, float] | None = None,
) -> list[ExpanderRates]:
    """The peak of memory behind CXL.mem with each mix of reads and writes, and how long a read takes below it.

    Args:
        profile: The expander; see `load_expander`.
        read_shares: Shares of the lines that are read, 0 to 1.
        loads: Shares of the peak, 0 to 0.99, at which to give the mean time of a read beyond the host.
        requesters: `cores`, the `fill_buffers` of each, and `host_ns`, the host's part of a line's time; their
            lines in flight may limit the peak. None: any number.

    Raises:
        InputError: A share or number is out of range.

    >>> from pcielab import model
    >>> [rates] = model.expander(model.load_expander("cxl2-ddr5-5600"), [1.0])
    >>> rates.bound, round(rates.peak_gbytes_per_s, 1)
    ('slots-from-memory', 26.8)
    """
    question: ExpanderQuestion = {
        "read_shares": list(read_shares),
        "loads": list(loads),
        "cores": None if requesters is None else dict(requesters),
    }
    return Answers(_EXPANDED.validate_json(_core.model_expander(profile.handle, question_json(question))))


@refuses_wrong_types
def interleaved(
    expanders: "Sequence[tuple[ExpanderProfile, float]]",
    read_shares: Sequence[float],
    *,
    local: tuple[Mapping[str, Any], float] | None = None,
    loads: Sequence[float] = (),
) -> list[InterleavedRates]:
    """What expanders, and memory of the host, give together where lines are interleaved over them by weight.

    Args:
        expanders: Each with its weight: of each round of lines, as many go to it.
        read_shares: Shares of the lines that are read, 0 to 1.
        local: Memory of the host (`local_memory`) with its weight; None: none.
        loads: Shares of the peak of all, 0 to 0.99, at which to give the mean time of a read.

    Raises:
        InputError: A share, weight or number is out of range.

    >>> from pcielab import model
    >>> expander = model.load_expander("cxl2-ddr5-5600")
    >>> [two] = model.interleaved([(expander, 1), (expander, 1)], [1.0])
    >>> round(two.peak_gbytes_per_s, 1), [round(one.gbytes_per_s, 1) for one in two.members]
    (53.5, [26.8, 26.8])
    """
    memory, weight = (None, 1.0) if local is None else local
    question: InterleavedQuestion = {
        "weights": [weight for _, weight in expanders],
        "local": None if memory is None else dict(memory),
        "local_weight": weight,
        "read_shares": list(read_shares),
        "loads": list(loads),
    }
    handles = [profile.handle for profile, _ in expanders]
    return Answers(_INTERLEAVED.validate_json(_core.model_interleaved(handles, question_json(question))))


def local_memory(
    channels: int, megatransfers_per_s: int, *, unloaded_ns: float = 90.0, like: "ExpanderProfile"
) -> dict[str, Any]:
    """Memory of the host for `interleaved`, with the banks, bus and arrivals of an expander.

    Args:
        channels: Channels of 64 data bits.
        megatransfers_per_s: Transfers of a channel: the number of `DDR5-4800`.
        unloaded_ns: Time of a read that meets no other, from where the expanders' times begin.
        like: The expander whose banks, data share and unevenness apply.
    """
    memory = {**like.memory.dump(), "channels": channels, "megatransfers_per_s": megatransfers_per_s}
    name = f"local {channels} x {megatransfers_per_s} MT/s"
    return {"name": name, "unloaded_ns": unloaded_ns, "memory": memory, "arrivals": like.arrivals.dump()}


def system_bounds(system: _core.System, tests: Sequence[Mapping[str, Any]]) -> list[TestBounds | None]:
    """The bounds of each test on a simulated system; None for a test without bounds.

    Args:
        system: The system.
        tests: Parameters of tests.
    """
    return _BOUNDS.validate_json(_core.test_bounds(system, json.dumps([dict(test) for test in tests])))


def system_capacities(system: _core.System) -> Capacities:
    """The capacities of a system that a window can exceed: cache shares and IO-TLB reach."""
    return Capacities.model_validate_json(system.capacities())


def model_json(link: Link, accounting: Accounting, limits: Limits | None) -> dict[str, Any]:
    """The model of a question, as the compiled half takes it."""
    return {"link": asdict(link), "accounting": accounting, "limits": asdict(limits or Limits())}


def question_json(question: Mapping[str, Any]) -> str:
    """A question as the compiled half takes it."""
    _check_numbers(question)
    return json.dumps(question)


def _check_numbers(value: Any, key: str = "") -> None:
    """Refuse numbers that the compiled half cannot read; it checks all others itself."""
    if isinstance(value, Mapping):
        for inner_key, inner in value.items():
            _check_numbers(inner, inner_key)
    elif isinstance(value, list):
        for inner in value:
            _check_numbers(inner, key)
    elif isinstance(value, float) and not math.isfinite(value):
        raise out_of_range(key, value, "a finite number")
    elif isinstance(value, int) and not 0 <= value < _INTEGERS:
        raise out_of_range(key, value, f"a whole number above 0, below {_INTEGERS}")
