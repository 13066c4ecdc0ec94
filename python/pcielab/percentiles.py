"""Percentiles by nearest rank, as every number of pcielab is taken.

The percentile of a share is the first value in order that at least that share of all values does not exceed: a
value that occurred, never one between two. The median of an even count is the lower of the middle two. The rank
itself is the compiled half's, which runs, messages, NICs and programs on a fabric ask as well.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from pcielab import _core

Values: TypeAlias = "Sequence[float] | np.ndarray[Any, Any] | pd.Series[Any]"


def percentile(values: Values, share: float) -> float:
    """The percentile of values in any order.

    Args:
        values: The values.
        share: From 0, the smallest value, to 1, the largest.

    Returns:
        One of the values; NaN where there is none.

    Raises:
        InputError: The share lies outside of 0 to 1.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    rank = _core.nearest_rank(share, len(ordered))
    return float(ordered[rank - 1]) if rank else float("nan")


def percentile_of_counts(values: Values, counts: Values, share: float) -> float:
    """The percentile of a histogram.

    Args:
        values: Its values, in rising order.
        counts: How often each of them occurred.
        share: From 0, the smallest value, to 1, the largest.

    Returns:
        One of the values; NaN where none occurred.

    Raises:
        InputError: The share lies outside of 0 to 1.
    """
    reached = np.cumsum(np.asarray(counts, dtype=np.int64))
    rank = _core.nearest_rank(share, int(reached[-1]) if len(reached) else 0)
    return float(np.asarray(values)[np.searchsorted(reached, rank, side="left")]) if rank else float("nan")
