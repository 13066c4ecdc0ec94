"""A picture of two runs: for each family, the values of both beside their differences, in one HTML file."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from pcielab.compare.pairs import Comparison, difference_column
from pcielab.report.html import Pictured, figures_page

AXES = {"size_bytes": "transfer size (B)", "window_bytes": "window (B)", "offset_bytes": "offset (B)"}
"""What may run along the horizontal axis: of these, the one that has the most values in the family."""

LABELS = ("name", "cache", "pattern", "offset_of", "size_bytes", "window_bytes")
"""What tells the lines of a family apart, where it varies."""

BINARY_LABEL = (
    "datum.value < 1024 ? datum.value : "
    "datum.value < 1048576 ? datum.value / 1024 + 'K' : datum.value / 1048576 + 'M'"
)
"""Sizes on an axis as they are typed: 64, 4K, 1M."""

WIDTH, HEIGHT = 420, 220


def draw(comparison: Comparison, title: str = "Two runs side by side", notes: Sequence[str] = ()) -> str:
    """A self-contained HTML page: nothing is fetched when it is opened.

    Args:
        comparison: What is drawn.
        title: What it is called.
        notes: Lines below the title, after those that name the runs; without any, a summary of the differences.
    """
    runs = [f"{letter}: {name}" for letter, name in zip("AB", comparison.names, strict=True)]
    latency = comparison.rows["name"].str.startswith("LAT_").rename("latency")
    families = [
        Pictured(_family(rows, str(name), runs, latency=bool(timed)))
        for (name, timed), rows in comparison.rows.groupby(["family", latency], sort=False)
    ]
    lines = [*runs, *(notes or _summary_lines(comparison))]
    return figures_page(title, lines, families)


def _summary_lines(comparison: Comparison) -> list[str]:
    return [
        f"{row['name']}, {row['metric']}: {row['rows']} pairs, difference median {row['median']:.2f}, "
        f"mean {row['mean']:.2f}, p95 {row['p95']:.2f} {'%' if row['unit'] == 'percent' else 'ns'}"
        for row in comparison.summary.to_dict("records")
        if row["name"] == "all"
    ]


def _family(rows: pd.DataFrame, name: str, runs: list[str], *, latency: bool) -> Any:
    """The values of both runs, and beside them their differences."""
    metric, unit = ("median", "ns") if latency else ("bandwidth", "gbps")
    points = _points(rows).assign(
        a=rows[f"{metric}_a_{unit}"], b=rows[f"{metric}_b_{unit}"], difference=rows[difference_column(metric)]
    )
    axis = max(AXES, key=lambda column: points[column].nunique())
    points["line"] = _lines(points, axis)
    points = points[[axis, "line", "a", "b", "difference"]]
    across = alt.X(
        f"{axis}:Q",
        title=AXES[axis],
        axis=alt.Axis(labelExpr=BINARY_LABEL, labelOverlap=True),
        scale=alt.Scale() if axis == "offset_bytes" else alt.Scale(type="log", base=2, nice=False),
    )
    values = _values(points, across, runs, f"{metric} ({'ns' if latency else 'Gb/s'})")
    differences = _differences(points, across, f"difference ({'ns' if latency else '%'})")
    return alt.hconcat(
        values.properties(title=name, width=WIDTH, height=HEIGHT),
        differences.properties(title=f"{name}: B - A", width=WIDTH, height=HEIGHT),
    ).resolve_scale(color="independent")


def _values(points: pd.DataFrame, across: alt.X, runs: list[str], title: str) -> Any:
    values = points.rename(columns={"a": runs[0], "b": runs[1]}).melt(
        id_vars=[points.columns[0], "line"], value_vars=runs, var_name="run", value_name="value"
    )
    legend = alt.Legend(orient="top", direction="vertical", labelLimit=WIDTH)
    return (
        alt.Chart(values)
        .mark_line(point=True)
        .encode(
            x=across,
            y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=False)),
            color=alt.Color("run:N", title=None, sort=runs, legend=legend),
            strokeDash=alt.StrokeDash("run:N", sort=runs, legend=None),
            detail="line:N",
            tooltip=["run:N", "line:N", f"{points.columns[0]}:Q", "value:Q"],
        )
    )


def _differences(points: pd.DataFrame, across: alt.X, title: str) -> Any:
    return (
        alt.Chart(points)
        .mark_line(point=True)
        .encode(
            x=across,
            y=alt.Y("difference:Q", title=title),
            color=alt.Color("line:N", title=None, legend=alt.Legend(labelLimit=WIDTH)),
            tooltip=["line:N", f"{points.columns[0]}:Q", "a:Q", "b:Q", "difference:Q"],
        )
    )


def _points(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with both offsets as one, and whose it is."""
    host, device = rows["host_offset_bytes"], rows["device_offset_bytes"]
    return rows.assign(
        offset_bytes=host + device, offset_of=(device > 0).map({True: "device offset", False: "host offset"})
    )


def _lines(points: pd.DataFrame, axis: str) -> pd.Series:
    """What each row's line is called: everything that varies in the family but the axis."""
    skipped = {axis} | ({"offset_of"} if axis != "offset_bytes" else set())
    varying = [column for column in LABELS if column not in skipped and points[column].nunique() > 1]
    if not varying:
        return points["name"]
    return points[varying].astype(str).agg(", ".join, axis=1)
