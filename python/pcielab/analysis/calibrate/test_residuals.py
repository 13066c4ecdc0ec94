"""Residuals: a median counts in ticks of the timer, and only outside the measured tick."""

import pytest

from pcielab.analysis.calibrate.measured import EXACT, Row
from pcielab.analysis.calibrate.residuals import residuals
from pcielab.analysis.calibrate.twin import Predicted

TICK_NS = 40 / 3
TEST = {"size_bytes": 64}


def latency(average_ns: float | None, median_ticks: int) -> Row:
    return Row(0, "lat", TEST, "LAT_DMA_RD", average_ns=average_ns, median_ns=median_ticks * TICK_NS)


def test_median_within_the_measured_tick_has_no_residual() -> None:
    predicted = Predicted(average_ns=400.0, ticks=((29, 30), (30, 60), (31, 10)))
    assert residuals([latency(400.0, 30)], [predicted]).tolist() == [0.0, 0.0]
    early = residuals([latency(400.0, 31)], [predicted])[1]
    late = residuals([latency(400.0, 29)], [predicted])[1]
    assert early < 0 < late


def test_averages_count_in_ns_and_bandwidths_relatively() -> None:
    slow = residuals([latency(400.0, 30)], [Predicted(average_ns=404.0, ticks=((30, 1),))])[0]
    assert 2 < slow < 4
    row = Row(0, "bw", TEST, "BW_DMA_RD", bandwidth_gbps=30.0)
    assert residuals([row], [Predicted(bandwidth_gbps=30.3)])[0] == pytest.approx(0.01 / EXACT, rel=0.01)


def test_median_counts_alone_without_an_average() -> None:
    row = latency(None, 30)
    near, far = (residuals([row], [Predicted(average_ns=1.0, ticks=((tick, 10),))])[1] for tick in (30, 40))
    assert near == 0.0
    assert far == pytest.approx(20.0)
