"""Pictures of sweeps: values over an axis, and Sobol indices."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from pcielab.charts.axes import bytes_axis
from pcielab.charts.frame import CLAIMS, Figure, inline
from pcielab.charts.run import ORIGIN_BADGES
from pcielab.charts.style import configuration
from pcielab.errors import refusal
from pcielab.sweeps.plan import Plan

_WIDTH, _HEIGHT, _PANEL_WIDTH = 620, 300, 300
_UNITS = {"gbps": "Gb/s", "ns": "ns", "bytes": "bytes", "per_second": "1/s"}
_WORDS = {"median_ns": "median latency (ns)"}
_MANY = 40
_HEAT_MAP_AXES = 3


def chart(frame: pd.DataFrame, plan: Plan, x: str | None, y: str, colour: str | None, panel: str | None) -> Figure:
    """Values over an axis; see `Results.plot`."""
    drawn = [axis.column for axis in plan.ranges]
    free = [axis.column for axis in (*plan.varying, *plan.ranges) if axis.column not in (x, colour, panel)]
    free = list(dict.fromkeys(free))
    x = x or (free.pop() if free else None)
    if x is None:
        raise refusal("missing", "plot: every axis has one value: give at least one axis several")
    colour = colour or (free.pop(0) if free else None)
    panel = panel or (free.pop(0) if free else None)
    for column in (x, y, colour, panel):
        if column is not None and column not in frame:
            raise refusal("not-found", f"plot: there is no column {column}: known: {', '.join(frame.columns)}")
    columns = list(dict.fromkeys(one for one in (x, y, colour, panel) if one is not None))
    rows = frame[columns].dropna(subset=[y])
    base = alt.Chart(_inline(rows)).encode(
        x=_across(x, rows),
        y=_upwards(y),
        tooltip=_tooltips(columns, rows),
        color=_coloured(colour, rows),
    )
    points = base.mark_point(filled=True)
    # Random draws are not joined by a line.
    layers = [points] if x in drawn else [base.mark_line(), points]
    layered = alt.layer(*layers).properties(width=_PANEL_WIDTH if panel else _WIDTH, height=_HEIGHT)
    figure = layered.facet(facet=alt.Facet(f"{panel}:N", title=_title(panel)), columns=3) if panel else layered
    return _finished(figure, plan, str(frame["origin"].iloc[0]), _title(y))


def heat_map(
    frame: pd.DataFrame, plan: Plan, x: str | None, y: str | None, value: str, panel: str | None
) -> Figure:
    """Values over two axes by colour; see `Results.plot_heat_map`."""
    free = [axis.column for axis in plan.varying if axis.column not in (x, y, panel)]
    if plan.ranges or not 2 <= len(plan.varying) <= _HEAT_MAP_AXES:
        raise refusal("missing", "heat map: needs lists of two axes, or of three")
    x = x or free.pop()
    y = y or free.pop()
    panel = panel or (free.pop(0) if free else None)
    for column in (x, y, value, panel):
        if column is not None and column not in frame:
            raise refusal("not-found", f"heat map: there is no column {column}: known: {', '.join(frame.columns)}")
    columns = [one for one in (x, y, value, panel) if one is not None]
    rows = frame[columns].dropna(subset=[value])
    cells = (
        alt.Chart(_inline(rows))
        .mark_rect()
        .encode(
            x=alt.X(f"{x}:O", title=_title(x), sort=list(dict.fromkeys(rows[x]))),
            y=alt.Y(f"{y}:O", title=_title(y), sort=list(dict.fromkeys(rows[y]))),
            color=alt.Color(f"{value}:Q", title=_title(value), scale=alt.Scale(zero=False)),
            tooltip=_tooltips(columns, rows),
        )
        .properties(width=_PANEL_WIDTH if panel else _WIDTH, height=_HEIGHT)
    )
    figure = cells.facet(facet=alt.Facet(f"{panel}:N", title=_title(panel)), columns=3) if panel else cells
    return _finished(figure, plan, str(frame["origin"].iloc[0]), _title(value))


def bars(shares: pd.DataFrame, plan: Plan, metric: str, origin: str) -> Figure:
    """Sobol indices as bars; see `Results.plot_sensitivity`."""
    lists = [axis.column for axis in plan.varying if axis.column in shares.columns]
    if lists:
        at = shares[lists].astype(str).agg(", ".join, axis=1)
        shares = shares.assign(at=[f"{', '.join(lists)}: {text}" for text in at])
    order = list(shares.groupby("knob")["total"].max().sort_values(ascending=False).index)
    long = shares.melt(
        id_vars=["knob", *(["at"] if lists else [])], value_vars=["total", "first_order"], var_name="index"
    )
    words = {"total": "with interactions", "first_order": "alone"}
    long = long.assign(index=long["index"].map(words))
    bar = (
        alt.Chart(_inline(long))
        .mark_bar()
        .encode(
            y=alt.Y("knob:N", sort=order, title=None, axis=alt.Axis(labelLimit=300)),
            yOffset=alt.YOffset("index:N", sort=list(words.values())),
            x=alt.X("value:Q", title=f"share of the variance of {_title(metric)}"),
            color=alt.Color("index:N", title="knob", sort=list(words.values())),
            tooltip=["knob:N", "index:N", alt.Tooltip("value:Q", format=".3f")],
        )
        .properties(width=_WIDTH, height=max(80, 44 * len(order)))
    )
    figure = bar.facet(row=alt.Row("at:N", title=None)) if lists else bar
    return _finished(figure, plan, origin, "Which knob matters: Sobol indices")


def _finished(figure: Figure, plan: Plan, origin: str, title: str) -> Figure:
    badge = ORIGIN_BADGES[origin]
    fixed = [f"{axis.column} {axis.values[0]}" for axis in plan.axes if not axis.varies]
    subtitle = [f"{badge} · {plan.system.title}", ", ".join(fixed)]
    shown = alt.TitleParams(text=title, subtitle=[line for line in subtitle if line])
    figure = figure.properties(title=shown, usermeta={CLAIMS: []})
    figure.config = alt.Config.from_dict(configuration("light"), validate=False)
    return figure


def _upwards(column: str) -> alt.Y:
    # Latencies do not start at zero: they differ by a few percent of the round trip.
    return alt.Y(f"{column}:Q", title=_title(column), scale=alt.Scale(zero=not column.endswith("_ns")))


def _across(column: str, rows: pd.DataFrame) -> alt.X:
    values = rows[column]
    if not pd.api.types.is_numeric_dtype(values):
        return alt.X(f"{column}:N", title=_title(column), sort=list(dict.fromkeys(values)))
    if column.endswith("_bytes") and values.min() > 0 and values.max() > 4 * values.min():
        return bytes_axis(column, _title(column), values, step=2 if values.max() > 4096 * values.min() else 1)
    return alt.X(f"{column}:Q", title=_title(column), scale=alt.Scale(zero=False))


def _coloured(column: str | None, rows: pd.DataFrame) -> Any:
    if column is None:
        return alt.Undefined
    values = rows[column]
    many = pd.api.types.is_numeric_dtype(values) and values.nunique() > _MANY
    kind = "Q" if many else "O" if pd.api.types.is_numeric_dtype(values) else "N"
    sort = alt.Undefined if many else list(dict.fromkeys(values))
    return alt.Color(f"{column}:{kind}", title=_title(column), sort=sort)


def _tooltips(columns: Sequence[str], rows: pd.DataFrame) -> list[alt.Tooltip]:
    kinds = {column: "Q" if pd.api.types.is_numeric_dtype(rows[column]) else "N" for column in columns}
    return [alt.Tooltip(f"{column}:{kind}") for column, kind in kinds.items()]


def _title(column: str) -> str:
    if column in _WORDS:
        return _WORDS[column]
    for suffix, unit in _UNITS.items():
        if column.endswith(f"_{suffix}"):
            return f"{column.removesuffix(f'_{suffix}').replace('_', ' ')} ({unit})"
    return column.replace("_", " ")


def _inline(rows: pd.DataFrame) -> alt.InlineData:
    """Inline data of the chart: Altair refuses frames of more than 5,000 rows."""
    plain: Any = rows.astype(object).where(rows.notna(), None).to_dict("records")
    return inline(plain)
