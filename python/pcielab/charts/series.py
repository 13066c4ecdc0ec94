"""Colours, dashes and shapes of the lines in a figure.

With one run, colour is the figure's dimension (cache state, operation or size). With several, colour is the run,
and dash is the dimension. A measured overlay is drawn as hollow points, so that a simulation and its measured
counterpart share a colour. Legends give the origin of every run.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt
import pandas as pd

from pcielab.charts.run import Run

_SHAPES = ("circle", "square", "triangle-up", "cross", "triangle-down", "triangle-right", "triangle-left")
_OVERLAY_SHAPE = "diamond"
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [1, 3], [10, 4], [4, 1])
_HIDDEN = 0.12
_MOST_RUNS_WITH_BARS = 2

# Long enough for a dash pattern to be seen.
DASH_LEGEND = alt.Legend(symbolType="stroke", symbolSize=420, symbolStrokeWidth=1.8)

Interpolate = Literal["linear", "step", "step-after", "step-before"]

RUN_FIELD = "run"
RUN_NAME_FIELD = "run_name"
ROLE_FIELD = "role"


@dataclass(frozen=True)
class Dimension:
    """The column that separates the lines of a run.

    Attributes:
        field: The column.
        title: Title of its legend.
        values: The values to draw, in the order of the legend.
        grows: Whether the values are sizes, so that colours grow with them.
    """

    field: str
    title: str
    values: Sequence[Any]
    grows: bool = False


def label_rows(run: Run, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the columns of the encodings: the run, and its role, line or points."""
    role = "points" if run.measured_overlay else "line"
    return rows.assign(**{RUN_FIELD: run.entry, RUN_NAME_FIELD: run.full_entry, ROLE_FIELD: role})


def run_tooltip() -> alt.Tooltip:
    """The full name of a point's run."""
    return alt.Tooltip(f"{RUN_NAME_FIELD}:N", title="run")


@dataclass(frozen=True)
class Series:
    """The encodings of a figure over some runs and one dimension (or none).

    Attributes:
        runs: The runs in the order of the legend.
        dimension: The column that separates the lines of a run.
        overlay_as_lines: Whether a measured overlay is a line of its own colour, where points would hide curves.
    """

    runs: Sequence[Run]
    dimension: Dimension | None = None
    overlay_as_lines: bool = False

    @property
    def _colour_is_run(self) -> bool:
        lines = [run for run in self.runs if self.overlay_as_lines or not run.measured_overlay]
        return self.dimension is None or len(lines) > 1

    @property
    def _entries(self) -> list[str]:
        return [run.entry for run in self.runs]

    def _legend_title(self, dimension: Dimension) -> str:
        """The dimension, and the run if there is only one, which then has no legend."""
        return f"{dimension.title}, {self._entries[0]}" if len(self.runs) == 1 else dimension.title

    def colour(self) -> alt.Color:
        """Colour by run or by dimension; the theme's ranges give the colours."""
        if self.dimension is None or self._colour_is_run:
            return alt.Color(f"{RUN_FIELD}:N", title="run", scale=alt.Scale(domain=self._entries))
        kind = "O" if self.dimension.grows else "N"
        scale = alt.Scale(domain=list(self.dimension.values))
        legend = alt.Undefined if self.dimension.grows else DASH_LEGEND
        return alt.Color(
            f"{self.dimension.field}:{kind}", title=self._legend_title(self.dimension), scale=scale, legend=legend
        )

    def dash(self) -> alt.StrokeDash | None:
        """Dash by dimension, also where colour is the dimension: coinciding lines then show both."""
        if self.dimension is None or (self.dimension.grows and not self._colour_is_run):
            return None
        values = list(self.dimension.values)
        scale = alt.Scale(domain=values, range=[list(_DASHES[i % len(_DASHES)]) for i in range(len(values))])
        return alt.StrokeDash(
            f"{self.dimension.field}:N", title=self._legend_title(self.dimension), scale=scale, legend=DASH_LEGEND
        )

    def shape(self) -> alt.Shape:
        """Shape by run, a diamond for the measured overlay."""
        lines = itertools.cycle(_SHAPES)
        shapes = [_OVERLAY_SHAPE if run.measured_overlay else next(lines) for run in self.runs]
        scale = alt.Scale(domain=self._entries, range=shapes)
        if len(self.runs) == 1 and self.dimension is not None:
            return alt.Shape(f"{RUN_FIELD}:N", scale=scale, legend=None)
        return alt.Shape(f"{RUN_FIELD}:N", title="run", scale=scale)

    def dimension_shape(self) -> alt.Shape:
        """Shape by dimension, for figures whose points are not joined by lines."""
        if self.dimension is None:
            return self.shape()
        values = list(self.dimension.values)
        scale = alt.Scale(domain=values, range=[_SHAPES[nth % len(_SHAPES)] for nth in range(len(values))])
        return alt.Shape(f"{self.dimension.field}:N", title=self._legend_title(self.dimension), scale=scale)

    def selection(self) -> alt.Parameter:
        """The selection by clicks on legend entries; shift-click adds one."""
        if self.dimension is None or self._colour_is_run:
            return alt.selection_point(name="picked_run", fields=[RUN_FIELD], bind="legend")
        return alt.selection_point(name="picked_series", fields=[self.dimension.field], bind="legend")

    def layers(
        self,
        x: alt.X,
        y: alt.Y,
        tooltip: Sequence[alt.Tooltip],
        *,
        lines: bool = True,
        points_on_lines: bool = True,
        interpolate: Interpolate = "linear",
        selectable: bool = True,
    ) -> list[alt.Chart]:
        """Lines of the runs, their points, and the hollow points of the overlay, over data that the caller adds.

        Args:
            x: Horizontal axis.
            y: Vertical axis.
            tooltip: Values shown at a point.
            lines: False where values between two points cannot be inferred.
            points_on_lines: False where hundreds of points would hide the line.
            interpolate: Interpolation of lines; histograms have steps.
            selectable: False in a figure's second chart, which follows the first one's legend and has no overlay.
        """
        picked = self.selection()
        shared = {
            "x": x,
            "y": y,
            "color": self.colour(),
            "opacity": clear_if(picked),
        }
        dash = self.dash()
        dashed = {**shared, "strokeDash": dash} if dash is not None else shared
        marked = {**shared, "shape": self.shape(), "tooltip": list(tooltip)}
        layers: list[alt.Chart] = []
        if lines:
            line = alt.Chart().mark_line(interpolate=interpolate).encode(**dashed)
            layers.append(line if self.overlay_as_lines else line.transform_filter(_role("line")))
        if points_on_lines:
            layers.append(alt.Chart().transform_filter(_role("line")).mark_point(filled=True).encode(**marked))
        if selectable:
            layers.insert(0, self._picker(picked))
        has_overlay = any(run.measured_overlay for run in self.runs)
        if has_overlay and selectable and not self.overlay_as_lines:
            hollow = (
                alt.Chart().transform_filter(_role("points")).mark_point(filled=False, size=46, strokeWidth=1.5)
            )
            layers.append(hollow.encode(**marked))
        return layers

    def _picker(self, picked: alt.Parameter) -> alt.Chart:
        """An empty layer whose legend holds the selection that the others follow."""
        nothing = alt.Chart().transform_filter("false").mark_point().encode(color=self.colour())
        picker: alt.Chart = nothing.add_params(picked)
        return picker

    def range_bars(self, x: alt.X, low: str, high: str) -> list[alt.Chart]:
        """Thin bars from `low` to `high` at every point of a line; none for more than two runs."""
        if sum(not run.measured_overlay for run in self.runs) > _MOST_RUNS_WITH_BARS:
            return []
        picked = self.selection()
        bars = (
            alt.Chart()
            .transform_filter(_role("line"))
            .mark_rule(strokeWidth=1.2, strokeOpacity=0.6)
            .encode(
                x=x,
                y=alt.Y(f"{low}:Q"),
                y2=f"{high}:Q",
                color=self.colour(),
                opacity=clear_if(picked),
            )
        )
        return [bars]


def clear_if(picked: alt.Parameter) -> alt.OpacityValue:
    """The opacity of a line: faint unless it is picked. Altair takes longer to make it of `alt.condition`."""
    return alt.OpacityValue(_HIDDEN, condition={"param": picked.name, "value": 1.0})


def _role(role: str) -> str:
    return f"datum.{ROLE_FIELD} === '{role}'"
