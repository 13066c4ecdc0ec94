"""Frames of flows for people: rounded times, long ones in microseconds, yes and no, and heads with their unit."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from pcielab.cli.output import Cell, Format, print_frame, print_rows, records
from pcielab.wording import time_unit

if TYPE_CHECKING:
    import pandas as pd

_HEADS = {
    "standalone_gbytes_per_s": "asked GB/s",
    "gbytes_per_s": "granted GB/s",
    "bound_gbytes_per_s": "bound GB/s",
    "simulated_gbytes_per_s": "simulated GB/s",
    "capacity_gbytes_per_s": "capacity GB/s",
    "load_gbytes_per_s": "load GB/s",
    "then_gbytes_per_s": "then GB/s",
    "gain_gbytes_per_s": "gain GB/s",
    "all_gbytes_per_s": "gain of all GB/s",
    "back_gbytes_per_s": "back GB/s",
}
_FITS: dict[Cell, str] = {True: "yes", False: "no"}
_QUOTED = frozenset('",\n\r')
"""Characters of texts that CSV quotes."""
_EXPONENT_FROM = 1e10
"""Numbers of this size and above have an exponent in the CSV of a frame."""
_WHOLE_FROM = 10.0
_Units: TypeAlias = dict[str, tuple[str, float]]
"""The unit of each column of times, with its length in ns."""


def print_flows(frame: "pd.DataFrame", output_format: Format, title: str) -> None:
    """Print a frame of flows or edges; programs get its columns and units unchanged."""
    if output_format is Format.CSV:
        print_frame(frame, output_format, title)
    else:
        print_listed(records(frame), output_format, title)


def print_listed(rows: Sequence[dict[str, Cell]], output_format: Format, title: str) -> None:
    """Print rows of flows or edges as `print_flows` prints a frame, without pandas if no cell needs it."""
    if output_format is Format.CSV:
        if not all(_is_plain(cell) for row in rows for cell in row.values()):
            import pandas as pd

            print_frame(pd.DataFrame(rows), output_format, title)
            return
        rows = [{key: _as_arrow_writes(value) for key, value in row.items()} for row in rows]
    elif output_format is Format.TABLE:
        units = {key: time_unit(_longest(rows, key)) for key in (rows[0] if rows else ()) if key.endswith("_ns")}
        rows = [{_head(key, units): _cell(key, value, units) for key, value in row.items()} for row in rows]
    print_rows(rows, output_format, title)


def _longest(rows: Sequence[dict[str, Cell]], key: str) -> float:
    return max((time for row in rows if isinstance(time := row[key], int | float)), default=math.nan)


def _is_plain(cell: Cell) -> bool:
    """Whether the CSV of a frame has this cell unquoted and without an exponent; Arrow has its own of both."""
    if isinstance(cell, str):
        return not _QUOTED.intersection(cell)
    return not isinstance(cell, float) or cell == 0 or (abs(cell) < _EXPONENT_FROM and "e" not in repr(cell))


def _as_arrow_writes(value: Cell) -> Cell:
    """A cell as in the CSV of a frame: `true`, and whole numbers without a fraction."""
    if isinstance(value, bool):
        return str(value).lower()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _head(key: str, units: _Units) -> str:
    return f"{key.removesuffix('_ns')}_{units[key][0]}" if key in units else _HEADS.get(key, key)


def _cell(key: str, value: Cell, units: _Units) -> Cell:
    if key == "fits":
        return _FITS.get(value)
    if isinstance(value, float) and key in units:
        time = value / units[key][1]
        return round(time) if time >= _WHOLE_FROM else round(time, 2)
    return value
