"""DRAM refresh from one distribution: 64 B cold DMA reads of a small window, one at a time.

A read that meets a refresh waits for its end: so the excess over the main mode is uniform up to the length of a
refresh, and the share of such reads is length over interval, times how many refreshes are met.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pcielab.published import NFP6000_TIMER

_MODE_TICKS = 2
"""The main mode lies within this many ticks of its peak."""
_LEAST_SHARE = 2e-4
"""A tick that fewer samples show, a few times in a row, is past the end of the refreshes."""
_EMPTY_TICKS = 3
_LENGTHS_NS = (90.0, 110.0, 160.0, 260.0, 300.0, 350.0)
"""tRFC of DDR3 and DDR4 devices of 1 to 16 Gb (JEDEC JESD79-3, JESD79-4)."""


@dataclass(frozen=True)
class Refreshes:
    """Length of a refresh, and refreshes met per refresh of one rank."""

    duration_ns: float
    share: float


def refreshes(distribution: Sequence[tuple[int, float]], interval_ns: float) -> Refreshes | None:
    """What a distribution (ticks and shares) tells; None where it has no second mode.

    Args:
        distribution: Ticks, rising, and the share of samples at each.
        interval_ns: Average time between two refreshes of a rank.
    """
    if not distribution:
        return None
    tick_ns = float(NFP6000_TIMER.tick_ns)
    shares = dict(distribution)
    peak = max(shares, key=lambda tick: shares[tick])
    first = peak + _MODE_TICKS + 1
    last = _end(shares, first)
    tail = sum(shares.get(tick, 0.0) for tick in range(first, last + 1))
    if last <= first or tail <= 0:
        return None
    seen_ns = (last - peak) * tick_ns
    duration_ns = min(_LENGTHS_NS, key=lambda length: abs(length - seen_ns))
    # The tail shows the waits beyond the main mode; the shorter ones hide in it.
    density = tail / ((last - first + 1) * tick_ns)
    return Refreshes(duration_ns, density * interval_ns)


def _end(shares: dict[int, float], first: int) -> int:
    """The last tick of the second mode."""
    last = first
    for tick in range(first, max(shares) + 1):
        if shares.get(tick, 0.0) >= _LEAST_SHARE:
            last = tick
        elif tick - last >= _EMPTY_TICKS:
            break
    return last
