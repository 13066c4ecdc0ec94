"""Machines that enter idle states when no read keeps them awake.

Two effects are separated. A lone transaction waits for the machine to wake up: a pack's one distribution shows for
how long, and the medians show after how long a pause. And from time to time the machine stalls for milliseconds:
average latencies and write bandwidths depend on how often, which differs from test to test.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median, stdev
from typing import Any

from pcielab.analysis.calibrate.measured import Row
from pcielab.analysis.calibrate.residuals import predicted_ns, transaction_ns
from pcielab.analysis.calibrate.twin import Twin
from pcielab.formats.published import NFP6000_TIMER

_HEAVY = 1.3
"""Ratio of average to median latency from which stalls dominate the average."""
_BANDWIDTH_SHARE, _SLOWED_SHARE = 0.02, 0.1
"""Tolerated relative error of a read bandwidth above the prediction, and below it: sleep makes nothing faster."""
_FAST_BELOW, _TAIL_FROM = 0.8, 1.25
"""Bounds, relative to the main mode, of latencies without a wake-up and with a slow one."""
_STALL_FROM_NS = 1e6
"""Wake-ups take microseconds, stalls milliseconds."""
_GROUPS = 12
_WIDEST, _SHARE_LEAST = 1.25, 0.01
"""Widest group of wake-ups, slowest over fastest (a group is uniform, tails are long), and its least share of all
slow ones."""
_NEVER_NS = 1e12
_STALLED_LEAST = 0.02
"""Smaller shares of time are within the error of the prediction without stalls."""
_ROWS_LEAST = 8
"""Fewest rows from which the spread between tests is estimated."""

IDLE_KEYS = tuple(
    f"host.idle.{name}"
    for name in (
        "fast_share_short_gap",
        "fast_share_long_gap",
        "wake_floor_ns",
        "clusters",
        "gap_ns",
        "stalls.duration_ns",
        "stalls.interval_ns",
        "stalls.interval_spread",
    )
)
"""Keys that something else than the joint fit determines, if anything does."""


@dataclass(frozen=True)
class Found:
    """Values of the idle states by dotted key, and the evidence in words."""

    values: dict[str, Any]
    source: str


def has_idle_states(rows: Sequence[Row]) -> bool:
    """Whether stalls dominate most average latencies."""
    ratios = [row.average_ns / row.median_ns for row in rows if row.average_ns and row.median_ns]
    return bool(ratios) and sum(ratio > _HEAVY for ratio in ratios) > len(ratios) / 2


def rough(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows without the numbers that stalls dominate, and with wider tolerances for bandwidths."""
    return tuple(
        replace(
            row,
            average_ns=None,
            bandwidth_gbps=None if _writes_only(row) else row.bandwidth_gbps,
            bandwidth_share=_BANDWIDTH_SHARE,
            slowed_share=_SLOWED_SHARE,
        )
        for row in rows
    )


def _writes_only(row: Row) -> bool:
    return bool(row.test["operation"] == "bw-wr")


def wake_ups(distribution: Sequence[tuple[int, float]], on_card_ns: float) -> Found | None:
    """How long 64 B DMA reads wait for the machine to wake, and how long it stalls; None without a distribution.

    The distribution has ticks and shares of samples; `on_card_ns` is the card's fixed part of these latencies.
    """
    if not distribution:
        return None
    tick_ns = float(NFP6000_TIMER.tick_ns)
    plain = max(distribution, key=lambda pair: pair[1])[0]
    fast = sum(share for tick, share in distribution if tick < _FAST_BELOW * plain)
    stalls = [(tick, share) for tick, share in distribution if tick * tick_ns >= _STALL_FROM_NS]
    slow = 1 - fast - sum(share for _, share in stalls)
    tail = [(tick, share) for tick, share in distribution if plain * _TAIL_FROM < tick < _STALL_FROM_NS / tick_ns]
    values = {
        "host.idle.fast_share_long_gap": round(fast, 5),
        "host.idle.wake_floor_ns": round(plain * tick_ns - on_card_ns, 1),
        "host.idle.clusters": [
            {
                "share": round(sum(share for _, share in group) / slow, 5),
                "low_ns": round((group[0][0] - plain) * tick_ns, 1),
                "high_ns": round((group[-1][0] + 1 - plain) * tick_ns, 1),
            }
            for group in _groups(tail)
        ],
    }
    if stalls:
        values["host.idle.stalls.duration_ns"] = round(_middle(stalls) * tick_ns)
    return Found(values, "distribution of 64 B cold DMA reads")


def _groups(tail: Sequence[tuple[int, float]]) -> Iterator[list[tuple[int, float]]]:
    total = sum(share for _, share in tail)
    group: list[tuple[int, float]] = []
    for tick, share in tail:
        held = sum(part for _, part in group) / total
        wide = bool(group) and tick > _WIDEST * group[0][0]
        if held >= 1 / _GROUPS or (wide and held >= _SHARE_LEAST):
            yield group
            group = []
        group.append((tick, share))
    if group:
        yield group


def _middle(distribution: Sequence[tuple[int, float]]) -> int:
    left = sum(share for _, share in distribution) / 2
    for tick, share in distribution:
        left -= share
        if left <= 0:
            return tick
    return distribution[-1][0]


def sleeping_gap(twin: Twin) -> Found | None:
    """The pause in traffic after which the machine sleeps; None if the rows do not show it.

    A median shows whether a test found the machine awake; the card's loop times give the pause.
    """
    awake = {"host.idle.fast_share_short_gap": 1.0, "host.idle.fast_share_long_gap": 1.0}
    [predicted] = twin.predict([awake])
    half_ns = float(twin.value("host.idle.wake_ns")) / 2
    seen = []
    for row, one in zip(twin.rows, predicted, strict=True):
        quiet_ns = _quiet_ns(twin, row)
        latency_ns = predicted_ns(replace(row, average_ns=None), one)
        if quiet_ns is not None and latency_ns is not None and row.median_ns is not None:
            seen.append((quiet_ns, row.median_ns > latency_ns + half_ns))
    times = sorted({quiet_ns for quiet_ns, _ in seen})
    if len({asleep for _, asleep in seen}) < 2 or len(times) < 2:
        return None
    between = [(low + high) / 2 for low, high in pairwise(times)]
    gap_ns = min(between, key=lambda gap: sum(asleep != (quiet_ns > gap) for quiet_ns, asleep in seen))
    return Found({"host.idle.gap_ns": round(gap_ns, 1)}, f"medians of {len(seen)} latency tests")


def _quiet_ns(twin: Twin, row: Row) -> float | None:
    """The pause between two transactions of a latency test; None if it varies or is unknown."""
    test = row.test
    if row.median_ns is None:
        return None
    if test["path"] == "dma":
        return float(twin.value("device.dma.loop_ns") + twin.value("device.dma.read_overhead_ns"))
    window = twin.value("device.command.bar_window")
    if window is not None and test["window_bytes"] > window["window_bytes"]:
        return None
    command = twin.value("device.command")
    quiet_ns = float(command["loop_ns"] + command["read_overhead_ns"])
    if test["operation"] == "lat-wrrd":
        quiet_ns += command["write_loop_ns"] + command["write_loop_byte_ns"] * test["size_bytes"]
    return quiet_ns


def stalls(twin: Twin, rows: Sequence[Row]) -> Found | None:
    """How often the machine stalls, and how much that varies between tests; None with too few rows.

    The twin has all other values set; `rows` are its rows with averages and write bandwidths.
    """
    numbers = [number for number, row in enumerate(rows) if row.average_ns is not None or _writes_only(row)]
    without = {"host.idle.stalls.interval_ns": _NEVER_NS, "host.idle.stalls.interval_spread": 0.0}
    [predicted] = twin.predict([without], [numbers])
    shares = []
    for number, one in zip(numbers, predicted, strict=True):
        row = rows[number]
        measured_ns, served_ns = transaction_ns(row), predicted_ns(row, one)
        if measured_ns is None or served_ns is None:
            continue
        loop_ns = 0.0 if _writes_only(row) else float(twin.value(f"device.{row.test['path']}.loop_ns"))
        shares.append(max((measured_ns - served_ns) / (served_ns + loop_ns), _STALLED_LEAST))
    if len(shares) < _ROWS_LEAST:
        return None
    duration_ns = float(twin.value("host.idle.stalls.duration_ns"))
    values = {
        "host.idle.stalls.interval_ns": round(duration_ns / median(shares)),
        "host.idle.stalls.interval_spread": round(stdev(math.log(share) for share in shares), 3),
    }
    return Found(values, f"average latencies and write bandwidths of {len(shares)} rows")
