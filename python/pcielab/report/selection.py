"""Which rows of a run a figure draws.

Rows are chosen by their parameters, never by the name of their family alone, so that a suite of one's own or a
single test is drawn as well as the paper's suite. Where several families could serve, the widest sweep does.
"""

import math
from typing import Any

import pandas as pd

from pcielab.library.suites.parameters import PARAMETERS

# What the run was asked for, but for the parameter that a figure sweeps.
_APART = ("operation", "path", "host_offset_bytes", "device_offset_bytes", "transactions", "details")
"""Parameters that figures choose by themselves, or that make no other setting."""
_SETTING = ("family", *(parameter.key for parameter in PARAMETERS if parameter.key not in _APART))

CACHE_STATES = ("cold", "device-thrash", "device-warm", "host-warm")
PAPER_CACHE_STATES = ("cold", "host-warm")


class MissingDataError(LookupError):
    """The runs lack what a figure needs; the message says what that is."""


def matching(rows: pd.DataFrame, **parameters: Any) -> pd.DataFrame:
    """The rows whose parameters have these values; a tuple or list means any of its values."""
    chosen = pd.Series(True, index=rows.index)
    for column, value in parameters.items():
        chosen &= rows[column].isin(value if isinstance(value, tuple | list) else [value])
    return rows[chosen]


def aligned(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows whose transfers start on a cache line of the host and a boundary of the card."""
    return matching(rows, host_offset_bytes=0, device_offset_bytes=0)


def widest_sweep(rows: pd.DataFrame, over: str, *, across: tuple[str, ...] = ()) -> pd.DataFrame:
    """Of all groups that differ in nothing but `over` (and `across`), the one that spans most, sorted by `over`.

    Where a key occurs more than once (the published files have such rows), the last one counts. The result is
    empty where no group has at least two values.
    """
    rows = rows.dropna(subset=[over])
    if rows.empty:
        return rows
    fixed = [column for column in _SETTING if column != over and column not in across]
    best, best_rank = rows.iloc[:0], (0.0, 1)
    for _, group in rows.groupby(fixed, sort=False, dropna=False):
        values = group[over]
        rank = (math.log2(values.max() / values.min()), int(values.nunique()))
        if rank[1] > 1 and rank > best_rank:
            best, best_rank = group, rank
    return best.drop_duplicates([over, *across], keep="last").sort_values([*across, over], kind="stable")
