"""A store, opened, as one table: a row per test, the origin first, units in the names of the columns.

Of flows through a fabric, of which a test has several, a row per flow; behind a test of a mux, a row for each of
its connections.
"""

from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from pcielab import _core
from pcielab.extras import needed
from pcielab.store.connections import with_connections
from pcielab.store.frames import Frames

if TYPE_CHECKING:
    import pandas as pd
    import polars

_SHOWN_ROWS = 12

SUFFIXES = {"ns": "_ns", "B": "_bytes", "Gb/s": "_gbps", "1/s": "_per_second", "1": ""}
"""What the unit of a metric adds to its name."""

COUNTS = ("B", "1")
"""The units of metrics that are whole numbers."""


class Store(Frames):
    """One run: its manifest, its tests, their numbers, and a table of them. Made by `open_store`."""

    def _repr_html_(self) -> str:
        rows = self.frame.head(_SHOWN_ROWS).to_html(index=False, escape=True)
        about = f"{escape(self.origin)}, {escape(self.extent)}, <code>{escape(str(self.path))}</code>"
        return f"<div><strong>{escape(self.title)}</strong>, {about}{rows}</div>"

    @cached_property
    def frame(self) -> "pd.DataFrame":
        """One row per test, in suite order: origin, test, parameters, status, metrics such as `median_ns`."""
        if self.kind == "fabric":
            from pcielab.store.flows import flow_table

            flows = flow_table(self)
            flows.insert(0, "origin", self.origin)
            return flows
        frame = with_connections(self, self.scalars.copy())
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


def damaged_tests(path: str | Path) -> list[str]:
    """Which tests of a store are damaged, in words: those that `resume` with `repeat_damaged` does again.

    Args:
        path: The store's file.

    Raises:
        InputError: More than tests is damaged, or it is no store.
    """
    return _core.damaged_tests(path)


def open_store(path: str | Path) -> Store:
    """Open a store for reading; one that is being written, or was left by a killed run, may be read too.

    Its manifest is read at once, its tests when they are first asked for.

    Args:
        path: The store's file.

    Raises:
        InputError: There is no such file, it is not a store, it is damaged, or its schema is newer than this
            pcielab.
    """
    return Store(Path(path))


def column_of(metric: str, unit: str) -> str:
    """The column of a metric, with its unit last: `median_ns`, `bandwidth_gbps`."""
    suffix = SUFFIXES.get(unit, f"_{unit}")
    return metric if f"_{metric}".endswith(suffix) else metric + suffix
