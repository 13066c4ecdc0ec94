"""DRAM refresh from one distribution: 64 B cold DMA reads of a small window, one at a time.

A read that meets a refresh waits for its end. So the excess over the main mode is uniform up to the length of a
refresh, and the share of these reads is length over interval, times the refreshes met. Reads in flight when a
refresh begins are repeated after it: they lie together, some 50 ns beyond that edge.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pcielab.formats.published import NFP6000_TIMER

_MODE_TICKS = 4
"""The main mode, with the conflicts behind it (`scatter.py`), lies within this many ticks of its peak."""
_LONGEST_NS = 500.0
"""Longer waits have another cause."""
_AT_THE_END = 0.25
"""The refreshes end where ticks fall below this share of the fullest; a few waits come later."""
_LEAST_SHARE = 1e-3
"""Fewer waits than this are no second mode."""
_LATER_TICKS = range(2, 9)
"""Distance of repeated reads from the edge of the refreshes."""
_LEAST_LATER = 2e-5
_LENGTHS_NS = (90.0, 110.0, 160.0, 260.0, 300.0, 350.0)
"""tRFC of DDR3 and DDR4 devices of 1 to 16 Gb (JEDEC JESD79-3, JESD79-4)."""


@dataclass(frozen=True)
class Refreshes:
    """Refreshes, and the reads that they abort.

    Attributes:
        duration_ns: Length of a refresh.
        share: Refreshes met per refresh of one rank.
        caught_ns: How long before a refresh a read can begin and still be aborted.
        again_ns: Extra time of repeating it, beyond the refresh.
    """

    duration_ns: float
    share: float
    caught_ns: float = 0.0
    again_ns: float = 0.0


def refreshes(distribution: Sequence[tuple[int, float]], interval_ns: float) -> Refreshes | None:
    """The refreshes that a distribution shows; None where it has no second mode.

    The distribution has ticks, rising, with shares of samples; `interval_ns` is the average time between two
    refreshes of a rank.
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
    # The waits are uniform from 0; the main mode hides the shortest.
    hidden_ns = (first - 0.5 - middle) * tick_ns
    edge = _edge(dict(waits))
    duration_ns = min(_LENGTHS_NS, key=lambda length: abs(length - (edge - middle) * tick_ns))
    later = [(tick, share) for tick, share in waits if tick - edge in _LATER_TICKS]
    made_again = sum(share for _, share in later)
    share = (met - made_again) * interval_ns / (duration_ns - hidden_ns)
    if made_again < _LEAST_LATER:
        return Refreshes(duration_ns, share)
    caught_ns = made_again * interval_ns / share
    mean_ns = (sum(tick * share for tick, share in later) / made_again - middle) * tick_ns
    again_ns = max(mean_ns - duration_ns - caught_ns / 2, 0.0)
    return Refreshes(duration_ns, share, round(caught_ns, 2), round(again_ns, 1))


def _edge(waits: dict[int, float]) -> int:
    """The last tick of the refreshes: from the fullest one on, before their shares fall off."""
    edge = max(waits, key=lambda tick: waits[tick])
    least = _AT_THE_END * waits[edge]
    while waits.get(edge + 1, 0.0) >= least:
        edge += 1
    return edge
