"""Two runs as a page in the style of reports: the largest differences, a summary, and a figure for each family.

The page opens with the ten tests that differ most and a figure of the worst; families are folded, the one with the
largest difference first. Figures show the values of both runs, and their differences below. Colour is the run; A
is drawn as points over the lines of B, like measurements in reports. Each combination of the other varying
parameters has a panel; panels share their axes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import altair as alt
import pandas as pd

from pcielab.analysis.compare.gate import Failure, failures
from pcielab.analysis.compare.pairs import METRICS, Comparison
from pcielab.charts.axes import POSITION, SizeAxis, bytes_axis, window_axis
from pcielab.charts.frame import Figure, panels, titled
from pcielab.charts.residual import RESIDUAL_HEIGHT, Residual, with_residuals
from pcielab.charts.run import Run, everyone
from pcielab.charts.series import RUN_NAME_FIELD, Series, label_rows, run_tooltip
from pcielab.kinds.messages.by_size import link_name
from pcielab.kinds.messages.compare import PARAMETERS as MESSAGES
from pcielab.kinds.rooms import room_of
from pcielab.kinds.transfers.compare import is_resolvable
from pcielab.report.html import Pictured, html_page
from pcielab.report.provenance import provenance
from pcielab.report.titles import family_title, panel_titles, test_title, tested
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


_MOST_WORST = 10
_MOST_SYSTEM_DIFFERENCES = 4
_METRIC_WORDS = {"bandwidth": "bandwidth", "median": "median latency", "average": "average latency"}
_UNITS = {"gbps": "Gb/s", "ns": "ns", "percent": "%"}


@dataclass(frozen=True)
class Table:
    """Heads of columns and lines of texts."""

    heads: list[str]
    lines: list[list[str]]


@dataclass(frozen=True)
class Worst:
    """One of the tests that differ most, in words.

    Attributes:
        test: What differs, and the parameters.
        a: The value of A with its unit.
        b: The value of B with its unit.
        difference: B less A, in percent of A.
        figure: Name of the figure of its family; empty if the family has none.
    """

    test: str
    a: str
    b: str
    difference: str
    figure: str


@dataclass(frozen=True)
class Family:
    """A family with its figure.

    Attributes:
        name: Its name in the suite.
        title: It in words.
        figure: The values of both runs and their differences.
        rows: Number of pairs.
        largest_percent: The largest difference, in percent of A.
        latency: Whether the figure shows latencies; a family of messages has one figure of each kind.
    """

    name: str
    title: str
    figure: Figure
    rows: int
    largest_percent: float
    latency: bool

    @property
    def difference(self) -> str:
        """Number of pairs and largest difference, in words."""
        pairs = f"{self.rows:,} {'pair' if self.rows == 1 else 'pairs'}"
        apart = (
            f"largest difference {_rounded(self.largest_percent)} %" if self.largest_percent else "no difference"
        )
        return f"{pairs}, {apart}"


def draw(comparison: Comparison, title: str = "Two runs side by side", notes: Sequence[str] = ()) -> str:
    """A self-contained HTML page of paired runs, with notes as lines below the title."""
    comparison = _with_operations(comparison)
    a, b = runs_of_comparison(comparison)
    timed = comparison.tells_speed
    named = {f"family-{n}": one for n, one in enumerate(families(comparison, a, b) if timed else [], start=1)}
    worst = largest(comparison) if timed else []
    closest = {f"worst-{n}": one for n, one in enumerate(_closest(comparison, worst, a, b), start=1)}
    of_family = {(family.name, family.latency): name for name, family in named.items()}
    return html_page(
        "comparison.html.j2",
        {name: one.figure for name, one in closest.items()} | {name: one.figure for name, one in named.items()},
        title=title,
        notice="" if timed else f"{NOTICE}. {WHY}",
        badges=list(dict.fromkeys(run.badge for run in (a, b))),
        entries=[f"{run.full_entry} ({run.store.path.name})" for run in (a, b)],
        provenances=[provenance(run) for run in (a, b)],
        incomplete=[f"{run.label}: {run.store.extent}" for run in (a, b) if run.store.incomplete],
        notes=[*_lead(comparison), *notes],
        worst=[_worst(one, of_family) for one in worst],
        closest=closest,
        summary=_summary(comparison) if timed else _pairs(comparison),
        families=named,
    )


def runs_of_comparison(comparison: Comparison) -> tuple[Run, Run]:
    """A, which is drawn as points, and B."""
    first, second = everyone([comparison.a, comparison.b])
    a = replace(first, label=f"A: {first.label}", name=f"A: {first.name}", measured_overlay=True)
    return a, replace(second, label=f"B: {second.label}", name=f"B: {second.name}")


def families(comparison: Comparison, a: Run, b: Run, tests: Sequence[int] | None = None) -> list[Family]:
    """The families with numbers of both runs, the one with the largest difference first.

    A family of messages has two figures: bandwidths and latencies. With numbers of `tests` of A, figures have only
    the panels of these tests, and families without any of them are left out.
    """
    rows = (comparison if "operation" in comparison.rows else _with_operations(comparison)).rows
    # Streams of messages have bandwidths and latencies.
    latency = rows["bandwidth_a_gbps"].isna() | rows["name"].str.endswith("_ALONE")
    of_a, of_b = (rows[f"median_{run}_ns"].where(latency, rows[f"bandwidth_{run}_gbps"]) for run in ("a", "b"))
    swept = rows[[column for column in _AXES if column in rows]]
    drawn = of_a.notna() & of_b.notna() & swept.notna().any(axis=1)
    groups = rows[drawn].groupby(["family", latency.rename("latency")], sort=False)
    found = [
        _family(group, str(name), a, b, tests, latency=bool(timed))
        for (name, timed), group in groups
        if tests is None or group["test_a"].isin(tests).any()
    ]
    return sorted(found, key=lambda family: -family.largest_percent)


def largest(comparison: Comparison) -> list[Failure]:
    """The tests that differ most in bandwidth or median latency, in percent of A, the largest difference first.

    Differences that the runs' samples do not resolve are left out, and repetitions of a test named once.
    """
    found: dict[tuple[str, str | None], Failure] = {}
    for one in failures(comparison, 0.0):
        if len(found) < _MOST_WORST and one.metric in ("bandwidth", "median") and _resolved(one):
            found.setdefault((test_title(one.row), one.metric), one)
    return list(found.values())


def _worst(one: Failure, figures: Mapping[tuple[str, bool], str]) -> Worst:
    test, metric = test_title(one.row), _METRIC_WORDS[str(one.metric)]
    a, b = (f"{value:,.2f} {_UNITS[one.unit]}" if value is not None else "none" for value in (one.a, one.b))
    said = test if metric.rpartition(" ")[2] in test else f"{test}, {metric}"
    family, latency = str(one.row["family"]), one.metric == "median"
    # A family of streams or frames has one figure, of bandwidths.
    figure = figures.get((family, latency)) or figures.get((family, not latency), "")
    return Worst(said, a, b, _change(one), figure)


def _closest(comparison: Comparison, worst: Sequence[Failure], a: Run, b: Run) -> list[Pictured]:
    """The figure of the worst test's family, with the panels of the worst tests alone; none if nothing differs."""
    if not worst:
        return []
    of_family = [one.row for one in worst if one.row["family"] == worst[0].row["family"]]
    rows = [row for row in comparison.pairs if row["family"] == worst[0].row["family"]]
    kept = replace(comparison, pairs=rows)
    drawn = families(kept, a, b, tests=[row["test_a"] for row in of_family])
    drawn.sort(key=lambda family: family.latency != (worst[0].metric == "median"))
    return [Pictured(family.figure) for family in drawn[:1]]


def _resolved(one: Failure) -> bool:
    if one.metric != "median" or one.a is None or one.b is None:
        return True
    return is_resolvable(one.b - one.a, float(one.row.get("median_standard_error_ns", math.nan)))


def _change(one: Failure) -> str:
    if one.a is None or one.b is None or math.isinf(one.difference_percent):
        return "-"
    return f"{one.difference_percent if one.b > one.a else -one.difference_percent:+,.1f} %"


def _with_operations(comparison: Comparison) -> Comparison:
    """The rows with the operation and path of tests of transfers, for their titles."""
    titled_by = room_of(comparison.a).compare.titled_by
    tests = {test["id"]: test for test in comparison.a.test_rows()} if titled_by else {}
    rows = [
        {**row, **{key: tests.get(row["test_a"], {}).get(key) for key in ("operation", "path")}}
        for row in comparison.pairs
    ]
    return replace(comparison, pairs=rows)


def _rounded(value: float) -> str:
    """Three digits, without an exponent: 0.267, 15.3, 98,300."""
    return f"{float(f'{value:.3g}'):,.12g}"


def _lead(comparison: Comparison) -> list[str]:
    """The answer in a few sentences: how much the runs differ, and in what their systems do."""
    lines = []
    for row in comparison.summary.to_dict("records"):
        if row["name"] == "all" and row["metric"] in ("bandwidth", "median"):
            unit = _UNITS[row["unit"]]
            lines.append(
                f"{_METRIC_WORDS[row['metric']].capitalize()} of {row['rows']:,} tests: the median difference is "
                f"{_rounded(row['median'])} {unit}, the largest {_rounded(row['maximum'])} {unit}."
            )
    apart = comparison.all_differences
    if apart:
        shown = ", ".join(str(one) for one in apart[:_MOST_SYSTEM_DIFFERENCES])
        more = len(apart) - _MOST_SYSTEM_DIFFERENCES
        what = room_of(comparison.a).compare.machines
        lines.append(f"The {what} differ in {shown}{f' and {more} more values' if more > 0 else ''}.")
    if comparison.alone_a or comparison.alone_b:
        lines.append(f"Without a partner: {comparison.alone_a:,} tests of A, {comparison.alone_b:,} of B.")
    return lines


def _summary(comparison: Comparison) -> Table:
    words = {str(row["name"]): tested(row) for row in comparison.rows.drop_duplicates("name").to_dict("records")}
    lines = []
    for row in comparison.summary.to_dict("records"):
        sizes = [f"{row[head]:,.2f} {_UNITS[row['unit']]}" for head in ("median", "mean", "p95", "maximum")]
        name = "all tests" if row["name"] == "all" else words.get(row["name"], row["name"])
        lines.append([name, _METRIC_WORDS[row["metric"]], f"{row['rows']:,}", *sizes])
    return Table(["test", "metric", "pairs", "median", "mean", "95 %", "largest"], lines)


def _pairs(comparison: Comparison) -> Table:
    """The number of tests that both runs have finished, by name."""
    counts = comparison.rows["name"].value_counts(sort=False)
    return Table(["test", "finished in both"], [[str(name), str(count)] for name, count in counts.items()])


def _family(
    rows: pd.DataFrame, name: str, a: Run, b: Run, tests: Sequence[int] | None, *, latency: bool
) -> Family:
    metric, unit = ("median", "ns") if latency else ("bandwidth", "Gb/s")
    points = _points(rows)
    axis = max((column for column in _AXES if column in points), key=lambda column: points[column].nunique())
    points = points.assign(part=_parts(points, axis))
    column = METRICS[metric]
    of_a, of_b = (rows[f"{metric}_{letter}_{column}"] for letter in ("a", "b"))
    values = [label_rows(run, points.assign(value=of_run)) for run, of_run in ((a, of_a), (b, of_b))]
    # A foreign store may leave out what others have.
    data = pd.concat(values).dropna(subset=["value", axis])
    if tests is not None:
        data = data[data["part"].isin(points["part"][points["test_a"].isin(tests)])]
    title = family_title(points, axis)
    figure = titled(_panels(data, axis, f"{metric} ({unit})", a, b), title, [b, a], f"family: {name}")
    apart = (100 * (of_b - of_a) / of_a).abs().replace(math.inf, math.nan).max()
    return Family(name, title, figure, len(rows), 0.0 if math.isnan(apart) else float(apart), latency)


def _panels(data: pd.DataFrame, axis: str, title: str, a: Run, b: Run) -> Figure:
    """The values of both runs in a panel for each part, and B less A below."""
    parts = list(dict.fromkeys(data["part"]))
    data, x = _across(data, axis)
    y = alt.Y("value:Q", title=title, scale=alt.Scale(zero=False))
    series = Series([b, a])
    residual = Residual("value", ["part", axis, "occurrence"], "ns" if title.endswith("(ns)") else "%", "B less A")
    height = _HEIGHT if len(parts) <= _MOST_TALL else _LOW
    kept = ["part", axis, "occurrence", "value", "run", RUN_NAME_FIELD, "role"]
    kept += [POSITION] if POSITION in data else []
    return with_residuals(
        panels(series.layers(x, y, _tooltip(axis)), data[kept], "part", columns=parts, height=height),
        residual.rows(data[kept], a),
        lambda apart: panels(residual.layers(series, x), apart, "part", columns=parts, height=RESIDUAL_HEIGHT),
    )


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


def _parts(points: pd.DataFrame, axis: str) -> list[str]:
    """The title of each row's panel: all varying parameters but the axis."""
    skipped = {axis} | ({"offset_of"} if axis != "offset_bytes" else set())
    varying = [
        column
        for column in _PARTS
        if column in points and column not in skipped and points[column].nunique(dropna=False) > 1
    ]
    return panel_titles(points, varying or ["name"])


def _tooltip(axis: str) -> list[alt.Tooltip]:
    return [
        run_tooltip(),
        alt.Tooltip("part:N", title="test"),
        alt.Tooltip(f"{axis}:Q"),
        alt.Tooltip("value:Q", format=",.2f"),
    ]
