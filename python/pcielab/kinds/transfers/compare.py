"""Pairs of tests of transfers, and whether the difference of two measured medians is resolvable.

Tests pair by name and the published files' parameters, then by all that determine them.

The rank of a median is binomial with a standard deviation of half the root of the number of latencies that a
store counted. The standard error is half the distance between the latencies one standard deviation below and
above it, at least that of rounding to ticks. It is that of the samples. It does not include what changes between
any two runs, for example the pages of the buffer or the clock of the processor.
"""

import math
from collections.abc import Iterable

from pcielab.kinds.rooms import Cells, Compare, Row
from pcielab.percentiles import percentile_of_counts
from pcielab.store import Store
from pcielab.store.identity import NAMED, SETTING

RESOLVABLE_ERRORS = 2.0
"""Standard errors below which a difference is not resolvable."""
_ROUNDING_TICKS = 1 / math.sqrt(12)


def median_standard_error_ns(store: Store, test: int) -> float:
    """The standard error of a test's median latency, ns; NaN without a distribution."""
    latencies_ns, counts = store.histogram(test)
    count = sum(counts)
    if not count:
        return math.nan
    share = 0.5 / math.sqrt(count)
    low, high = (percentile_of_counts(latencies_ns, counts, end) for end in (0.5 - share, min(0.5 + share, 1.0)))
    return max((high - low) / 2, _ROUNDING_TICKS * store.tick_ns(test))


def difference_errors_ns(a: Store, b: Store, pairs: Iterable[tuple[int, int]]) -> list[float]:
    """The standard error of the difference of medians of each pair of tests; NaN where either is unknown."""
    return [
        math.hypot(median_standard_error_ns(a, one), median_standard_error_ns(b, other)) for one, other in pairs
    ]


def is_resolvable(difference_ns: float, error_ns: float) -> bool:
    """Whether a difference is at least two standard errors; without a standard error it counts as such."""
    return math.isnan(error_ns) or abs(difference_ns) >= RESOLVABLE_ERRORS * error_ns


_SORTS = {"bw-rd": "reads", "bw-wr": "writes", "bw-rdwr": "reads with writes"}


def sort(parameters: Row, _is_latency: bool) -> str:
    """Tests of this operation."""
    return _SORTS.get(parameters["operation"], "latencies")


def metric(row: Row) -> str:
    """The metric of tests whose names say it: latencies, and messages alone."""
    return "median" if row["name"].startswith("LAT_") or row["name"].endswith("_ALONE") else "bandwidth"


def _asked(row: Row) -> Cells:
    return {
        "size": row["size_bytes"],
        "window": row["window_bytes"],
        "offsets": f"{row['host_offset_bytes']}/{row['device_offset_bytes']}",
        "cache": row["cache"],
    }


COMPARE = Compare(
    keys=(NAMED, SETTING),
    sort=sort,
    asked=_asked,
    metric=metric,
    errors_ns=difference_errors_ns,
    titled_by=("operation", "path"),
)
