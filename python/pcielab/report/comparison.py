"""Two runs as a page in the style of reports: for each family the values of both, and their differences below.

Colour is the run; A is drawn as points over the lines of B, like measurements in reports. Each combination of the
other varying parameters has a panel; panels share their axes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import altair as alt
import pandas as pd

from pcielab.analysis.compare.pairs import MESSAGES, METRICS, Comparison
from pcielab.report.axes import POSITION, SizeAxis, bytes_axis, window_axis
from pcielab.report.figures.frame import Figure, panels, titled
from pcielab.report.figures.message import link_name
from pcielab.report.figures.residual import RESIDUAL_HEIGHT, Residual, with_residuals
from pcielab.report.html import html_page
from pcielab.report.provenance import provenance
from pcielab.report.run import Run, everyone
from pcielab.report.series import RUN_NAME_FIELD, Series, label_rows, run_tooltip
from pcielab.store.exercised import NOTICE, WHY

_AXES = ("size_bytes", "window_bytes", "offset_bytes", "swept_to", "frame_bytes")
"""Candidates for the horizontal axis: the one with the most values in the family is chosen."""

_OF_MESSAGES = tuple(column for column in MESSAGES if column not in ("generation", "lanes"))
_PARTS = ("name", "link", "cache", "pattern", "offset_of", "size_bytes", "window_bytes", *_OF_MESSAGES, "flow")
"""Columns that separate the panels of a family, where they vary."""

_OFFSETS = list(range(0, 65, 8))
_HEIGHT, _LOW = 200, 120
_MOST_TALL = 4
_MOST_APART = 80
"""Most sizes of a sweep that are drawn apart; more form a curve."""


@dataclass(frozen=True)
class Summary:
    """A table of the sizes of the differences, as texts."""

    heads: list[str]
    lines: list[list[str]]


def draw(comparison: Comparison, title: str = "Two runs side by side", notes: Sequence[str] = ()) -> str:
    """A self-contained HTML page of paired runs, with notes as lines below the title."""
    a, b = runs_of_comparison(comparison)
    drawn = families(comparison, a, b) if comparison.tells_speed else []
    figures = {f"family-{number}": one for number, one in enumerate(drawn, start=1)}
    return html_page(
        "comparison.html.j2",
        figures,
        title=title,
        notice="" if comparison.tells_speed else f"{NOTICE}. {WHY}",
        badges=list(dict.fromkeys(run.badge for run in (a, b))),
        provenances=[provenance(run) for run in (a, b)],
        incomplete=[f"{run.label}: {run.store.extent}" for run in (a, b) if run.store.incomplete],
        notes=notes,
        summary=_summary(comparison) if comparison.tells_speed else _pairs(comparison),
        pictured=figures,
    )


def runs_of_comparison(comparison: Comparison) -> tuple[Run, Run]:
    """A, which is drawn as points, and B."""
    first, second = everyone([comparison.a, comparison.b])
    a = replace(first, label=f"A: {first.label}", name=f"A: {first.name}", measured_overlay=True)
    return a, replace(second, label=f"B: {second.label}", name=f"B: {second.name}")


def families(comparison: Comparison, a: Run, b: Run) -> list[Figure]:
    """A figure for each family with numbers of both: of bandwidths, or of latencies."""
    rows = comparison.rows
    # Streams of messages have bandwidths and latencies.
    latency = rows["bandwidth_a_gbps"].isna() | rows["name"].str.endswith("_ALONE")
    value = rows["median_b_ns"].where(latency, rows["bandwidth_b_gbps"])
    swept = rows[[column for column in _AXES if column in rows]]
    drawn = value.notna() & swept.notna().any(axis=1)
    groups = rows[drawn].groupby(["family", latency.rename("latency")], sort=False)
    return [_family(group, str(name), a, b, latency=bool(timed)) for (name, timed), group in groups]


def _summary(comparison: Comparison) -> Summary:
    shown = ["name", "metric", "unit", "rows", "median", "mean", "p95", "maximum"]
    lines = [
        [f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in (row[head] for head in shown)]
        for row in comparison.summary.to_dict("records")
    ]
    return Summary(shown, lines)


def _pairs(comparison: Comparison) -> Summary:
    """The number of tests that both runs have finished, by name."""
    counts = comparison.rows["name"].value_counts(sort=False)
    return Summary(["test", "finished in both"], [[str(name), str(count)] for name, count in counts.items()])


def _family(rows: pd.DataFrame, name: str, a: Run, b: Run, *, latency: bool) -> Figure:
    metric, unit = ("median", "ns") if latency else ("bandwidth", "Gb/s")
    points = _points(rows)
    axis = max((column for column in _AXES if column in points), key=lambda column: points[column].nunique())
    points = points.assign(part=_parts(points, axis))
    column = METRICS[metric]
    values = [
        label_rows(run, points.assign(value=rows[f"{metric}_{letter}_{column}"]))
        for letter, run in (("a", a), ("b", b))
    ]
    # A foreign store may leave out what others have.
    data = pd.concat(values).dropna(subset=["value", axis])
    parts = list(dict.fromkeys(points["part"]))
    data, x = _across(data, axis)
    y = alt.Y("value:Q", title=f"{metric} ({unit})", scale=alt.Scale(zero=False))
    series, lines = Series([b, a]), axis != "offset_bytes"
    residual = Residual("value", ["part", axis, "occurrence"], "ns" if latency else "%", "B less A")
    height = _HEIGHT if len(parts) <= _MOST_TALL else _LOW
    kept = ["part", axis, "occurrence", "value", "run", RUN_NAME_FIELD, "role"]
    kept += [POSITION] if POSITION in data else []
    figure = with_residuals(
        panels(series.layers(x, y, _tooltip(axis), lines=lines), data[kept], "part", columns=parts, height=height),
        residual.rows(data[kept], a),
        lambda apart: panels(
            residual.layers(series, x, lines=lines), apart, "part", columns=parts, height=RESIDUAL_HEIGHT
        ),
    )
    return titled(figure, name, [b, a])


def _across(data: pd.DataFrame, axis: str) -> tuple[pd.DataFrame, alt.X]:
    """The rows with their positions on the horizontal axis, and that axis."""
    if axis == "size_bytes" and data[axis].nunique() > _MOST_APART:
        return data, bytes_axis(axis, "transfer size (bytes)", data[axis], step=2)
    if axis == "size_bytes":
        sizes = SizeAxis.of(data[axis])
        return sizes.positioned(data), sizes.encoding
    if axis == "window_bytes":
        return data, window_axis(data[axis])
    if axis == "frame_bytes":
        title = "Ethernet frame (bytes, FCS included)"
        return data, alt.X("frame_bytes:Q", title=title, scale=alt.Scale(zero=False))
    if axis == "swept_to":
        return data, alt.X("swept_to:Q", title="swept to", scale=alt.Scale(zero=False))
    return data, alt.X("offset_bytes:Q", title="offset (bytes)", axis=alt.Axis(values=_OFFSETS))


def _points(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with a single offset and its side, and with the link of a message as text."""
    host, device = rows["host_offset_bytes"].fillna(0), rows["device_offset_bytes"].fillna(0)
    if "generation" in rows:
        links = zip(rows["generation"], rows["lanes"], strict=True)
        rows = rows.assign(link=[link_name(generation, lanes) or "own link" for generation, lanes in links])
    return rows.assign(
        offset_bytes=host + device, offset_of=(device > 0).map({True: "device offset", False: "host offset"})
    )


def _parts(points: pd.DataFrame, axis: str) -> pd.Series:
    """The name of each row's panel: all varying parameters but the axis."""
    skipped = {axis} | ({"offset_of"} if axis != "offset_bytes" else set())
    varying = [
        column
        for column in _PARTS
        if column in points and column not in skipped and points[column].nunique(dropna=False) > 1
    ]
    if not varying:
        return points["name"]
    return points[varying].map(str).agg(", ".join, axis=1)


def _tooltip(axis: str) -> list[alt.Tooltip]:
    return [
        run_tooltip(),
        alt.Tooltip("part:N", title="test"),
        alt.Tooltip(f"{axis}:Q"),
        alt.Tooltip("value:Q", format=",.2f"),
    ]
