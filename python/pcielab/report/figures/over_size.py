"""Two runs over size: the values of both, and the bounds of both, a panel for each sort of tests."""

from textwrap import wrap
from typing import Any

import altair as alt
import pandas as pd

from pcielab.analysis.explain.moved import Contrast, Moved
from pcielab.analysis.explain.sentences import sentences, size_of
from pcielab.charts.axes import SizeAxis
from pcielab.charts.frame import Figure, wrapped
from pcielab.charts.selection import MissingDataError
from pcielab.charts.series import DASH_LEGEND
from pcielab.wording import byte_size

_VALUE, _BOUND = "value", "bound"
_RUNS = ("A", "B")
_AREAS = (90, 22)
"""Areas of the points: where both runs agree, those of A are around those of B."""
_LEAST_SIZES = 2
_LINE_LETTERS = 150


def draw_over_size(contrast: Contrast, first: str, second: str) -> Figure:
    """The values and bounds of two runs over size; `first` and `second` name the runs.

    Raises:
        MissingDataError: No tests differ in their size alone.
    """
    data = pd.DataFrame([cell for row in contrast.rows for cell in _cells(row)])
    if not data.empty:
        data = data[data.groupby(["panel", "setting"])["size_bytes"].transform("nunique") >= _LEAST_SIZES]
    if data.empty:
        raise MissingDataError("tests of two sizes")
    axis = SizeAxis.of(data["size_bytes"])
    panels = list(dict.fromkeys(data["panel"]))
    x = axis.encoding.title("size (bytes)")
    y = alt.Y("measure:Q", title=None, scale=alt.Scale(zero=True))
    legend = alt.Legend(symbolFillColor="transparent")
    known: dict[str, Any] = {"title": "run", "sort": list(_RUNS), "legend": legend}
    colour = alt.Color("run:N", scale=alt.Scale(domain=list(_RUNS)), **known)
    shape = alt.Shape("run:N", scale=alt.Scale(domain=list(_RUNS)), **known)
    dash = alt.StrokeDash(
        "curve:N",
        title="curve",
        legend=DASH_LEGEND,
        scale=alt.Scale(domain=[_VALUE, _BOUND], range=[[1, 0], [3, 3]]),
    )
    tooltip = [
        *("run:N", "curve:N", "setting:N", alt.Tooltip("size_bytes:Q", title="size (B)")),
        alt.Tooltip("measure:Q", title="value", format=".2f"),
    ]
    lines = (
        alt.Chart()
        .mark_line()
        .encode(x=x, y=y, color=colour, strokeDash=dash, detail="setting:N", tooltip=tooltip)
    )
    points = [
        alt.Chart()
        .transform_filter(f"datum.curve == '{_VALUE}' && datum.run == '{run}'")
        .mark_point(opacity=1, size=area)
        .encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip)
        for run, area in zip(_RUNS, _AREAS, strict=True)
    ]
    figure = wrapped([lines, *points], axis.positioned(data), "panel", panels)
    title = alt.TitleParams(
        text="Both runs over size, with the bounds of each",
        subtitle=[f"A: {first}", f"B: {second}", *wrap(sentences(contrast)[0], _LINE_LETTERS)],
    )
    return figure.properties(title=title)


def _cells(row: Moved) -> list[dict[str, object]]:
    size = size_of(row.parameters)
    if size is None:
        return []
    known = {"size_bytes": size, "panel": f"{row.sort} ({row.unit})", "setting": _setting(row)}
    cells = [
        {**known, "run": run, "curve": curve, "measure": value}
        for run, own, bound in zip(_RUNS, (row.a, row.b), row.bounds, strict=True)
        for curve, value in ((_VALUE, own), (_BOUND, bound))
        if value is not None
    ]
    return list(cells)


def _setting(row: Moved) -> str:
    """The parameters besides the size, which separate lines."""
    test = row.parameters
    window = test.get("window_bytes")
    words = [
        *([byte_size(int(window))] if window is not None and window == window else []),
        *(
            str(test[key])
            for key in ("cache", "path", "pattern", "pace", "cores", "flow", "direction")
            if test.get(key)
        ),
        *(f"offset {test[key]}" for key in ("host_offset_bytes", "device_offset_bytes") if test.get(key)),
    ]
    return ", ".join(words)
