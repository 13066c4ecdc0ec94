"""The experiments on routable fabrics: one line for each series and flow over the swept value."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd

from pcielab.charts.axes import bytes_ticks
from pcielab.charts.frame import Figure, single_panel, stacked_bars, titled, wrapped
from pcielab.charts.run import Run, Sources, runs_of
from pcielab.charts.selection import MissingDataError
from pcielab.fabric.flow_numbers import PHASES
from pcielab.kinds.beside_published import deviations
from pcielab.kinds.published import FlowSelection, published_values
from pcielab.wording import time_text, time_unit

_MOST_LOGARITHMIC_FROM = 20.0
_HEADS = {
    "average": "average latency ({unit})",
    "percentiles": "latency ({unit})",
    "bandwidth": "bandwidth (GB/s of payload)",
    "tail": "99th percentile over average",
}
_SWEPT = {
    "size_bytes": "size of a request of {flow} (B)",
    "standalone_gbytes_per_s": "{flow} asks for (GB/s)",
    "outstanding": "requests of {flow} outstanding",
}
_LINES = alt.Legend(labelLimit=320, symbolType="stroke")
_PERCENTILES = {"p50": "median", "p90": "90th percentile", "p99": "99th percentile"}
_NEEDED = {"tail": ("p99", "average"), "percentiles": ("p50", "p90", "p99")}
"""The scalars of metrics that need several."""


@dataclass(frozen=True)
class FabricPlot:
    """The rows and the metric of a figure of a fabric.

    Attributes:
        family: Family of the tests.
        title: Title of the figure.
        metric: `average`, `bandwidth`, `tail` for the 99th percentile over the average, or `percentiles` for the
            50th, 90th and 99th, each as a line.
        flows: Only these flows; empty for all.
        panel_words: Number of comma-separated words of an experiment's name that name its panel; the rest names
            its lines. 0: all in one panel.
    """

    family: str
    title: str
    metric: str
    flows: tuple[str, ...] = ()
    panel_words: int = 0


def fabric_sweep(sources: Sources, plot: FabricPlot) -> Figure:
    """A metric of each flow of a family of experiments over the swept value, or as bars without a sweep."""
    runs = runs_of(sources)
    data = pd.concat([_rows(run, plot).assign(run=label_suffix(run, runs)) for run in runs])
    if data.empty:
        raise MissingDataError(f"simulations of a fabric in the family {plot.family} (suite rpciebench)")
    data = _by_run(_joined(data, _published_rows(runs, plot)))
    swept = data["value"].notna().all()
    note = "diamonds: published" if "source" in data else ""
    missed = (sentence for run in runs for sentence in deviations(run.store, plot.family))
    claims = [*sweep_claims(data, plot.metric), *missed]
    unit, unit_ns = time_unit(data["metric"].max())
    head = _HEADS[plot.metric].format(unit=unit)
    if head != _HEADS[plot.metric]:
        data = data.assign(metric=data["metric"] / unit_ns)
    if plot.panel_words:
        return titled(_panels(data, plot, head), plot.title, runs, note, claims=claims)
    figure = single_panel(_with_published(_lines(data) if swept else _bars(data), data), data)
    scale = alt.Scale(zero=False) if plot.metric == "tail" else alt.Undefined
    encoded: alt.LayerChart = figure.encode(y=alt.Y("metric:Q", title=head, scale=scale))
    return titled(encoded, plot.title, runs, note, claims=claims)


def fabric_phases(sources: Sources, family: str = "fig3-latency") -> Figure:
    """The time of a family's requests by phase: at the host, in the fabric, at the device."""
    runs = runs_of(sources)
    rows = pd.concat([_by_run(_phase_rows(run, family).assign(run=label_suffix(run, runs))) for run in runs])
    if rows.empty:
        raise MissingDataError(f"simulations of a fabric in the family {family} (suite rpciebench)")
    rows = rows[rows["value"] == 64]
    rows = rows.assign(position=rows["phase"].map(PHASES.index))
    phase = alt.Color("phase:N", title="phase", sort=list(PHASES))
    bars = stacked_bars("average", "average time (ns)", "series", list(dict.fromkeys(rows["series"])), phase)
    return titled(single_panel([bars], rows), "Time of 64 B requests by phase", runs)


def _panels(data: pd.DataFrame, plot: FabricPlot, title: str) -> alt.FacetChart:
    """A panel with its own scale for each group of experiments; `title` is that of the metric."""
    words = data["series"].str.split(", ")
    parted = data.assign(
        panel=words.str[: plot.panel_words].str.join(", "),
        series=words.str[plot.panel_words :].str.join(", "),
    )
    if plot.metric == "percentiles":
        parted["panel"] += parted["run"]
        parted["series"] = parted["percentile"].map(_PERCENTILES)
        head = alt.Y("metric:Q", title=title, scale=alt.Scale(zero=False))
        lines = _with_dashes(_lines(parted), list(_PERCENTILES.values()))
    else:
        head = alt.Y("metric:Q", title=title)
        lines = _lines(parted)
    layers = [layer.encode(y=head) for layer in _with_published(lines, parted)]
    figure = wrapped(layers, parted, "panel", list(dict.fromkeys(parted["panel"])))
    scaled: alt.FacetChart = figure.resolve_scale(x="independent", y="independent")
    return scaled


def _with_dashes(lines: alt.Chart, names: list[str]) -> alt.Chart:
    """The lines with dashes, so that coinciding ones show, and one legend."""
    known: dict[str, Any] = {"sort": names, "scale": alt.Scale(domain=names), "legend": _LINES}
    known["title"] = "of requests"
    color, dash = alt.Color("series:N", **known), alt.StrokeDash("series:N", **known)
    dashed: alt.Chart = lines.encode(color=color, strokeDash=dash)
    return dashed


def _lines(data: pd.DataFrame) -> alt.Chart:
    low, high = data["value"].min(), data["value"].max()
    wide = low > 0 and high / low >= _MOST_LOGARITHMIC_FROM
    scale = alt.Scale(type="log", base=2, nice=False) if wide else alt.Scale(zero=False)
    of_sizes = wide and all(str(sweep).endswith(".size_bytes") for sweep in data["sweep"])
    tall = data["metric"].min() > 0 and data["metric"].max() / data["metric"].min() >= _MOST_LOGARITHMIC_FROM
    chart: alt.Chart = (
        alt.Chart()
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "value:Q",
                title=", ".join(sorted({_in_words(sweep) for sweep in data["sweep"]})),
                scale=scale,
                axis=bytes_ticks(data["value"]) if of_sizes else alt.Undefined,
            ),
            y=alt.Y("metric:Q", scale=alt.Scale(type="log" if tall else "linear")),
            color=alt.Color("series:N", title="experiment", sort=None, legend=_LINES),
            strokeDash=alt.StrokeDash("flow:N", title="flow", legend=_LINES)
            if data["flow"].nunique() > 1
            else alt.Undefined,
            tooltip=["series:N", "flow:N", "value:Q", alt.Tooltip("metric:Q", format=".4~g")],
        )
    )
    return chart


def _in_words(sweep: str) -> str:
    """The swept parameter as the title of an axis."""
    flow, _, key = sweep.rpartition(".")
    return _SWEPT.get(key, "{flow}: " + key).format(flow="each flow" if flow == "*" else flow)


def _bars(data: pd.DataFrame) -> alt.Chart:
    legend = alt.Legend(labelLimit=320) if data["series"].nunique() > 1 else None
    chart: alt.Chart = (
        alt.Chart()
        .mark_bar(opacity=0.6)
        .encode(
            x=alt.X("flow:N", title=None, sort=None, axis=alt.Axis(labelAngle=-20, labelLimit=200)),
            xOffset=alt.XOffset("series:N", sort=None),
            y="metric:Q",
            color=alt.Color("series:N", title="experiment", sort=None, legend=legend),
            tooltip=["series:N", "flow:N", alt.Tooltip("metric:Q", format=".4~g")],
        )
    )
    return chart


def _with_published(simulated: alt.Chart, data: pd.DataFrame) -> list[alt.Chart]:
    """The simulated chart, with a diamond for each published number."""
    if "source" not in data:
        return [simulated]
    # Other rows get size 0 rather than a filter: the scale of a panel without published numbers would have no
    # ends.
    published: alt.Chart = simulated.mark_point(shape="diamond", filled=True, opacity=0.9).encode(
        size=alt.condition("isValid(datum.source)", alt.value(110), alt.value(0)),
        tooltip=["series:N", "flow:N", "source:N", alt.Tooltip("metric:Q", title="published", format=".4~g")],
    )
    return [simulated.transform_filter("!isValid(datum.source)"), published]


def _joined(data: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """Simulated and published rows; only the latter have a `source`, a column that is missing without them."""
    if published.empty:
        return data
    drawn = data.drop_duplicates("series").set_index("series")
    known = published[published["series"].isin(drawn.index)]
    if known.empty:
        return data
    beside = {column: known["series"].map(drawn[column]) for column in ("sweep", "run")}
    return pd.concat([data, known.assign(**beside)])


def _by_run(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the run's suffix in the names of their lines."""
    return rows.assign(series=rows["series"] + rows["run"])


def _published_rows(runs: Sequence[Run], plot: FabricPlot) -> pd.DataFrame:
    """The published single points of a family, as rows of the figure."""
    known = next(filter(None, (published_values(str(run.store.manifest.get("suite"))) for run in runs)), None)
    single = [] if known is None else [one for one in known.value if len(one.of) == 1]
    points = [(one, one.of[0]) for one in single if isinstance(one.of[0], FlowSelection)]
    rows = [
        {
            "series": of.series or series,
            "flow": of.flow,
            "value": of.value,
            "metric": one.published,
            "source": one.source,
        }
        for one, of in points
        if one.over is None and of.family == plot.family and of.metric == plot.metric and _is_point(of)
        for series in _only_series(runs, plot)
    ]
    return pd.DataFrame(rows).drop_duplicates()


def _is_point(selection: FlowSelection) -> bool:
    return not isinstance(selection.value, list)


def _only_series(runs: Sequence[Run], plot: FabricPlot) -> list[str]:
    """The series of a selection that names none: the only one of the family."""
    families = pd.concat([run.rows[run.rows["family"] == plot.family] for run in runs])
    return list(dict.fromkeys(families["series"]))[:1]


def _rows(run: Run, plot: FabricPlot) -> pd.DataFrame:
    """One row per flow and simulation: series, flow, sweep, value, metric."""
    columns = ["series", "flow", "sweep", "value", "metric"]
    wide = _subjects(run, plot.family, "flow ")
    if plot.flows:
        wide = wide[wide["subject"].isin(plot.flows)]
    needed = _NEEDED.get(plot.metric, (plot.metric,))
    if wide.empty or not set(needed) <= set(wide.columns):
        return pd.DataFrame(columns=columns)
    if plot.metric == "percentiles":
        tall = wide.melt(
            ["series", "subject", "sweep", "value"], needed, var_name="percentile", value_name="metric"
        )
        return tall.rename(columns={"subject": "flow"}).dropna(subset=["metric"])
    metric = wide["p99"] / wide["average"] if plot.metric == "tail" else wide[plot.metric]
    return wide.assign(metric=metric, flow=wide["subject"])[columns].dropna(subset=["metric"])


def _phase_rows(run: Run, family: str) -> pd.DataFrame:
    wide = _subjects(run, family, "phase ")
    if wide.empty:
        return pd.DataFrame(columns=["series", "phase", "value", "average"])
    return wide.assign(phase=wide["subject"].str.split(" ").str[0])[["series", "phase", "value", "average"]]


def label_suffix(run: Run, runs: Sequence[Run]) -> str:
    """The suffix with the run's label for names that several runs share; empty for a single run."""
    return f", {run.label}" if len(runs) > 1 else ""


def _subjects(run: Run, family: str, kind: str) -> pd.DataFrame:
    """The scalars of one kind of subject, metrics as columns, beside the parameters of their tests."""
    scalars = run.store.scalar_rows
    scalars = scalars[scalars["subject"].str.startswith(kind)]
    tests = run.rows[run.rows["family"] == family]
    if tests.empty or scalars.empty or "series" not in tests.columns:
        return pd.DataFrame(columns=["subject"])
    tests = tests[["id", "series", "sweep", "value"]]
    wide = scalars.pivot(index=["test", "subject"], columns="metric", values="value").reset_index()
    order = {subject: nth for nth, subject in enumerate(dict.fromkeys(scalars["subject"]))}
    wide = wide.sort_values(["test", "subject"], key=lambda one: one.map(order) if one.name == "subject" else one)
    wide["subject"] = wide["subject"].str.removeprefix(kind)
    return tests.merge(wide, left_on="id", right_on="test")


_MOST_SENTENCES = 8
_UNITS = {"average": "ns", "percentiles": "ns", "bandwidth": "GB/s", "tail": "times the average"}
_NOTICED_PERCENT = 1.0
_WHOLE_FROM = 1000
_A_MULTIPLE_FROM_PERCENT = 100.0


def sweep_claims(data: pd.DataFrame, metric: str) -> Iterator[str]:
    """The last point of each line beside its first; of many lines, those that change most. Bars have none.

    Published rows, which have a `source`, are left out; `metric` is as in `FabricPlot`.
    """
    simulated = data[data["source"].isna()] if "source" in data else data
    unit = _UNITS[metric]
    keys = ["series", "flow", *(["percentile"] if "percentile" in simulated else [])]
    sentences = []
    for key, rows in simulated.groupby(keys, sort=False, dropna=False):
        if len(rows) == 1 or rows["value"].isna().any():
            continue
        rows = rows.sort_values("value", kind="stable")
        first, last = float(rows["metric"].iloc[0]), float(rows["metric"].iloc[-1])
        name = ", ".join(str(part) for part in key)
        change = 100 * (last / first - 1) if first else 0.0
        apart = _apart(change)
        ends = [_text(float(value)) for value in rows["value"].iloc[[0, -1]]]
        span = f"{_with_unit(first, unit)} at {ends[0]}, {_with_unit(last, unit)} at {ends[1]}"
        sentences.append((abs(change), f"{name}: {span} ({apart})."))
    shown = sorted(sentences, key=lambda one: -one[0])[:_MOST_SENTENCES]
    yield from (sentence for _, sentence in shown)
    if len(sentences) > len(shown):
        yield f"The figure has {len(sentences) - len(shown)} more lines."


def _apart(change_percent: float) -> str:
    """The change in words: in percent, or as a multiple from 100 % on."""
    if abs(change_percent) < _NOTICED_PERCENT:
        return "equal within 1 %"
    if change_percent >= _A_MULTIPLE_FROM_PERCENT:
        return f"{1 + change_percent / 100:,.3g} times"
    return f"{change_percent:+.0f} %"


def _with_unit(value: float, unit: str) -> str:
    return time_text(value) if unit == "ns" else f"{_text(value)} {unit}"


def _text(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= _WHOLE_FROM or value.is_integer() else f"{value:.4g}"
