"""Results of a sweep or of bounds: a table with units in its column names, and pictures."""

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pcielab.errors import refusal
from pcielab.extras import needed
from pcielab.notebook import Pictured
from pcielab.sweeps.plan import Plan

if TYPE_CHECKING:
    import pandas as pd
    import polars
    import xarray

    from pcielab.charts.frame import Figure

_SHOWN_ROWS = 12
_VALUES = ("bandwidth_gbps", "median_ns")


def uniform(frame: "pd.DataFrame", plan: Plan) -> "pd.DataFrame":
    """A table whose axes are of one kind each: where words and numbers meet, all are texts."""
    result = frame.copy()
    for column in dict.fromkeys(axis.column for axis in plan.axes):
        values = [value for value in frame[column] if value is not None]
        words = sum(isinstance(value, str) for value in values)
        if 0 < words < len(values):
            result[column] = [_text(value) for value in frame[column]]
    return result


def _text(value: object) -> str | None:
    """A value as a sweep's file has it."""
    return value if value is None or isinstance(value, str) else json.dumps(value)


@dataclass(frozen=True, repr=False)
class Results(Pictured):
    """One row per point, in the order of the plan.

    Attributes:
        frame: A column for each axis, then origin, status, message, and metrics (`bandwidth_gbps`...). Axes with
            words and numbers, such as the credits 16 and `infinite`, are columns of texts.
        plan: The plan of the sweep.
        computed: Number of points that were computed.
        known: Number of points that were in the folder already. All others have the same values as another point.
        damaged: Number of damaged lines of the folder's journal that were skipped.
    """

    frame: "pd.DataFrame"
    plan: Plan = field(repr=False)
    computed: int = 0
    known: int = 0
    damaged: int = 0

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        return f"<{self.title}: {len(self)} points>\n{self.frame[self.shown]}"

    def _repr_html_(self) -> str:
        from html import escape

        table = self.frame[self.shown].head(_SHOWN_ROWS).to_html(index=False, escape=True)
        more = f"<p>and {len(self) - _SHOWN_ROWS} more</p>" if len(self) > _SHOWN_ROWS else ""
        return f"<div><strong>{escape(self.title)}</strong>, {len(self)} points{table}{more}</div>"

    def _figure(self) -> "Figure":
        return self.plot_sensitivity() if self.plan.ranges and self.plan.draws.method == "sobol" else self.plot()

    @property
    def axes(self) -> list[str]:
        """The columns of the axes with more than one value."""
        return [axis.column for axis in self.plan.varying]

    @property
    def origin(self) -> str:
        """Origin of the numbers: simulated or modelled."""
        return str(self.frame["origin"].iloc[0])

    @property
    def shown(self) -> list[str]:
        """The columns that people read: axes with more than one value, draws, value, binding bound, status."""
        drawn = [axis.column for axis in self.plan.ranges]
        metrics = [column for column in (*_VALUES, "binds", "status") if column in self.frame]
        return list(dict.fromkeys([*self.axes, *drawn, *metrics]))

    @property
    def title(self) -> str:
        """One line for people, with the origin of the numbers."""
        over = " by ".join(self.axes) or "one point"
        return f"{over} on {self.plan.system.system.name} ({self.origin})"

    @property
    def value(self) -> str:
        """The column that pictures show by default: bandwidth, or the median latency."""
        found = [column for column in _VALUES if column in self.frame and self.frame[column].notna().any()]
        if not found:
            reasons = "; ".join(sorted({str(text) for text in self.frame["message"].dropna()}))
            raise refusal("missing", f"no point has a result: {reasons or 'the sweep is empty'}")
        return found[0]

    def polars(self) -> "polars.DataFrame":
        """The frame, for polars (`pcielab[notebook]`)."""
        frame: polars.DataFrame = needed("polars", "notebook").from_pandas(self.frame)
        return frame

    def xarray(self) -> "xarray.Dataset":
        """The metrics over the axes, for xarray (`pcielab[notebook]`): a grid, without draws from ranges.

        Raises:
            InputError: It has no axis, or draws.
        """
        needed("xarray", "notebook")
        if self.plan.ranges or not self.axes:
            raise refusal("missing", "xarray: needs a grid: give lists of values, no ranges")
        metrics = [column for column in self.frame.columns if column not in self._axis_columns]
        dataset: xarray.Dataset = self.frame.set_index(self.axes)[metrics].to_xarray()
        # xarray sorts coordinates: restore the plan's order.
        order = {axis: list(dict.fromkeys(self.frame[axis])) for axis in self.axes}
        return dataset.reindex(order).assign_attrs(title=self.title, origin=self.origin)

    def plot(
        self, x: str | None = None, y: str | None = None, colour: str | None = None, panel: str | None = None
    ) -> "Figure":
        """An Altair chart: by default the last axis across, the first ones as colour and panels.

        Args:
            x: The column of the horizontal axis.
            y: The column of the vertical axis; absent: bandwidth or median latency.
            colour: The column shown by colour.
            panel: The column with one panel per value.
        """
        from pcielab.sweeps.pictures import chart

        return chart(self.frame, self.plan, x, y or self.value, colour, panel)

    def plot_heat_map(
        self, x: str | None = None, y: str | None = None, value: str | None = None, panel: str | None = None
    ) -> "Figure":
        """An Altair heat map of two axes: by default the last one across, the one before it upwards.

        Args:
            x: The column of the horizontal axis.
            y: The column of the vertical axis.
            value: The column shown by colour; absent: bandwidth or median latency.
            panel: The column with one panel per value.

        Raises:
            InputError: There are fewer than two axes, or more than three.
        """
        from pcielab.sweeps.pictures import heat_map

        return heat_map(self.frame, self.plan, x, y, value or self.value, panel)

    def sensitivity(self, metric: str | None = None) -> "pd.DataFrame":
        """Sobol indices of a sweep drawn by `sobol`: each range's share of the variance.

        Args:
            metric: The column; absent: bandwidth or median latency.

        Returns:
            One row per range (and per value of the lists): `first_order`, alone; `total`, with interactions; each
            with the half-width of its 95 % confidence interval.
        """
        from pcielab.sweeps.sensitivity import indices

        return indices(self.frame, self.plan, metric or self.value)

    def plot_sensitivity(self, metric: str | None = None) -> "Figure":
        """The Sobol indices as bars."""
        from pcielab.sweeps.pictures import bars

        metric = metric or self.value
        return bars(self.sensitivity(metric), self.plan, metric, self.origin)

    @property
    def _axis_columns(self) -> list[str]:
        return [axis.column for axis in self.plan.axes]
