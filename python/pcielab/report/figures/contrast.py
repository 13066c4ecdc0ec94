"""Effects of the changes between two runs on their tests: a row for each change, a column for each test."""

from collections.abc import Sequence
from dataclasses import replace

import altair as alt

from pcielab.analysis.compare import Difference
from pcielab.analysis.explain.moved import Contrast, Moved
from pcielab.charts.axes import size_text
from pcielab.charts.frame import CLAIMS, Figure, inline
from pcielab.charts.selection import MissingDataError
from pcielab.report.figures.over_size import draw_over_size

_MOST_CHANGES = 16
_MOST_TESTS = 60
_CELL_WIDTH, _CELL_HEIGHT = 18, 22
_ALL_TOGETHER = "all together"
_TEST_AXIS = alt.Axis(labelAngle=-60, labelLimit=260, labelOverlap=False)


def draw_both(contrast: Contrast, first: str, second: str) -> Figure:
    """Both runs over size with their bounds and, of several changes simulated one by one, the effect of each.

    Raises:
        MissingDataError: There is neither.
    """
    moved = replace(contrast, rows=sorted(contrast.moved, key=_largest)[-_MOST_TESTS:])
    moved.rows.sort(key=lambda row: row.test)
    effects = draw_contrast(moved, first, second) if contrast.simulated and moved.rows else None
    try:
        over_size = draw_over_size(contrast, first, second)
    except MissingDataError:
        if effects is None:
            raise
        return effects
    # The effect of a single change is the distance of the runs.
    if effects is None or len(contrast.changes) == 1:
        return over_size
    both: alt.VConcatChart = alt.vconcat(over_size, effects).resolve_scale(
        color="independent", shape="independent", strokeDash="independent", size="independent"
    )
    return both


def _largest(row: Moved) -> float:
    return max(map(abs, (row.change_percent, *row.effects_percent)))


def draw_contrast(contrast: Contrast, first: str, second: str) -> Figure:
    """The effect of each change on each test, in percent, largest first; `first` and `second` name the runs."""
    most = [max(abs(row.effects_percent[nth]) for row in contrast.rows) for nth in range(len(contrast.changes))]
    order = sorted(range(len(most)), key=lambda nth: -most[nth])[:_MOST_CHANGES]
    names = [_ALL_TOGETHER, *(_name(contrast.changes[nth]) for nth in order)]
    cells = [
        {"test": _test(row), "change": name, "effect": round(effect, 3)}
        for row in contrast.rows
        for name, effect in zip(
            names, [row.change_percent, *(row.effects_percent[nth] for nth in order)], strict=True
        )
    ]
    tests = [_test(row) for row in contrast.rows]
    largest = max(
        1.0, *(abs(effect) for row in contrast.rows for effect in (row.change_percent, *row.effects_percent))
    )
    colour = alt.Color(
        "effect:Q",
        title="change (%)",
        scale=alt.Scale(domain=[-largest, 0, largest], range="diverging"),
        legend=alt.Legend(direction="horizontal", gradientLength=220, titleLimit=0),
    )
    chart: alt.Chart = (
        alt.Chart(inline(cells))
        .mark_rect()
        .encode(
            x=alt.X("test:N", sort=tests, title=None, axis=_TEST_AXIS),
            y=alt.Y("change:N", sort=names, title=None, axis=alt.Axis(labelLimit=520, labelOverlap=False)),
            color=colour,
            tooltip=["test:N", "change:N", alt.Tooltip("effect:Q", title="change (%)", format="+.2f")],
        )
        .properties(width=_CELL_WIDTH * len(tests), height=_CELL_HEIGHT * len(names))
    )
    title = alt.TitleParams(
        text="Effect of each change on each test: one change at a time, simulated",
        subtitle=[f"from: {first}", f"to: {second}"],
    )
    titled: alt.Chart = chart.properties(title=title, usermeta={CLAIMS: []})
    return titled


def _name(change: Sequence[Difference]) -> str:
    return ", ".join(str(one) for one in change)


def _test(row: Moved) -> str:
    test = row.parameters
    offset = test["host_offset_bytes"] or test["device_offset_bytes"]
    more = f" +{offset}" if offset else ""
    window = size_text(test["window_bytes"])
    return f"{row.name} {test['size_bytes']} B{more}, {window}, {test['cache']} ({row.test})"
