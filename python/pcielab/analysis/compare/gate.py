"""A regression gate: which pairs of two runs differ by more than a limit, and which tests are missing.

Every metric of `METRICS` counts, in percent of the first run and in both directions: a latency that fell is a
change like one that rose, unless only losses count. A test that the second run lacks, or has no number of, is a
failure.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pcielab.analysis.compare.pairs import METRICS, Comparison
from pcielab.errors import refusal
from pcielab.kinds.rooms import Row
from pcielab.wording import shown

_PERCENT = re.compile(r"(\d{1,6}(?:\.\d{1,9})?)\s?%", re.ASCII)


@dataclass(frozen=True)
class Failure:
    """A pair that differs by more than the limit, or a test that is missing.

    Attributes:
        row: Parameters of the test, with the columns of `Comparison.rows`.
        metric: The metric that differs; None where the second run lacks the test.
        unit: Of the two values.
        a: The first run's value; None where its test has no partner.
        b: The second run's value; None where it has none.
        difference_percent: Of the first run's value; infinite where that is 0, or where a value is missing.
    """

    row: Row
    metric: str | None
    unit: str
    a: float | None
    b: float | None
    difference_percent: float

    @property
    def is_gain(self) -> bool:
        """Whether the second run has a higher bandwidth or a lower latency."""
        if self.a is None or self.b is None:
            return False
        return self.b > self.a if self.metric == "bandwidth" else self.b < self.a


def parse_limit(text: str, option: str) -> float:
    """A limit in percent, as people type it: `2%`.

    Raises:
        InputError: The text is no percentage; a share, like 0.02, is none.
    """
    found = _PERCENT.fullmatch(text.strip())
    if found is None:
        raise refusal(
            "malformed", f"{option} {shown(text)}: give a number from 0 and a percent sign, like 2% or 0.5%"
        )
    return float(found[1])


def failures(comparison: Comparison, limit_percent: float, *, worse_only: bool = False) -> list[Failure]:
    """Missing tests, then pairs beyond the limit, the largest difference first.

    Args:
        comparison: The two runs.
        limit_percent: The limit.
        worse_only: Whether a higher bandwidth and a lower latency pass.

    Raises:
        InputError: One of the runs has no meaningful times.
    """
    for store in (comparison.a, comparison.b):
        store.require_speed("a gate")
    apart = [
        one
        for row in comparison.pairs
        for one in _apart(row)
        if one.difference_percent > limit_percent and not (worse_only and one.is_gain)
    ]
    missing = [Failure(row, None, "", None, None, math.inf) for row in comparison.lone_a]
    return [*missing, *sorted(apart, key=lambda one: -one.difference_percent)]


def _apart(row: Row) -> Iterator[Failure]:
    """The difference in each metric of a pair that either run has."""
    for metric, unit in METRICS.items():
        a, b = (_number(row[f"{metric}_{side}_{unit}"]) for side in ("a", "b"))
        if a is None and b is None:
            continue
        if a is None or b is None:
            apart = math.inf
        elif a == b:
            apart = 0.0
        else:
            apart = 100 * abs(b - a) / abs(a) if a else math.inf
        yield Failure(row, metric, unit, a, b, apart)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
