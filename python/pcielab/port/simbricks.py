"""A brick of SimBricks: the calibrated host between devices and hosts that other programs simulate.

`crates/pcie-port/src/simbricks.rs` describes what it does; the guide on other simulators shows it at work.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pcielab import _core
from pcielab.errors import refusal
from pcielab.library.suites.parameters import Cache
from pcielab.port.trace import HEADER, play
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
        raise refusal("missing", "devices: give the socket of at least one device")
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


def time_of_a_read(
    system: "ResolvedSystem",
    latency_ns: float,
    *,
    host: bool,
    cache: Cache = "cold",
    window_bytes: int = 0,
    seed: int = 1,
) -> str:
    """What a read of 64 B takes at least, and whether the simulated host shows in it.

    Args:
        system: The link and the host.
        latency_ns: Latency of each connection.
        host: Whether another program simulates the host, too.
        cache: State of the caches.
        window_bytes: Bytes of the buffer that are warm.
        seed: Seed of the host's draws.
    """
    one = f"{HEADER}\n0 read 0 64\n"
    [read] = play(system, one, cache=cache, window_bytes=window_bytes, seed=seed)
    alone_ns = read.done_ps / 1000
    device_ns, host_ns = 2 * latency_ns, 2 * latency_ns if host else 0
    total_ns = device_ns + max(alone_ns, host_ns)
    words = f"a read of 64 B takes {total_ns:.0f} ns: 2 x {latency_ns:g} ns to the device and back, and "
    if not host:
        return words + f"{alone_ns:.0f} ns of link and host"
    if host_ns < alone_ns:
        return (
            words
            + f"{alone_ns:.0f} ns of link and host, or the {host_ns:g} ns to the other host and back if it is late"
        )
    return words + (
        f"2 x {latency_ns:g} ns to the other host and back, behind which the {alone_ns:.0f} ns of the simulated "
        f"link and host do not show: give all peers less than {alone_ns / 2:.0f} ns (--latency-ns)"
    )


def _check_time(name: str, value: float, least: float, most: float) -> None:
    """Refuse a time out of range, NaN too."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise refusal("out-of-range", f"{name} is {shown(value)}: give {least:g} to {most:g}")
