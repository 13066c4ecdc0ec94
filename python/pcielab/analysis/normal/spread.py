"""The range of usual values among a few sources, and how low is low: a spread that is shrunk, and two errors.

A spread is the 90 % quantile of the distances from the median, in logarithms: a few faulty figures among many,
which nobody called faulty, do not widen it. Three sources say little about it; so it is shrunk towards the spread
of related figures, as if that were the one of eight sources more. The range is Student's t for one source more.

A value may be called low wrongly, or be low and called normal. Where sources agree so well that the 5 % point is
less than 15 % below their median, that point is the limit: it misses few losses of 15 %. Else it would miss most,
and the 10 % point is. `pcielab.analysis.normal.left_out` counts both errors.
"""

import math
import statistics
from collections.abc import Sequence

_RELATED_SOURCES = 8
"""Sources that the spread of related figures counts as."""
_UNRELATED_SPREAD = 0.15
"""Spread of a logarithm where no related figures are: about that of all kinds of devices."""
_QUANTILE, _OF_NORMAL = 0.9, 1.645
"""Quantile of distances, and what it is in units of the standard deviation of a normal distribution."""
_SHOWN_LOSS = 0.15
T90 = (3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415, 1.397, 1.383, 1.372, 1.363, 1.356, 1.350, 1.345, 1.341,
       1.337, 1.333, 1.330, 1.328, 1.325, 1.323, 1.321, 1.319, 1.318, 1.316, 1.315, 1.314, 1.313, 1.311,
       1.310, 1.282)  # fmt: skip
T95 = (6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761, 1.753,
       1.746, 1.740, 1.734, 1.729, 1.725, 1.721, 1.717, 1.714, 1.711, 1.708, 1.706, 1.703, 1.701, 1.699,
       1.697, 1.645)  # fmt: skip
"""The 90 and 95 % points of Student's t with 1 to 30 degrees of freedom, and of the normal distribution."""


def usual_range(logs: Sequence[float], related: float | None, low_is_bad: bool) -> tuple[float, float, float]:
    """The lowest and highest usual value and the median between, all as logarithms.

    Args:
        logs: One logarithm a source, three at least.
        related: Spread of related figures; None: there are none.
        low_is_bad: Whether a low value is the bad one, as of a rate, or a high one, as of a time.
    """
    middle, own = statistics.median(logs), len(logs) - 1
    prior = _UNRELATED_SPREAD if related is None else related
    shrunk = (own * spread_of([logs]) ** 2 + _RELATED_SOURCES * prior**2) / (own + _RELATED_SOURCES)
    error = math.sqrt(shrunk * (1 + 1 / len(logs)))
    wide, narrow = (_point(points, own + _RELATED_SOURCES) * error for points in (T95, T90))
    bad = wide if math.exp(-wide) >= 1 - _SHOWN_LOSS else narrow
    below, above = (bad, wide) if low_is_bad else (wide, bad)
    return middle - below, middle, middle + above


def spread_of(groups: Sequence[Sequence[float]]) -> float:
    """The spread within groups of two logarithms or more, each about its own median."""
    away = sorted(
        abs(value - statistics.median(group)) * math.sqrt(len(group) / (len(group) - 1))
        for group in groups
        for value in group
    )
    at = _QUANTILE * (len(away) - 1)
    below = away[int(at)]
    return (below + (at - int(at)) * (away[min(int(at) + 1, len(away) - 1)] - below)) / _OF_NORMAL


def _point(points: Sequence[float], freedom: int) -> float:
    return points[min(freedom, len(points)) - 1]
