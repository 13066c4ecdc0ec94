"""Open a store as one table: a row per test, the origin first, units in the names of the columns.

The kind of a run says what its rows are (`pcielab.store.kinds`): a test, a flow, a connection.
"""

from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.extras import needed
from pcielab.notebook import Pictured
from pcielab.store.frames import Frames
from pcielab.store.kinds import columns_of

if TYPE_CHECKING:
    import pandas as pd
    import polars

_SHOWN_ROWS = 12

SUFFIXES = {"ns": "_ns", "B": "_bytes", "Gb/s": "_gbps", "1/s": "_per_second", "1": ""}
"""Suffix of a metric's column by its unit."""

COUNTS = ("B", "1")
"""Units of whole numbers."""


class Store(Pictured, Frames):
    """One run: its manifest, its tests, their numbers, and a table of them. Made by `open_store`."""

    def _repr_html_(self) -> str:
        rows = self.frame.head(_SHOWN_ROWS).to_html(index=False, escape=True)
        about = f"{escape(self.origin)}, {escape(self.extent)}, <code>{escape(str(self.path))}</code>"
        return f"<div><strong>{escape(self.title)}</strong>, {about}{rows}</div>"

    @cached_property
    def frame(self) -> "pd.DataFrame":
        """One row per test, in suite order: origin, test, parameters, status, metrics (`median_ns`...)."""
        columns = columns_of(self.kind)
        if columns.table is not None:
            within = columns.table.rows(self)
            within.insert(0, "origin", self.origin)
            return within
        frame = columns.rows(self, self.scalars.copy())
        for metric, unit in self.units.items():
            if metric in frame and unit in COUNTS and (frame[metric].dropna() % 1 == 0).all():
                frame[metric] = frame[metric].astype("Int64")
        if "outstanding" in frame:
            frame["outstanding"] = frame["outstanding"].astype("Int64")
        frame["message"] = frame["message"].astype("string")
        frame.insert(0, "origin", self.origin)
        return frame.rename(columns={metric: column_of(metric, unit) for metric, unit in self.units.items()})

    def polars(self) -> "polars.DataFrame":
        """`frame`, for polars (`pcielab[notebook]`)."""
        frame: polars.DataFrame = needed("polars", "notebook").from_pandas(self.frame)
        return frame


@refuses_wrong_types
def damaged_tests(path: str | Path) -> list[str]:
    """The damaged tests of a store, in words; `resume` with `repeat_damaged` repeats them.

    Raises:
        InputError: More than tests is damaged, or it is not a store.
    """
    return _core.damaged_tests(path)


@refuses_wrong_types
def open_store(path: str | Path) -> Store:
    """Open a store for reading, even while it is being written or after a killed run.

    The manifest is read at once, tests on first use.

    Raises:
        InputError: The file is missing, is not a store, is damaged, or has a newer schema than this pcielab.
    """
    return Store(Path(path))


def column_of(metric: str, unit: str) -> str:
    """The column of a metric, with its unit last: `median_ns`, `bandwidth_gbps`."""
    suffix = SUFFIXES.get(unit, f"_{unit}")
    return metric if f"_{metric}".endswith(suffix) else metric + suffix
