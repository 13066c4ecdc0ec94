"""Pictures of objects in notebooks: static SVG in the look of reports, without scripts or a network.

`pcielab.notebook` finds this module by its name; `pcielab.report.offline` shows figures themselves.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import singledispatch
from typing import Any, cast

import altair as alt
import pandas as pd

from pcielab.analysis.compare import Comparison
from pcielab.analysis.explain import Explanation
from pcielab.analysis.why import Why
from pcielab.charts.axes import bytes_axis
from pcielab.charts.frame import CLAIMS, Figure, inline
from pcielab.charts.run import MODELLED, runs_of
from pcielab.charts.selection import MissingDataError
from pcielab.doctor import Examination
from pcielab.errors import InputError
from pcielab.fabric import Estimate, Simulated
from pcielab.kinds.rooms import room_of
from pcielab.model.answer_list import Answers
from pcielab.model.answers import Bandwidth, LinkSizing, Messages, NicThroughput, Sizing
from pcielab.notebook import Pictured
from pcielab.report.comparison import families, runs_of_comparison
from pcielab.report.drawing import drawing_engine
from pcielab.report.figures.why import draw_why
from pcielab.report.save import specification
from pcielab.report.titles import test_title
from pcielab.store import Store

_WIDTH, _HEIGHT, _ROW_HEIGHT = 620, 280, 24
_MOST_ROWS = 24
_LABEL_WIDTH, _LINE_HEIGHT = 520, 13
_LETTERS = 72
"""Letters of a label on one line; longer ones have several."""
_SEVERITIES = {"error": "#d1242f", "warning": "#d98a2b", "note": "#7c8896"}


def svg_of(shown: Pictured) -> str | None:
    """The picture of an object as SVG; None if it has nothing to draw."""
    try:
        figure = figure_of(shown)
    except (InputError, MissingDataError):
        return None
    return None if figure is None else str(drawing_engine().vegalite_to_svg(specification(figure)))


@singledispatch
def figure_of(shown: Pictured) -> Figure | None:
    """The picture of an object: its own, or the one of its type."""
    return cast(Figure | None, shown._figure())


@figure_of.register
def _of_store(store: Store) -> Figure | None:
    """The first figure of its kind for which it has the data, or its tests as bars."""
    if not store.tells_speed:
        return None
    for draw in room_of(store).figures.one:
        try:
            return draw(store)
        except MissingDataError:
            continue
    return _tests(store)


@figure_of.register
def _of_examination(found: Examination) -> Figure | None:
    """A row for each finding, with the bandwidth that it costs."""
    rows = pd.DataFrame(
        {
            "finding": f"{one.device or 'the machine'}: {one.what}",
            "severity": str(one.severity),
            "lost": max(one.lost_gbps, 0.0),
        }
        for one in found.findings[:_MOST_ROWS]
    )
    if rows.empty:
        return None
    shown = [severity for severity in _SEVERITIES if severity in set(rows["severity"])]
    colour = alt.Color(
        "severity:N", sort=shown, scale=alt.Scale(domain=shown, range=[_SEVERITIES[one] for one in shown])
    )
    base = alt.Chart(_inline(rows)).encode(
        x=alt.X("lost:Q", title=f"bandwidth that the fix would add (Gb/s, {MODELLED})"),
        y=_labels("finding", rows),
        color=colour,
    )
    marks = alt.layer(base.mark_bar(), base.mark_point(filled=True, size=60))
    counted = f"{found.functions} functions, {found.links} links"
    return _titled(marks.properties(width=_WIDTH // 2, height=_tall(rows)), "Findings", [found.source, counted])


@figure_of.register
def _of_why(answer: Why) -> Figure:
    return draw_why(answer)


@figure_of.register
def _of_comparison(found: Comparison) -> Figure | None:
    """The family with the largest difference, if the times of both runs mean something."""
    drawn = families(found, *runs_of_comparison(found)) if found.tells_speed else []
    return drawn[0].figure if drawn else None


@figure_of.register
def _of_explanation(found: Explanation) -> Figure | None:
    """A bar for each test, in the colour of its bound, with the bound as a line."""
    rows = pd.DataFrame(
        {
            "test": test_title({**row.parameters, "name": row.name}),
            "value": row.value_gbps,
            "bound": row.answer.bound,
            "bound_gbps": row.answer.gbps,
        }
        for row in found.rows[:_MOST_ROWS]
    )
    if rows.empty:
        return None
    base = alt.Chart(_inline(rows)).encode(y=_labels("test", rows), color=alt.Color("bound:N", title="bound"))
    bars = base.mark_bar().encode(x=alt.X("value:Q", title="bandwidth (Gb/s)"))
    ticks = base.mark_tick(thickness=2, color="black").encode(x="bound_gbps:Q", color=alt.value("black"))
    layered = alt.layer(bars, ticks).properties(width=_WIDTH, height=_tall(rows))
    more = f", first {len(rows)} of {len(found.rows)} tests" if len(found.rows) > len(rows) else ""
    return _titled(layered, "Bandwidths and their bounds", [found.described, f"line: the bound, {MODELLED}{more}"])


@figure_of.register
def _of_estimate(found: Estimate) -> Figure:
    return _flows(found.flows, f"Share of each flow, {found.method}", f"{MODELLED}; outline: the flow alone")


@figure_of.register
def _of_simulation(found: Simulated) -> Figure:
    return _flows(found.flows, "Bandwidth of each flow", f"SIMULATED, {found.counted_us:g} us")


@figure_of.register
def _of_answers(found: Answers) -> Figure | None:  # type: ignore[type-arg]
    """Lines over the sizes of the answers, or bars of one size."""
    kinds = {type(one) for one in found}
    lines = _LINES.get(kinds.pop()) if len(kinds) == 1 else None
    if lines is None:
        return None
    title, across, upwards, points = lines
    rows = pd.DataFrame(points(found), columns=["x", "of", "value"]).dropna()
    if rows["x"].nunique() == 1:
        chart = (
            alt.Chart(_inline(rows)).mark_bar().encode(x=alt.X("value:Q", title=upwards), y=_labels("of", rows))
        )
        only = f"{across}: {rows['x'].iloc[0]:g}"
        return _titled(chart.properties(width=_WIDTH, height=_tall(rows)), title, [MODELLED, only])
    base = alt.Chart(_inline(rows)).encode(
        x=bytes_axis("x", across, rows["x"]),
        y=alt.Y("value:Q", title=upwards),
        color=alt.Color("of:N", title=None, sort=list(dict.fromkeys(rows["of"]))),
    )
    layered = alt.layer(base.mark_line(), base.mark_point(filled=True)).properties(width=_WIDTH, height=_HEIGHT)
    return _titled(layered, title, [MODELLED])


_Points = Iterator[tuple[float, str, float | None]]


def _bandwidths(found: Sequence[Bandwidth]) -> _Points:
    for one in found:
        yield one.size_bytes, "read", one.read.gbps
        yield one.size_bytes, "write", one.write.gbps
        yield one.size_bytes, "both at once, one direction", one.rdwr.gbps


def _throughputs(found: Sequence[NicThroughput]) -> _Points:
    words = {"bi": "both directions", "tx": "sending alone", "rx": "receiving alone"}
    for one in found:
        answers = {text: getattr(one, name) for name, text in words.items()}
        yield from ((one.frame_bytes, text, answer.gbps) for text, answer in answers.items() if answer is not None)
        yield one.frame_bytes, "line rate", one.line_gbps


def _sizings(found: Sequence[Sizing]) -> _Points:
    yield from ((one.frame_bytes, f"DMAs of {one.latency_ns:g} ns", one.tx.dmas_in_flight) for one in found)


def _link_sizings(found: Sequence[LinkSizing]) -> _Points:
    yield from ((one.size_bytes, f"reads of {one.latency_ns:g} ns", one.tags_to_fill) for one in found)


def _messages(found: Sequence[Messages]) -> _Points:
    for one in found:
        for way in ("uncached", "write_combined", "descriptors"):
            yield one.payload_bytes, way.replace("_", "-"), getattr(one, way).bandwidth.gbps


_LINES: dict[type, tuple[str, str, str, Callable[[Any], _Points]]] = {
    Bandwidth: ("Bound of transfers", "transfer size (bytes)", "bandwidth (Gb/s)", _bandwidths),
    NicThroughput: ("Bound of a NIC", "Ethernet frame (bytes, FCS included)", "bandwidth (Gb/s)", _throughputs),
    Sizing: ("DMAs in flight for sending at line rate", "Ethernet frame (bytes)", "DMAs in flight", _sizings),
    LinkSizing: ("Tags that fill the link", "transfer size (bytes)", "tags", _link_sizings),
    Messages: ("Bound of messages", "payload (bytes)", "bandwidth (Gb/s)", _messages),
}
"""Of each kind of answer: title, axes, and points."""


def _tests(store: Store) -> Figure | None:
    """The first tests with their bandwidth, or else their median latency, as bars."""
    [run] = runs_of(store)
    for metric, title in (("bandwidth", "bandwidth (Gb/s)"), ("median", "median latency (ns)")):
        rows = run.finished[run.finished[metric].notna()].head(_MOST_ROWS) if metric in run.finished else None
        if rows is None or rows.empty:
            continue
        drawn = pd.DataFrame({"test": [test_title(row) for row in rows.to_dict("records")], "value": rows[metric]})
        bars = (
            alt.Chart(_inline(drawn)).mark_bar().encode(x=alt.X("value:Q", title=title), y=_labels("test", drawn))
        )
        return _titled(bars.properties(width=_WIDTH // 2, height=_tall(drawn)), store.title, [run.entry])
    return None


def _flows(flows: pd.DataFrame, title: str, subtitle: str) -> Figure:
    """A bar for each flow, with the outline of its bandwidth alone where that is known."""
    columns = [one for one in ("flow", "gbytes_per_s", "standalone_gbytes_per_s") if one in flows]
    rows = flows[columns].head(_MOST_ROWS)
    base = alt.Chart(_inline(rows)).encode(y=_labels("flow", rows))
    bars = [base.mark_bar().encode(x=alt.X("gbytes_per_s:Q", title="bandwidth (GB/s)"))]
    if "standalone_gbytes_per_s" in rows:
        bars.append(base.mark_bar(filled=False, strokeDash=[3, 2]).encode(x="standalone_gbytes_per_s:Q"))
    more = f"{len(rows)} of {len(flows)} flows" if len(flows) > len(rows) else ""
    return _titled(alt.layer(*bars).properties(width=_WIDTH, height=_tall(rows)), title, [subtitle, more])


def _labels(column: str, rows: pd.DataFrame) -> alt.Y:
    lines = f"split(replace(datum.label, regexp('(.{{1,{_LETTERS}}})(?: |$)', 'g'), '$1\\n'), '\\n')"
    axis = alt.Axis(labelLimit=_LABEL_WIDTH, labelOverlap=False, labelExpr=lines, labelLineHeight=_LINE_HEIGHT)
    return alt.Y(f"{column}:N", title=None, sort=list(dict.fromkeys(rows[column])), axis=axis)


def _tall(rows: pd.DataFrame) -> int:
    labels = [str(label) for label in rows[rows.columns[0]].unique()]
    lines = max((-(-len(label) // _LETTERS) for label in labels), default=1)
    return max(len(labels), 2) * (_ROW_HEIGHT + _LINE_HEIGHT * (lines - 1))


def _inline(rows: pd.DataFrame) -> alt.InlineData:
    """The rows without missing and infinite values, which JSON does not have."""
    finite = rows.replace([float("inf"), float("-inf")], float("nan"))
    values = [
        {str(key): value for key, value in row.items() if not pd.isna(value)} for row in finite.to_dict("records")
    ]
    return inline(values)


def _titled(figure: Figure, title: str, lines: Sequence[str]) -> Figure:
    text = alt.TitleParams(text=title, subtitle=[line for line in lines if line])
    return figure.properties(title=text, usermeta={CLAIMS: []})
