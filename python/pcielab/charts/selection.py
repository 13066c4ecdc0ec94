"""Select the rows of a run that a figure draws.

Rows are selected by parameters, never by family alone, so that own suites and single tests are drawn like the
paper's suite. Of several suitable families, the widest sweep is drawn.
"""

import math
from typing import Any

import pandas as pd

from pcielab.library.suites.parameter import PARAMETERS

_APART = ("operation", "path", "host_offset_bytes", "device_offset_bytes", "transactions", "details")
"""Parameters that figures select themselves, or that do not change the setting of a sweep."""
_SETTING = ("family", *(parameter.key for parameter in PARAMETERS if parameter.key not in _APART))

CACHE_STATES = ("cold", "device-thrash", "device-warm", "host-warm")
PAPER_CACHE_STATES = ("cold", "host-warm")


class MissingDataError(LookupError):
    """The runs lack data for a figure; the message names them."""


def matching(rows: pd.DataFrame, **parameters: Any) -> pd.DataFrame:
    """The rows whose parameters have these values; a tuple or list means any of its values."""
    chosen = pd.Series(True, index=rows.index)
    for column, value in parameters.items():
        chosen &= rows[column].isin(value if isinstance(value, tuple | list) else [value])
    return rows[chosen]


def widest_sweep(rows: pd.DataFrame, over: str, *, across: tuple[str, ...] = ()) -> pd.DataFrame:
    """The widest group of rows that differ only in `over` (and `across`), sorted by `over`.

    Of repeated keys, which the published files have, the last one counts. Empty if no group has two values.
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
