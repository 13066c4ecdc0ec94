"""A brick of SimBricks: the calibrated host between devices and hosts that other programs simulate.

`crates/pcie-port/src/simbricks.rs` describes what it does; the guide on other simulators shows it at work.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pcielab import _core
from pcielab.errors import InputError
from pcielab.library.suites.parameters import Cache
from pcielab.wording import shown

if TYPE_CHECKING:
    from pcielab.library.profiles import ResolvedSystem

_MOST_LATENCY_NS = 1e9
_DAY_S = 86_400.0


@dataclass(frozen=True)
class Passed:
    """What has passed a brick.

    Attributes:
        time_ns: Simulated time of the last device to end.
        messages: Messages from devices and hosts, without those that only tell the time.
    """

    time_ns: float
    messages: int


def couple(
    system: "ResolvedSystem",
    devices: Sequence[Path],
    hosts: Sequence[Path] = (),
    *,
    cache: Cache = "cold",
    window_bytes: int = 0,
    seed: int = 1,
    latency_ns: float = 500,
    patience_s: float = 30,
) -> Passed:
    """Run a brick until every connection has ended.

    Args:
        system: The link and the host that each device gets.
        devices: Sockets on which devices listen.
        hosts: Sockets to make for their hosts, in the same order; none to stand in for the hosts.
        cache: State of the caches at the start.
        window_bytes: Bytes of the buffer that are warm, from its start.
        seed: Seed of the host's draws.
        latency_ns: Latency of each connection, at least 0.001.
        patience_s: For how long a peer may stand still in real time; at most a day.

    Raises:
        InputError: A socket cannot be used, there are more devices than hosts, or a time is out of range.
        RunError: A peer stops, stands still, or breaks the interface.
        UnavailableError: This is not Linux.
    """
    if not devices:
        raise InputError("devices: give the socket of at least one device")
    _check_time("latency_ns", latency_ns, 0.001, _MOST_LATENCY_NS)
    _check_time("patience_s", patience_s, 0, _DAY_S)
    if not hasattr(_core, "simbricks"):
        raise _core.UnavailableError("SimBricks needs Linux: its peers share memory files")
    time_ps, messages = _core.simbricks(
        system.handle,
        list(devices),
        list(hosts),
        cache=cache,
        window_bytes=window_bytes,
        seed=seed,
        latency_ps=round(latency_ns * 1000),
        patience_s=patience_s,
    )
    return Passed(time_ps / 1000, messages)


def _check_time(name: str, value: float, least: float, most: float) -> None:
    """Refuse a time out of range, NaN too."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise InputError(f"{name} is {shown(value)}: give {least:g} to {most:g}")
