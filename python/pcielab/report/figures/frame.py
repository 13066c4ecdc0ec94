"""The frame around a figure: its title, which runs it shows with their origins, and panels side by side."""

from collections.abc import Sequence
from typing import TypeAlias, cast

import altair as alt
import pandas as pd

from pcielab.report.run import Run

Figure: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart | alt.HConcatChart | alt.VConcatChart

PANEL_HEIGHT = 270
FINDINGS = "findings"
"""Key under which a figure carries the sentences about it."""
_FIGURE_WIDTH = 1010
_PANEL_WIDTH = 860
_LONGEST_SUBTITLE = 150
_DIGITS = 7
_MOST_IN_A_ROW = 3
_MOST_SMALL_IN_A_ROW = 4
_PANEL = "of_panel"
_PART_OF_A_NAME = " · "

OPERATION_TITLES = {
    "lat-rd": "LAT_RD (read)",
    "lat-wrrd": "LAT_WRRD (write, then read)",
    "bw-rd": "BW_RD (read)",
    "bw-wr": "BW_WR (write)",
    "bw-rdwr": "BW_RDWR (alternating, one direction)",
}


def panels(
    layers: Sequence[alt.Chart],
    data: pd.DataFrame,
    column: str,
    *,
    columns: Sequence[str],
    row: str | None = None,
    rows: Sequence[str] = (),
    height: int = PANEL_HEIGHT,
) -> alt.FacetChart:
    """One panel for each value of `column` (and each of `row`), in the given order, sharing their axes.

    A page that is narrower puts fewer of them side by side.

    Args:
        layers: what each panel shows.
        data: the rows of all panels.
        column: what panels side by side differ in.
        columns: its values.
        row: what panels below one another differ in.
        rows: its values.
        height: of a panel.
    """
    across = len(columns) if len(columns) <= _MOST_SMALL_IN_A_ROW else _MOST_IN_A_ROW
    width = min(_PANEL_WIDTH, (_FIGURE_WIDTH - 40 * (across - 1)) // across)
    if row is None:
        names, order = data[column], list(columns)
    else:
        names = data[row] + _PART_OF_A_NAME + data[column]
        order = [f"{one}{_PART_OF_A_NAME}{other}" for one in rows for other in columns]
    order = [name for name in order if name in set(names)]
    inline = _inline(data.assign(**{_PANEL: names}))
    panel = alt.layer(*_pickers_first(layers), data=inline).properties(width=width, height=height)
    facet = alt.Facet(f"{_PANEL}:N", title=None, sort=order)
    figure: alt.FacetChart = panel.facet(facet=facet, columns=across)
    return figure


def wrapped(layers: Sequence[alt.Chart], data: pd.DataFrame, column: str, names: Sequence[str]) -> alt.FacetChart:
    """One panel for each value of `column`, in the given order: two or three in a row, with axes of their own."""
    in_a_row = len(names) if len(names) <= _MOST_IN_A_ROW else 2
    width = (_FIGURE_WIDTH - 60 * (in_a_row - 1)) // in_a_row
    panel = alt.layer(*_pickers_first(layers), data=_inline(data))
    panel = panel.properties(width=width, height=PANEL_HEIGHT * 3 // 4)
    facet = alt.Facet(f"{column}:N", title=None, sort=list(names))
    figure: alt.FacetChart = panel.facet(facet=facet, columns=in_a_row).resolve_scale(y="independent")
    return figure


def single_panel(layers: Sequence[alt.Chart], data: pd.DataFrame, *, height: int = 340) -> alt.LayerChart:
    """One wide panel."""
    panel = alt.layer(*_pickers_first(layers), data=_inline(data))
    return cast(alt.LayerChart, panel.properties(width=_PANEL_WIDTH, height=height))


def _pickers_first(layers: Sequence[alt.Chart]) -> list[alt.Chart]:
    """The layers with those first that carry what is picked in a legend: Altair looks for it nowhere else."""
    return sorted(layers, key=lambda layer: not isinstance(layer.params, list))


def _inline(data: pd.DataFrame) -> alt.InlineData:
    """The rows as the chart carries them, without what they lack and without digits that no picture can show.

    Altair would refuse more than 5,000 rows of a frame; the rows here are what the figure draws, and no more.
    """
    rows = [
        {str(key): _short(value) for key, value in row.items() if not pd.isna(value)}
        for row in data.to_dict("records")
    ]
    return alt.InlineData(values=rows)


def _short(value: object) -> object:
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def titled(
    figure: Figure,
    title: str,
    runs: Sequence[Run],
    note: str = "",
    *,
    overlay_as_points: bool = True,
    latencies: bool = False,
    findings: Sequence[str] = (),
) -> Figure:
    """The figure with its title, and under it where its numbers come from.

    Args:
        figure: what it is the title of.
        title: in a few words.
        runs: that it shows.
        note: how to read it.
        overlay_as_points: the measured overlay is drawn as points.
        latencies: it shows latencies: what they include is said where a device tells.
        findings: sentences about what it shows, computed from what it draws; a page puts them below it.
    """
    lines: list[str] = []
    for run in runs:
        entry = f"{run.entry} (points)" if run.measured_overlay and overlay_as_points else run.entry
        if lines and len(lines[-1]) + len(entry) < _LONGEST_SUBTITLE:
            lines[-1] += f"   |   {entry}"
        else:
            lines.append(entry)
    if note:
        lines.append(note)
    if latencies:
        lines += [
            f"{run.label}: a latency includes: {told}" for run in runs if (told := run.store.latency_includes)
        ]
    return figure.properties(
        title=alt.TitleParams(text=title, subtitle=lines), usermeta={FINDINGS: list(findings)}
    )


def findings_of(figure: Figure) -> list[str]:
    """The sentences that the figure's own numbers gave."""
    carried = figure.usermeta
    return [str(sentence) for sentence in carried.get(FINDINGS, [])] if isinstance(carried, dict) else []
