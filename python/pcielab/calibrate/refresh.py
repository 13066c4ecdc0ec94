"""DRAM refresh from one distribution: 64 B cold DMA reads of a small window, one at a time.

A read that meets a refresh waits for its end: so the excess over the main mode is uniform up to the length of a
refresh, and the share of such reads is length over interval, times how many refreshes are met.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pcielab.published import NFP6000_TIMER

_MODE_TICKS = 2
"""The main mode lies within this many ticks of its peak."""
_LONGEST_NS = 500.0
"""What waits longer than this waits for something else."""
_AT_THE_END = 0.25
"""The refreshes end where the ticks fall below this part of the fullest: a few waits come later than that."""
_LEAST_SHARE = 1e-3
"""Fewer waits than this are no second mode."""
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
    peak = max(distribution, key=lambda pair: pair[1])[0]
    mode = [(tick, share) for tick, share in distribution if abs(tick - peak) <= _MODE_TICKS]
    middle = sum(tick * share for tick, share in mode) / sum(share for _, share in mode)
    first = peak + _MODE_TICKS + 1
    waits = [(tick, share) for tick, share in distribution if first <= tick <= peak + _LONGEST_NS / tick_ns]
    met = sum(share for _, share in waits)
    if met < _LEAST_SHARE:
        return None
    # The waits are uniform: what is shown of them begins behind the main mode.
    hidden_ns = (first - 0.5 - middle) * tick_ns
    fullest = max(share for _, share in waits)
    length_ns = (max(tick for tick, share in waits if share >= _AT_THE_END * fullest) - middle) * tick_ns
    duration_ns = min(_LENGTHS_NS, key=lambda length: abs(length - length_ns))
    return Refreshes(duration_ns, met * interval_ns / (duration_ns - hidden_ns))
