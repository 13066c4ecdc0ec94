"""What is left between a simulation and its measurement: panels below the figures that show both.

A residual belongs to the run that is not the measured one, and is drawn with the line of that run.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import altair as alt
import pandas as pd

from pcielab.report.figures.frame import Figure
from pcielab.report.run import Run
from pcielab.report.series import RUN_FIELD, Series, run_tooltip

RESIDUAL_HEIGHT = 90
_RESIDUAL, _REFERENCE = "residual", "reference_value"


@dataclass(frozen=True)
class Residual:
    """How the values of runs are held against those of one of them.

    Attributes:
        metric: Column of the values.
        keys: Columns in which a value and its counterpart agree.
        unit: `%` of the counterpart, or the unit of both for their difference.
        title: What the difference is called.
    """

    metric: str
    keys: Sequence[str]
    unit: str
    title: str = "residual"

    def rows(self, data: pd.DataFrame, reference: Run | None) -> pd.DataFrame:
        """The rows of the other runs that have a counterpart, and how far they are from it; maybe none.

        Args:
            data: What the figure draws, labelled with its runs; what belongs to none of them is left out.
            reference: The run that the others are held against; None if there is none.
        """
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
        """The lines of such rows around zero, over data that the caller adds; options as of `Series.layers`."""
        y = alt.Y(f"{_RESIDUAL}:Q", title=f"{self.title} ({self.unit})", axis=alt.Axis(tickCount=4))
        tooltip = [
            run_tooltip(),
            alt.Tooltip(f"{self.metric}:Q", title=self.metric, format=".2f"),
            alt.Tooltip(f"{_REFERENCE}:Q", title="held against", format=".2f"),
            alt.Tooltip(f"{_RESIDUAL}:Q", title=f"{self.title} ({self.unit})", format="+.2f"),
        ]
        zero = alt.Chart().mark_rule(style="zero").encode(y=alt.datum(0))
        drawn = series.layers(x, y, tooltip, lines=lines, points_on_lines=points_on_lines, selectable=False)
        return [zero, *drawn]


def measured_of(runs: Sequence[Run]) -> Run | None:
    """The run that the others are held against: the measured overlay, or the only measured one among others."""
    overlays = [run for run in runs if run.measured_overlay]
    measured = overlays or [run for run in runs if run.store.origin == "measured"]
    return measured[0] if len(measured) == 1 < len(runs) else None


def with_residuals(upper: Figure, rows: pd.DataFrame, draw: Callable[[pd.DataFrame], Figure]) -> Figure:
    """A figure, and below it what `draw` makes of residual rows; the figure alone where there are none."""
    if rows.empty:
        return upper
    both: alt.VConcatChart = alt.vconcat(upper, draw(rows), spacing=8)
    return both
