"""Machines that fall into idle states between transactions.

Their averages are far above their medians, for some transactions stall for microseconds or milliseconds. The one
distribution of a pack shows how many stall for how long.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pcielab.calibrate.measured import Row
from pcielab.published import NFP6000_TIMER

_HEAVY = 1.3
"""An average so many times the median hangs on stalls."""
_BANDWIDTH_SHARE = 0.1
"""How far bandwidths of such a machine differ from run to run."""
_TAIL_FROM = 1.25
"""Slow wake-ups begin at so many times the plain one."""
_GROUPS = 6
_WIDEST = 1.25
"""The slowest of a group of wake-ups over its fastest: tails reach over decades, and a group is uniform."""


def has_idle_states(rows: Sequence[Row]) -> bool:
    """Whether most latencies hang on stalls."""
    ratios = [row.average_ns / row.median_ns for row in rows if row.average_ns and row.median_ns]
    return bool(ratios) and sum(ratio > _HEAVY for ratio in ratios) > len(ratios) / 2


def rough(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows without averages, which hang on a few stalls, and with bandwidths that need not agree closely."""
    return tuple(replace(row, average_ns=None, bandwidth_share=_BANDWIDTH_SHARE) for row in rows)


def wake_ups(distribution: Sequence[tuple[int, float]]) -> dict[str, Any]:
    """Values of the idle states by dotted key, from a distribution (ticks and shares); empty without one."""
    if not distribution:
        return {}
    tick_ns = float(NFP6000_TIMER.tick_ns)
    plain = max(distribution, key=lambda pair: pair[1])[0]
    fast = sum(share for tick, share in distribution if tick < 0.8 * plain)
    tail = [(tick, share) for tick, share in distribution if tick > _TAIL_FROM * plain]
    slow = 1 - fast
    total = sum(share for _, share in tail)
    groups: list[list[tuple[int, float]]] = [[]]
    for tick, share in tail:
        group = groups[-1]
        held = sum(part for _, part in group)
        if group and (held >= total / _GROUPS or tick > _WIDEST * group[0][0]):
            groups.append([])
        groups[-1].append((tick, share))
    clusters = [_cluster(group, slow, tick_ns) for group in groups if group]
    return {
        "host.idle.fast_share_long_gap": fast,
        "host.idle.wake_floor_ns": plain * tick_ns,
        "host.idle.clusters": clusters,
    }


def _cluster(group: Sequence[tuple[int, float]], slow: float, tick_ns: float) -> dict[str, float]:
    share = sum(part for _, part in group) / slow
    return {"share": share, "low_ns": group[0][0] * tick_ns, "high_ns": (group[-1][0] + 1) * tick_ns}
