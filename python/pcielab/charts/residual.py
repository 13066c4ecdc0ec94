"""Residuals of simulations against a measurement: panels below the figures that show both.

A residual belongs to the simulated run, and has the style of its line.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import altair as alt
import pandas as pd

from pcielab.charts.frame import Figure
from pcielab.charts.run import Run
from pcielab.charts.series import RUN_FIELD, Series, run_tooltip

RESIDUAL_HEIGHT = 90
_RESIDUAL, _REFERENCE = "residual", "reference_value"


@dataclass(frozen=True)
class Residual:
    """The comparison of runs' values with those of one of them.

    Attributes:
        metric: Column of the values.
        keys: Columns in which a value and its counterpart agree.
        unit: `%` of the counterpart, or the unit of both for their difference.
        title: Name of the difference.
    """

    metric: str
    keys: Sequence[str]
    unit: str
    title: str = "residual"

    def rows(self, data: pd.DataFrame, reference: Run | None) -> pd.DataFrame:
        """The rows of other runs with a counterpart in the reference run, with residuals; none without it."""
        if reference is None:
            return data.head(0)
        keys = list(self.keys)
        is_reference = data[RUN_FIELD] == reference.entry
        values = data[is_reference].drop_duplicates(keys, keep="last").set_index(keys)[self.metric]
        pairs = data[~is_reference & data[RUN_FIELD].notna()].join(values.rename(_REFERENCE), on=keys)
        pairs = pairs.dropna(subset=[_REFERENCE, self.metric])
        apart = pairs[self.metric] - pairs[_REFERENCE]
        return pairs.assign(**{_RESIDUAL: 100 * apart / pairs[_REFERENCE] if self.unit == "%" else apart})

    def layers(
        self, series: Series, x: alt.X, *, lines: bool = True, points_on_lines: bool = True
    ) -> list[alt.Chart]:
        """The lines of residuals around zero, over data that the caller adds; options as for `Series.layers`."""
        y = alt.Y(f"{_RESIDUAL}:Q", title=f"{self.title} ({self.unit})", axis=alt.Axis(tickCount=4))
        tooltip = [
            run_tooltip(),
            alt.Tooltip(f"{self.metric}:Q", title=self.metric, format=".2f"),
            alt.Tooltip(f"{_REFERENCE}:Q", title="reference", format=".2f"),
            alt.Tooltip(f"{_RESIDUAL}:Q", title=f"{self.title} ({self.unit})", format="+.2f"),
        ]
        zero = alt.Chart().mark_rule(style="zero").encode(y=alt.datum(0))
        drawn = series.layers(x, y, tooltip, lines=lines, points_on_lines=points_on_lines, selectable=False)
        return [zero, *drawn]


def measured_of(runs: Sequence[Run]) -> Run | None:
    """The reference run: the measured overlay, or the only measured run among others."""
    overlays = [run for run in runs if run.measured_overlay]
    measured = overlays or [run for run in runs if run.store.origin == "measured"]
    return measured[0] if len(measured) == 1 < len(runs) else None


def with_residuals(upper: Figure, rows: pd.DataFrame, draw: Callable[[pd.DataFrame], Figure]) -> Figure:
    """A figure with its residual rows, drawn by `draw`, below; the figure alone without rows."""
    if rows.empty:
        return upper
    both: alt.VConcatChart = alt.vconcat(upper, draw(rows), spacing=8)
    return both
