"""Pictures of a design, and its report: what it has to spare, cost over each target, its corners."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from pcielab.charts.frame import CLAIMS, Figure, inline
from pcielab.charts.run import ORIGIN_BADGES
from pcielab.charts.style import configuration
from pcielab.design.answer import Design
from pcielab.design.attacks import Corner
from pcielab.report.html import Pictured, figures_page

_WIDTH, _HEIGHT, _BAR = 620, 300, 26


def front(answer: Design) -> Figure:
    """The cost of the cheapest design over the level of each target, in percent of the target."""
    rows: list[dict[str, Any]] = [
        {
            "target": level.target,
            "percent": 100 * level.share,
            "limit": level.limit,
            "cost": level.cost,
            "design": ", ".join(f"{key} {value}" for key, value in level.design.items()),
        }
        for level in answer.levels
        if level.share is not None and level.cost is not None
    ]
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("percent:Q", title="level of one target (% of it; more is tighter)", scale=alt.Scale(zero=False)),
        y=alt.Y("cost:Q", title="cost of the cheapest design", scale=alt.Scale(zero=False)),
        color=alt.Color("target:N", title="target"),
        tooltip=["target:N", "limit:Q", "cost:Q", "design:N"],
    )
    layered = alt.layer(base.mark_line(interpolate="step-before"), base.mark_point(filled=True))
    return _finished(layered, answer.origin, answer.title, "What each target costs", _HEIGHT)


def spare(answer: Design) -> Figure:
    """What the design has to spare for each target on each host, in percent of the limit."""
    rows: list[dict[str, Any]] = [
        {
            **row.to_dict(),
            "label": f"{row.target} on {row.host}",
            "met": "met" if row.spare_percent >= 0 else "missed",
        }
        for row in answer.reached
    ]
    bars = (
        alt.Chart(inline(rows))
        .mark_bar()
        .encode(
            y=alt.Y("label:N", title=None, sort="x", axis=alt.Axis(labelLimit=360)),
            x=alt.X("spare_percent:Q", title="to spare (% of the limit)"),
            color=alt.Color("host:N", title="host"),
            tooltip=["host:N", "target:N", "limit:N", "value:Q", "unit:N", "bound:N"],
        )
    )
    return _finished(
        bars, answer.origin, answer.title, "What binds: the least to spare on each host", _BAR * len(rows)
    )


def corners(found: Sequence[Corner], title: str) -> Figure:
    """The share that each corner reaches."""
    rows: list[dict[str, Any]] = [
        {"label": f"{corner.what}: {corner.sentence}", "share": 100 * corner.share, "command": corner.command}
        for corner in found
    ]
    bars = (
        alt.Chart(inline(rows))
        .mark_bar()
        .encode(
            y=alt.Y("label:N", title=None, sort="x", axis=alt.Axis(labelLimit=460)),
            x=alt.X("share:Q", title="share of what the link allows, or of the easiest latency (%)"),
            tooltip=["label:N", "share:Q", "command:N"],
        )
    )
    return _finished(bars, "simulated", title, "Worst corners", _BAR * len(rows))


def _finished(figure: Any, origin: str, title: str, heading: str, height: int) -> Figure:
    shown = alt.TitleParams(text=heading, subtitle=[f"{ORIGIN_BADGES[origin]} · {title}"])
    finished: Figure = figure.properties(title=shown, usermeta={CLAIMS: []}, width=_WIDTH, height=height)
    finished.config = alt.Config.from_dict(configuration("light"), validate=False)
    return finished


def page(answer: Design) -> str:
    """The report: sentences and pictures as one HTML page that needs no network."""
    pictured = [Pictured(spare(answer))] if answer.reached else []
    if answer.levels:
        caption = "Each line moves one target; all others stay. A point's tooltip shows the design."
        pictured.append(Pictured(front(answer), caption=caption))
    if answer.corners:
        caption = (
            "Tests of the design's own operations and sizes, on each host; simulated. Tooltips show commands."
        )
        pictured.append(Pictured(corners(answer.corners, answer.title), caption=caption))
    return figures_page(answer.title, list(answer.sentences), pictured)
