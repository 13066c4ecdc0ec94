"""Captures and simulated hosts: accesses played with other cuts, and captures of simulated accesses."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pcielab import _core
from pcielab.captures.reading import Reading
from pcielab.errors import refusal
from pcielab.port.trace import play_columns

if TYPE_CHECKING:
    from pcielab.library.profiles import ResolvedSystem
    from pcielab.library.suites.parameters import Cache


@dataclass(frozen=True)
class PlayedCut:
    """The device's accesses of a capture, played as early as possible on a simulated host.

    Attributes:
        cuts: `as captured`, or `merged`: adjacent requests as one, cut at the link's MPS and MRRS.
        transfers: Transfers.
        bytes: Their data.
        gbps: Their rate, simulated.
        median_ns: The median time from a transfer's first TLP to its last completion or byte, simulated.
    """

    cuts: str
    transfers: int
    bytes: int
    gbps: float
    median_ns: float


def device_trace(
    path: Path | str,
    system: "ResolvedSystem",
    *,
    reading: Reading | None = None,
    merged: bool = False,
    timed: bool = True,
) -> str:
    """Make a trace, as `pcielab.port.trace` plays it, of the device's reads and writes in a capture.

    Args:
        path: The capture.
        system: Its host buffer takes the accesses: pages in the order of first use.
        reading: How to read the capture.
        merged: Whether adjacent requests become one transfer.
        timed: Whether transfers keep their times, or are all sent as early as possible.

    Raises:
        InputError: The file is damaged, or has no read or write of a device.
    """
    host = system.system
    buffer_bytes = len(host.chunk_addresses) * host.chunk_bytes
    text = _core.capture_trace(Path(path), (reading or Reading()).to_json(), merged, timed, buffer_bytes)
    if text.count("\n") <= 2:
        raise refusal("missing", f"{path}: has no memory read or write of a device: there is nothing to play")
    return text


def better_cuts(
    path: Path | str, system: "ResolvedSystem", *, reading: Reading | None = None, seed: int = 1
) -> list[PlayedCut]:
    """Play the device's accesses of a capture on a host: as captured, and with adjacent requests merged.

    Raises:
        InputError: Those of `device_trace`, and an access that does not fit the host.
    """
    rows = []
    for cuts, merged in (("as captured", False), ("merged", True)):
        text = device_trace(path, system, reading=reading, merged=merged, timed=False)
        played = play_columns(system, text, seed=seed)
        moved = int(played.bytes.sum())
        elapsed_ps = max(int(played.done_ps.max()) - int(played.sent_ps.min()), 1)
        times = sorted((played.done_ps - played.sent_ps).tolist())
        median_ns = times[(len(times) - 1) // 2] / 1000
        rows.append(PlayedCut(cuts, len(played), moved, 8000 * moved / elapsed_ps, median_ns))
    return rows


def record(
    system: "ResolvedSystem",
    text: str,
    *,
    file_format: str = "list",
    with_credits: bool = False,
    cache: "Cache" = "cold",
    window_bytes: int = 0,
    seed: int = 1,
) -> bytes:
    """Play a trace on a host, and make the capture that an analyser at the device would have.

    Args:
        system: The host and the link.
        text: The trace.
        file_format: Format of the file: `list` (CSV), `raw` or `cyrozap` (pcap-ng), `text`, `ila-csv`, `vcd`.
        with_credits: Whether the capture has an UpdateFC whenever credits come back.
        cache: State of the caches before the first transfer.
        window_bytes: Bytes of the buffer that are warm, from its start.
        seed: Seed of the host's draws.

    Returns:
        The content of the file, whose times are simulated.

    Raises:
        InputError: A line is wrong, a transfer does not fit the host, or the format is unknown.
    """
    return _core.capture_record(system.handle, text, file_format, with_credits, cache, window_bytes, seed)
