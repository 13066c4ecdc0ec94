"""Common parts of figures: titles with runs and origins, panels, stacked bars and tooltips."""

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import altair as alt
import pandas as pd
from altair.utils.schemapi import debug_mode

from pcielab.charts.run import Run

Figure: TypeAlias = alt.Chart | alt.LayerChart | alt.FacetChart | alt.HConcatChart | alt.VConcatChart

PANEL_HEIGHT = 270
CLAIMS = "findings"
"""Key of a figure's metadata with the sentences about it."""
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
    "lat-chase": "LAT_CHASE (dependent reads)",
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
    """One panel for each of the `columns` of `column` (and `rows` of `row`), in this order, with shared axes.

    Narrower pages put fewer panels side by side.
    """
    across = len(columns) if len(columns) <= _MOST_SMALL_IN_A_ROW else _MOST_IN_A_ROW
    width = min(_PANEL_WIDTH, (_FIGURE_WIDTH - 40 * (across - 1)) // across)
    if row is None:
        names, order = data[column], list(columns)
    else:
        names = data[row] + _PART_OF_A_NAME + data[column]
        order = [f"{one}{_PART_OF_A_NAME}{other}" for one in rows for other in columns]
    order = [name for name in order if name in set(names)]
    rows_of_panels = _inline(data.assign(**{_PANEL: names}))
    panel = alt.layer(*_pickers_first(layers), data=rows_of_panels, width=width, height=height)
    facet = alt.Facet(f"{_PANEL}:N", title=None, sort=order)
    figure: alt.FacetChart = panel.facet(facet=facet, columns=across)
    return figure


def wrapped(layers: Sequence[alt.Chart], data: pd.DataFrame, column: str, names: Sequence[str]) -> alt.FacetChart:
    """One panel for each value of `column`, in the given order: two or three in a row, with separate axes."""
    in_a_row = len(names) if len(names) <= _MOST_IN_A_ROW else 2
    width = (_FIGURE_WIDTH - 60 * (in_a_row - 1)) // in_a_row
    panel = alt.layer(*_pickers_first(layers), data=_inline(data), width=width, height=PANEL_HEIGHT * 3 // 4)
    facet = alt.Facet(f"{column}:N", title=None, sort=list(names))
    figure: alt.FacetChart = panel.facet(facet=facet, columns=in_a_row).resolve_scale(y="independent")
    return figure


def single_panel(layers: Sequence[alt.Chart], data: pd.DataFrame, *, height: int = 340) -> alt.LayerChart:
    """One wide panel."""
    panel = alt.layer(*_pickers_first(layers), data=_inline(data), width=_PANEL_WIDTH, height=height)
    return cast(alt.LayerChart, panel)


def stacked_bars(value: str, title: str, line: str, lines: Sequence[str], part: alt.Color) -> alt.Chart:
    """A horizontal bar for each of the lines, stacked from parts by their `position`; `title` is the value's."""
    bars: alt.Chart = (
        alt.Chart()
        .mark_bar()
        .encode(
            x=alt.X(f"{value}:Q", title=title, stack="zero"),
            y=alt.Y(f"{line}:N", title=None, sort=list(lines), axis=alt.Axis(labelLimit=320)),
            color=part,
            order=alt.Order("position:Q"),
            tooltip=[f"{line}:N", str(part.shorthand), alt.Tooltip(f"{value}:Q", title=title, format=".1f")],
        )
    )
    return bars


def tooltips(*columns: str) -> list[alt.Tooltip]:
    """Tooltips of common columns, with their titles and formats."""
    return [alt.Tooltip(f"{column}:{kind}", **texts) for column in columns for kind, texts in [_TOOLTIPS[column]]]


_TOOLTIPS: dict[str, tuple[str, dict[str, Any]]] = {
    "operation": ("N", {"title": "test"}),
    "cache": ("N", {"title": "cache"}),
    "binds": ("N", {}),
    "size_bytes": ("Q", {"title": "size (B)"}),
    "window_bytes": ("Q", {"title": "window (B)", "format": ","}),
    "frame_bytes": ("Q", {"title": "frame (B)"}),
    "offset_bytes": ("Q", {"title": "offset (B)"}),
    "bandwidth": ("Q", {"title": "bandwidth (Gb/s)", "format": ".2f"}),
    "rate": ("Q", {"title": "transactions (1/s)", "format": ".3s"}),
    "median": ("Q", {"title": "median (ns)", "format": ".1f"}),
    "minimum": ("Q", {"title": "minimum (ns)", "format": ".1f"}),
    "p95": ("Q", {"title": "95 % (ns)", "format": ".1f"}),
}


def _pickers_first(layers: Sequence[alt.Chart]) -> list[alt.Chart]:
    """The layers, those with legend selections first: Altair finds selections only there."""
    return sorted(layers, key=lambda layer: not isinstance(layer.params, list))


def _inline(data: pd.DataFrame) -> alt.InlineData:
    """The rows for the chart, without missing values and without digits that no picture shows.

    Inline, since Altair refuses frames of more than 5,000 rows.
    """
    rows: list[dict[str, object]] = [{} for _ in range(len(data))]
    # By columns: pandas takes several times as long to hand out rows.
    for column, values in data.items():
        for row, value, is_known in zip(rows, values.tolist(), values.notna().tolist(), strict=True):
            if is_known:
                row[str(column)] = _short(value)
    return inline(rows)


def inline(rows: list[dict[str, object]]) -> alt.InlineData:
    """The rows as a chart's data. Altair neither checks nor copies them here, which takes most of a figure's time.

    It copies a chart for each layer, panel and title: the items of a list one by one, those of a tuple not at all.
    """
    with debug_mode(False):
        return alt.InlineData(values=tuple(rows))


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
    claims: Sequence[str] = (),
) -> Figure:
    """The figure with its title, and the origins of its numbers below.

    Args:
        figure: The figure.
        title: A few words.
        runs: The runs that it shows.
        note: How to read it.
        overlay_as_points: Whether the measured overlay is drawn as points.
        latencies: Whether it shows latencies: the subtitle then lists what they include, if devices report it.
        claims: Sentences computed from its rows; a page puts them below it.
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
            f"{run.label}: a latency includes: {parts}" for run in runs if (parts := run.store.latency_includes)
        ]
    return figure.properties(title=alt.TitleParams(text=title, subtitle=lines), usermeta={CLAIMS: list(claims)})


def claims_of(figure: Figure) -> list[str]:
    """The sentences about a figure."""
    carried = figure.usermeta
    return [str(sentence) for sentence in carried.get(CLAIMS, [])] if isinstance(carried, dict) else []
