"""The answer of `pcielab why` as bars: the value, its bounds, possible causes, and what changes would give."""

import textwrap

import altair as alt

from pcielab.analysis.why import Why
from pcielab.charts.frame import Figure, inline
from pcielab.charts.selection import MissingDataError
from pcielab.report.figures.over_size import draw_over_size

_LETTERS = 120
_BAR_HEIGHT, _WIDTH = 24, 520
_ROLES = {
    "value": "value",
    "bound": "bound, modelled",
    "change": "with a change, computed",
    "cause": "with a defect, computed",
    "a": "A",
    "b": "B",
}
"""Roles of bars, in the order of the colours."""


def draw_why(answer: Why, *, said: bool = True) -> Figure:
    """The bars of an answer under its sentences; of two runs over several sizes, their values and bounds.

    Args:
        answer: The answer.
        said: Whether its sentences are part of the figure.
    """
    subtitle = _sentences(answer) if said else []
    title = alt.TitleParams(text=_lines(answer.question, _LETTERS - 30), subtitle=subtitle)
    if answer.contrast is not None:
        try:
            over_size: Figure = draw_over_size(answer.contrast, "A", "B").properties(title=title)
        except MissingDataError:
            pass
        else:
            return over_size
    bars = [
        {"name": bar.name, "value": bar.value, "role": _ROLES[bar.role], "label": f"{bar.value:.4g} {answer.unit}"}
        for bar in answer.bars
    ]
    names = [bar.name for bar in answer.bars]
    base = alt.Chart(inline(bars)).encode(
        x=alt.X("value:Q", title=answer.unit, scale=alt.Scale(zero=True)),
        y=alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labelLimit=520, labelOverlap=False)),
    )
    present = [role for role in _ROLES.values() if any(bar["role"] == role for bar in bars)]
    colour = alt.Color("role:N", title=None, scale=alt.Scale(domain=present))
    drawn = base.mark_bar().encode(color=colour, tooltip=["name:N", "role:N", "label:N"])
    labels = base.mark_text(align="left", dx=4).encode(text="label:N")
    titled: Figure = alt.layer(drawn, labels).properties(width=_WIDTH, height=_BAR_HEIGHT * len(bars), title=title)
    return titled


def _sentences(answer: Why) -> list[str]:
    return [line for sentence in answer.sentences for line in _lines(sentence, _LETTERS)]


def _lines(text: str, letters: int) -> list[str]:
    return textwrap.wrap(text, letters, break_on_hyphens=False)
