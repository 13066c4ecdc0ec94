"""Percentiles by nearest rank, used everywhere in pcielab.

The percentile of a share is the first value in order with at least that share of all values at or below it: always
a value that occurred. The median of an even count is the lower of the middle two. The compiled half gives the
rank.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

from pcielab import _core

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

Values: TypeAlias = "Sequence[float] | np.ndarray[Any, Any] | pd.Series[Any]"


def percentile(values: Values, share: float) -> float:
    """The percentile of values in any order.

    Args:
        values: The values.
        share: From 0, the smallest value, to 1, the largest.

    Returns:
        One of the values; NaN without values.
    """
    import numpy as np

    ordered = np.sort(np.asarray(values, dtype=np.float64))
    rank = _core.nearest_rank(share, len(ordered))
    return float(ordered[rank - 1]) if rank else float("nan")


def percentile_of_counts(values: Values, counts: Values, share: float) -> float:
    """The percentile of a histogram.

    Args:
        values: Its values, in ascending order.
        counts: The count of each value.
        share: From 0, the smallest value, to 1, the largest.

    Returns:
        One of the values; NaN if all counts are 0.
    """
    reached = list(accumulate(int(count) for count in counts))
    rank = _core.nearest_rank(share, reached[-1] if reached else 0)
    return float(list(values)[bisect_left(reached, rank)]) if rank else float("nan")
