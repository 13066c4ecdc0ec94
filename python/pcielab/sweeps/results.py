"""What a sweep, or a question to the model, found: a table whose columns carry their units, and its pictures."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pcielab.errors import InputError
from pcielab.extras import needed
from pcielab.sweeps.plan import Plan

if TYPE_CHECKING:
    import pandas as pd
    import polars
    import xarray

    from pcielab.report.figures.frame import Figure

_SHOWN_ROWS = 12
_VALUES = ("bandwidth_gbps", "median_ns")


@dataclass(frozen=True, repr=False)
class Results:
    """One row per point, in the order of the plan.

    Attributes:
        frame: A column for each axis, then origin, status, message, and metrics such as `bandwidth_gbps`.
        plan: What was asked.
        computed: How many points were computed for it.
        known: How many points were in the folder already. Those that are neither have the same values as another.
        damaged: How many damaged lines of the folder's journal were skipped.
    """

    frame: "pd.DataFrame"
    plan: Plan = field(repr=False)
    computed: int = 0
    known: int = 0
    damaged: int = 0

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        return f"<{self.title}: {len(self)} points>\n{self.frame[self._shown]}"

    def _repr_html_(self) -> str:
        from html import escape

        table = self.frame[self._shown].head(_SHOWN_ROWS).to_html(index=False, escape=True)
        more = f"<p>and {len(self) - _SHOWN_ROWS} more</p>" if len(self) > _SHOWN_ROWS else ""
        return f"<div><strong>{escape(self.title)}</strong>, {len(self)} points{table}{more}</div>"

    @property
    def axes(self) -> list[str]:
        """The columns of the axes that have more than one value."""
        return [axis.column for axis in self.plan.varying]

    @property
    def origin(self) -> str:
        """Where the numbers come from: simulated or modelled."""
        return str(self.frame["origin"].iloc[0])

    @property
    def title(self) -> str:
        """One line for people, with the origin of the numbers."""
        over = " by ".join(self.axes) or "one point"
        return f"{over} on {self.plan.system.system.name} ({self.origin})"

    @property
    def value(self) -> str:
        """The column that pictures show unless told otherwise: bandwidth, or the median latency."""
        found = [column for column in _VALUES if column in self.frame and self.frame[column].notna().any()]
        if not found:
            reasons = "; ".join(sorted({str(text) for text in self.frame["message"].dropna()}))
            raise InputError(f"no point has a result: {reasons or 'the sweep is empty'}")
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
            raise InputError("xarray: needs a grid: give lists of values, no ranges")
        metrics = [column for column in self.frame.columns if column not in self._axis_columns]
        dataset: xarray.Dataset = self.frame.set_index(self.axes)[metrics].to_xarray()
        # A set of values has an order of its own here; the plan's is what was asked for.
        order = {axis: list(dict.fromkeys(self.frame[axis])) for axis in self.axes}
        return dataset.reindex(order).assign_attrs(title=self.title, origin=self.origin)

    def plot(
        self, x: str | None = None, y: str | None = None, colour: str | None = None, panel: str | None = None
    ) -> "Figure":
        """An Altair chart: by default the last axis across, the first ones as colour and panels.

        Args:
            x: The column across.
            y: The column upwards: bandwidth or median latency, if not given.
            colour: The column that colours tell apart.
            panel: The column that panels tell apart.
        """
        from pcielab.sweeps.pictures import chart

        return chart(self.frame, self.plan, x, y or self.value, colour, panel)

    def sensitivity(self, metric: str | None = None) -> "pd.DataFrame":
        """Sobol indices of a sweep drawn by `sobol`: how much of the variance each range accounts for.

        Args:
            metric: The column; bandwidth or median latency, if not given.

        Returns:
            One row per range (and per value of the lists): `first_order`, alone; `total`, with all that it does
            together with others; each with the half-width of its 95 % confidence interval.
        """
        from pcielab.sweeps.sensitivity import indices

        return indices(self.frame, self.plan, metric or self.value)

    def plot_sensitivity(self, metric: str | None = None) -> "Figure":
        """The Sobol indices as bars: which knob matters."""
        from pcielab.sweeps.pictures import bars

        metric = metric or self.value
        return bars(self.sensitivity(metric), self.plan, metric, self.origin)

    @property
    def _axis_columns(self) -> list[str]:
        return [axis.column for axis in self.plan.axes]

    @property
    def _shown(self) -> list[str]:
        metrics = [column for column in (*_VALUES, "binds", "status") if column in self.frame]
        return [*self.axes, *metrics]
