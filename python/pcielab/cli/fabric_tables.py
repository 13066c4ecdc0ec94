"""Frames of flows for people: rounded times, long ones in microseconds, yes and no, and heads with their unit."""

from typing import TYPE_CHECKING, TypeAlias

from pcielab.cli.output import Cell, Format, print_frame, print_rows, records
from pcielab.wording import time_unit

if TYPE_CHECKING:
    import pandas as pd

_HEADS = {
    "standalone_gbytes_per_s": "asked GB/s",
    "gbytes_per_s": "granted GB/s",
    "simulated_gbytes_per_s": "simulated GB/s",
    "capacity_gbytes_per_s": "capacity GB/s",
    "load_gbytes_per_s": "load GB/s",
    "then_gbytes_per_s": "then GB/s",
    "gain_gbytes_per_s": "gain GB/s",
    "all_gbytes_per_s": "gain of all GB/s",
    "back_gbytes_per_s": "back GB/s",
}
_FITS: dict[Cell, str] = {True: "yes", False: "no"}
_WHOLE_FROM = 10.0
_Units: TypeAlias = dict[str, tuple[str, float]]
"""The unit of each column of times, with its length in ns."""


def print_flows(frame: "pd.DataFrame", output_format: Format, title: str) -> None:
    """Print a frame of flows or edges; programs get its columns and units unchanged."""
    if output_format is not Format.TABLE:
        print_frame(frame, output_format, title)
        return
    units = {str(name): time_unit(frame[name].max()) for name in frame.columns if str(name).endswith("_ns")}
    rows = [{_head(key, units): _cell(key, value, units) for key, value in row.items()} for row in records(frame)]
    print_rows(rows, output_format, title)


def _head(key: str, units: _Units) -> str:
    return f"{key.removesuffix('_ns')}_{units[key][0]}" if key in units else _HEADS.get(key, key)


def _cell(key: str, value: Cell, units: _Units) -> Cell:
    if key == "fits":
        return _FITS.get(value)
    if isinstance(value, float) and key in units:
        time = value / units[key][1]
        return round(time) if time >= _WHOLE_FROM else round(time, 2)
    return value
