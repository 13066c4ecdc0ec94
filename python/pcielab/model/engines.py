"""Rates of engines that work on commands: drives, copy engines of GPUs, FPGA shells.

A rate is the least of four bounds: the link with every access of a command on it, the commands in flight, the
engine's commands a second, and the data that the engine itself takes or gives.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import out_of_range
from pcielab.library.engines import EngineProfile, EngineStep
from pcielab.library.link import Link
from pcielab.library.nics import NicProfile
from pcielab.model.answers import Answer
from pcielab.model.questions import nic

_PAGE_BYTES = 4096
_LEAST_BYTES = 60
_MOST_BYTES = 1 << 30
_FCS_BYTES = 4
_MOST_PACKETS = 1_000_000
_PATHS = {"tx": "to-device", "rx": "to-host"}


@dataclass(frozen=True)
class EngineRate:
    """The rate of one direction.

    Attributes:
        gbytes_per_s: Data, in GB/s.
        million_commands_per_s: Commands, in millions a second.
        bound: What limits it: a bound of the link, `queue-depth`, `command-rate` or `device`.
        ceilings: The rate that each bound alone would allow, in GB/s.
    """

    gbytes_per_s: float
    million_commands_per_s: float
    bound: str
    ceilings: dict[str, float]


@dataclass(frozen=True)
class EngineRates:
    """The rates of an engine with commands of one size.

    Attributes:
        size_bytes: Data of one command.
        depth: Commands in flight, all queues together.
        to_device: Commands that read host memory, alone.
        to_host: Commands that write host memory, alone.
        both: Both at equal rates; the rate of one direction.
    """

    size_bytes: int
    depth: int
    to_device: EngineRate
    to_host: EngineRate
    both: EngineRate


@refuses_wrong_types
def engine(
    profile: EngineProfile, sizes_bytes: Sequence[int], *, link: Link | None = None, depth: int | None = None
) -> list[EngineRates]:
    """The rates that an engine reaches with commands of each size.

    Args:
        profile: The engine; see `load_engine`.
        sizes_bytes: Data of a command: 60 B to 4 KiB, or a multiple of 4 KiB up to 1 GiB.
        link: The link; absent: the engine's usual one.
        depth: Commands in flight; absent: the engine's usual number. `both` has as many in each direction.

    Raises:
        InputError: A size or the depth is out of range.
    """
    queue = profile.queue
    in_flight = queue.depth if depth is None else depth
    if not 1 <= in_flight <= queue.depth_most:
        raise out_of_range(
            "depth", in_flight, f"1 to {queue.depth_most}, the commands in flight of {profile.name}"
        )
    return [_rates(profile, size, link or profile.usual_link, in_flight) for size in sizes_bytes]


def _rates(profile: EngineProfile, size_bytes: int, link: Link, depth: int) -> EngineRates:
    pieces = _pieces(size_bytes)
    frame_bytes = size_bytes // pieces + _FCS_BYTES
    [found] = nic(_as_nic(profile, size_bytes, pieces), link, [frame_bytes])
    pace = profile.pace
    to_device_ns = pace.command_ns if pace.to_device_command_ns is None else pace.to_device_command_ns
    ways: list[tuple[Answer | None, float, list[float | None]]] = [
        (found.tx, to_device_ns, [pace.to_device_gbytes_per_s]),
        (found.rx, pace.command_ns, [pace.to_host_gbytes_per_s]),
        (
            found.bi,
            max(to_device_ns, pace.command_ns),
            [pace.to_device_gbytes_per_s, pace.to_host_gbytes_per_s],
        ),
    ]
    commands = [pace.million_commands_per_s, pace.million_commands_per_s, _half(pace.million_commands_per_s)]
    rates = [
        _rate(answer, size_bytes, depth, command_ns, most_commands, device)
        for (answer, command_ns, device), most_commands in zip(ways, commands, strict=True)
    ]
    return EngineRates(size_bytes, depth, *rates)


def _rate(
    link: Answer | None,
    size_bytes: int,
    depth: int,
    command_ns: float,
    million_commands_per_s: float | None,
    device: Sequence[float | None],
) -> EngineRate:
    """The least of the bounds of one direction."""
    assert link is not None, "an engine moves data in both directions: its profile is checked for that"
    wire = link.gbps / 8
    ceilings = {str(link.bound): wire, "queue-depth": depth * size_bytes / (command_ns + size_bytes / wire)}
    if million_commands_per_s is not None:
        ceilings["command-rate"] = million_commands_per_s * size_bytes / 1e3
    known = [rate for rate in device if rate is not None]
    if known:
        ceilings["device"] = min(known)
    bound = min(ceilings, key=lambda name: ceilings[name])
    return EngineRate(ceilings[bound], ceilings[bound] * 1e3 / size_bytes, bound, ceilings)


def _half(commands: float | None) -> float | None:
    """Commands of each direction, where both share the engine."""
    return None if commands is None else commands / 2


def _pieces(size_bytes: int) -> int:
    """Pages of a command's data; 1 for up to a page."""
    if _LEAST_BYTES <= size_bytes <= _PAGE_BYTES:
        return 1
    if size_bytes > _PAGE_BYTES and size_bytes % _PAGE_BYTES == 0 and size_bytes <= _MOST_BYTES:
        return size_bytes // _PAGE_BYTES
    remedy = f"{_LEAST_BYTES} to {_PAGE_BYTES} bytes, or a multiple of {_PAGE_BYTES} up to 1 GiB"
    raise out_of_range("sizes_bytes", size_bytes, remedy)


def _as_nic(profile: EngineProfile, size_bytes: int, pieces: int) -> NicProfile:
    """The steps in the language of NICs, with a page of data as the packet."""
    steps = [
        _step(one, path, size_bytes, pieces)
        for path, name in _PATHS.items()
        for one in profile.step
        if one.path in (name, "both") and size_bytes > one.above_bytes
    ]
    content = {"name": profile.name, "description": profile.title, "provenance": "engine", "step": steps}
    return NicProfile.model_validate(content)


def _step(step: EngineStep, path: str, size_bytes: int, pieces: int) -> dict[str, Any]:
    """The step for a page; a list that ends in a part of a batch counts by its share."""
    size: int | str
    if step.bytes == "data":
        size, every = "packet", 1
    elif step.every_bytes is None:
        size, every = step.bytes * step.batch, max(step.every_commands, step.batch) * pieces
    else:
        batch = min(step.batch, -(-size_bytes // step.every_bytes))
        size, every = step.bytes * batch, min(batch * step.every_bytes // _PAGE_BYTES, pieces)
    many = {} if every == 1 else {"every_packets": min(every, _MOST_PACKETS)}
    return {"what": step.what, "path": path, "actor": step.actor, "kind": step.kind, "bytes": size, **many}
