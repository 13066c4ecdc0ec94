"""Distance of a prediction from a measured row, in units of the best error to expect.

An average latency counts in ns. A median is a whole tick of the device's timer, so it counts only as far as the
middle of the predicted samples lies outside that tick. A bandwidth counts in percent.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pcielab.analysis.calibrate.measured import Row
from pcielab.analysis.calibrate.twin import Predicted

AVERAGE_NS = 1.0
AVERAGE_SHARE = 0.003
"""Best error to expect of an average latency, absolute and relative."""
MEDIAN_SHARE = 0.25
"""Best error of a median beside an average: share of samples between the middle and the measured tick."""
MEDIAN_TICKS = 0.5
"""Best error of a median without an average, in ticks."""

ROBUST_FROM = 3.0
"""Rows further off than this many units count less and less: they are unmodelled rather than badly fitted."""

Vector = NDArray[np.float64]


def residuals(rows: Sequence[Row], predictions: Sequence[Predicted]) -> Vector:
    """Two numbers for each row: for average and median, or for bandwidth and 0."""
    return np.array([pair for row, one in zip(rows, predictions, strict=True) for pair in _pair(row, one)])


def _pair(row: Row, predicted: Predicted) -> tuple[float, float]:
    if row.bandwidth_gbps is not None and predicted.bandwidth_gbps is not None:
        off = math.log(predicted.bandwidth_gbps / row.bandwidth_gbps)
        slowed = off > 0 and row.slowed_share
        return off / (slowed or row.bandwidth_share), 0.0
    if row.average_ns is None or predicted.average_ns is None:
        return 0.0, _median_off(row, predicted) / MEDIAN_TICKS
    unit_ns = math.hypot(AVERAGE_NS, AVERAGE_SHARE * row.average_ns)
    return (predicted.average_ns - row.average_ns) / unit_ns, _median_outside(row, predicted) / MEDIAN_SHARE


def _median_outside(row: Row, predicted: Predicted) -> float:
    """The share of samples that would have to move for the middle to lie in the measured tick; signed."""
    if row.median_ns is None or not predicted.ticks:
        return 0.0
    tick = round(row.median_ns / row.tick_ns)
    too_late = max(0.0, 0.5 - predicted.share_up_to(tick))
    too_early = max(0.0, predicted.share_up_to(tick - 1) - 0.5)
    return too_late - too_early


def _median_off(row: Row, predicted: Predicted) -> float:
    """Ticks from the measured median to the middle of the predicted samples."""
    if row.median_ns is None or not predicted.ticks:
        return 0.0
    return predicted.middle_ticks() - row.median_ns / row.tick_ns


def transaction_ns(row: Row) -> float | None:
    """The time of one transaction as measured: the latency, or the time from one to the next."""
    if row.bandwidth_gbps is not None:
        return int(row.test["size_bytes"]) * 8 / row.bandwidth_gbps
    return row.average_ns if row.average_ns is not None else row.median_ns


def predicted_ns(row: Row, predicted: Predicted) -> float | None:
    """The predicted time of one transaction."""
    if predicted.bandwidth_gbps is not None:
        return int(row.test["size_bytes"]) * 8 / predicted.bandwidth_gbps
    if row.average_ns is None and predicted.ticks:
        return predicted.middle_ticks() * row.tick_ns
    return predicted.average_ns
