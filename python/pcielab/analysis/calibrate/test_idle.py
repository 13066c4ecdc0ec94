"""Idle states from a distribution, from medians, and from numbers that stalls dominate."""

import math
from collections.abc import Sequence
from typing import Any

import pytest

from pcielab import resolve
from pcielab.analysis.calibrate.idle import rough, sleeping_gap, stalls, wake_ups
from pcielab.analysis.calibrate.measured import Row
from pcielab.analysis.calibrate.twin import Predicted, Twin, Values

FAST, PLAIN, SLOW, STALL = 40, 90, 150, 150_000
ON_CARD_NS = 160.0


class Sketch(Twin):
    """A twin that answers 500 ns to every latency test, and 50 ns a write: no simulation."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.system: dict[str, Any] = {
            "device": {
                "dma": {"loop_ns": 190.0, "read_overhead_ns": 150.0},
                "command": {
                    "loop_ns": 190.0,
                    "read_overhead_ns": 40.0,
                    "write_loop_ns": 13.0,
                    "write_loop_byte_ns": 1.0,
                    "bar_window": None,
                },
            },
            "host": {"idle": {"wake_ns": 600.0, "stalls": {"duration_ns": 2e6}}},
        }
        self.rows = tuple(rows)

    def predict(
        self, variants: Sequence[Values], wanted: Sequence[Sequence[int]] | None = None
    ) -> list[list[Predicted]]:
        for variant in variants:  # a simulator would refuse what the file of a system may not hold
            resolve("e3", variant)
        numbers = wanted or [range(len(self.rows))] * len(variants)
        return [[_answer(self.rows[number]) for number in of_variant] for of_variant in numbers]


def _answer(row: Row) -> Predicted:
    if row.test["operation"] == "bw-wr":
        return Predicted(bandwidth_gbps=64 * 8 / 50)
    return Predicted(average_ns=500.0, ticks=((37, 100),))


def latency(path: str, operation: str, size: int, average_ns: float, median_ns: float) -> Row:
    test = {"path": path, "operation": operation, "size_bytes": size, "window_bytes": 8192}
    return Row(0, "lat", test, "LAT", average_ns=average_ns, median_ns=median_ns)


def write(nanoseconds: float) -> Row:
    """A test of write bandwidth with this time per write."""
    test = {"path": "dma", "operation": "bw-wr", "size_bytes": 64, "window_bytes": 8192}
    return Row(0, "bw", test, "BW_DMA_WR", bandwidth_gbps=64 * 8 / nanoseconds)


def test_separates_rare_stalls_from_slow_wake_ups() -> None:
    shares = [(FAST, 0.05), (PLAIN, 0.65), (SLOW, 0.25), (SLOW + 20, 0.049), (STALL, 0.001)]
    assert wake_ups([], ON_CARD_NS) is None
    found = wake_ups(shares, ON_CARD_NS)
    assert found is not None
    values = found.values
    assert values["host.idle.fast_share_long_gap"] == pytest.approx(0.05)
    assert values["host.idle.wake_floor_ns"] == pytest.approx(PLAIN * 40 / 3 - ON_CARD_NS)
    assert values["host.idle.stalls.duration_ns"] == pytest.approx(STALL * 40 / 3)
    clusters = values["host.idle.clusters"]
    shown = [(one["share"] * 0.949, one["low_ns"], one["high_ns"]) for one in clusters]
    assert shown == [
        (pytest.approx(0.25, abs=1e-4), 800.0, pytest.approx(813.3)),
        (pytest.approx(0.049, abs=1e-4), pytest.approx(1066.7), 1080.0),
    ]


def test_sleeping_gap_lies_between_awake_and_asleep_pauses() -> None:
    awake = latency("command", "lat-wrrd", 8, 2000.0, 490.0)  # 251 ns without traffic
    asleep = latency("command", "lat-wrrd", 64, 2000.0, 1160.0)  # 307 ns
    dma = latency("dma", "lat-rd", 64, 2000.0, 1200.0)  # 340 ns
    found = sleeping_gap(Sketch([awake, asleep, dma]))
    assert found is not None
    assert found.values["host.idle.gap_ns"] == pytest.approx((251 + 307) / 2)
    assert sleeping_gap(Sketch([dma, asleep])) is None, "no test found it awake"


def test_averages_and_write_bandwidths_give_the_stalls() -> None:
    logarithms = [-1.0, -0.5, 0.0, 0.5, 1.0]
    shares = [math.exp(value) for value in logarithms]
    rows = [latency("dma", "lat-rd", 64, 500.0 + 690.0 * share, 490.0) for share in shares]
    rows += [write(50.0 * (1 + share)) for share in shares]
    found = stalls(Sketch(rough(rows)), rows)
    assert found is not None
    assert found.values["host.idle.stalls.interval_ns"] == pytest.approx(2e6, rel=1e-6)
    assert found.values["host.idle.stalls.interval_spread"] == pytest.approx(0.745, abs=0.001)
    assert stalls(Sketch(rough(rows[:5])), rows[:5]) is None, "too few for a spread"


def test_rough_rows_lack_numbers_that_stalls_dominate() -> None:
    [row, written] = rough([latency("dma", "lat-rd", 64, 5000.0, 490.0), write(50.0)])
    assert row.average_ns is None
    assert row.median_ns == 490.0
    assert written.bandwidth_gbps is None
