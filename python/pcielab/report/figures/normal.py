"""The answer of `pcielab normal`: the value on the strip of comparable ones, each over its own bound."""

import textwrap

import altair as alt

from pcielab.analysis.normal import Normal
from pcielab.charts.frame import Figure, inline
from pcielab.errors import refusal

_LETTERS = 110
_WIDTH, _ROW_HEIGHT = 520, 16
_NAME_LETTERS = 46


def draw_normal(answer: Normal) -> Figure:
    """Comparable figures by ratio, what is usual as a band, and the value as a line.

    Raises:
        InputError: There is nothing to draw: neither a bound nor a comparable figure.
    """
    is_time = answer.question.is_time
    value = answer.question.value.plain if is_time else answer.ratio
    if value is None:
        raise refusal("missing", "-o: nothing to draw without a bound: give --link")
    title = "ns" if is_time else "ratio to the bound"
    layers = [*_band(answer, title), *_points(answer, title), _line(value, title)]
    subtitle = [line for sentence in answer.sentences for line in textwrap.wrap(sentence, _LETTERS)]
    words = f"{answer.question.value.number:g} {answer.unit}: {answer.verdict}"
    rows = max(1, len({name for name, _ in _named(answer)}))
    drawn: Figure = alt.layer(*layers).properties(
        width=_WIDTH, height=_ROW_HEIGHT * rows + 24, title=alt.TitleParams(text=words, subtitle=subtitle)
    )
    return drawn


def _named(answer: Normal) -> list[tuple[str, float]]:
    """Each comparable figure: its device and link with its source's key, and its ratio."""
    named = []
    for one in sorted(answer.figures, key=lambda one: one.ratio):
        name = textwrap.shorten(f"{one.figure.device}, {one.figure.link}", _NAME_LETTERS, placeholder="...")
        named.append((f"{name} ({one.figure.id})", one.ratio))
    return named


def _axis(title: str) -> alt.X:
    return alt.X("ratio:Q", title=title, scale=alt.Scale(zero=False))


def _band(answer: Normal, title: str) -> list[alt.Chart]:
    usual = answer.elsewhere
    if usual is None:
        return []
    span = alt.InlineData(values=[{"ratio": usual.low, "high": usual.high, "range": "usual elsewhere"}])
    colour = alt.Color("range:N", title=None)
    return [alt.Chart(span).mark_rect(opacity=0.25).encode(x=_axis(title), x2="high:Q", color=colour)]


def _points(answer: Normal, title: str) -> list[alt.Chart]:
    points = [{"ratio": ratio, "name": name} for name, ratio in _named(answer)]
    if not points:
        return []
    order = [name for name, _ in _named(answer)]
    names = alt.Y("name:N", sort=order, title=None, axis=alt.Axis(labelLimit=420, labelOverlap=False))
    tooltip = ["name:N", alt.Tooltip("ratio:Q", format=".2f")]
    chart = alt.Chart(inline(points)).mark_point(filled=True, size=50)
    return [chart.encode(x=_axis(title), y=names, tooltip=tooltip)]


def _line(value: float, title: str) -> alt.Chart:
    at = alt.InlineData(values=[{"ratio": value, "range": "the value asked about"}])
    rule: alt.Chart = alt.Chart(at).mark_rule(strokeWidth=3)
    return rule.encode(x=_axis(title), color=alt.Color("range:N", title=None))
