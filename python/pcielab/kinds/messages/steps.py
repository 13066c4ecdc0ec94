"""Table 1 of the kPIO+WC paper as a time line: the steps of a small message."""

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt
import pandas as pd

from pcielab.charts.frame import Figure, single_panel, titled
from pcielab.charts.run import Run, Sources, runs_of
from pcielab.charts.selection import MissingDataError
from pcielab.kinds.messages.by_size import WAYS, message_rows
from pcielab.kinds.transfers.link_bounds import link_of

_PAYLOAD_BYTES = 64
_PHASES = {
    "descriptors": (
        ("doorbell", "descriptor-request", "doorbell, until the descriptor is requested"),
        ("descriptor-request", "descriptor", "descriptor's round trip"),
        ("descriptor", "payload-request", "descriptor, until the payload is requested"),
        ("payload-request", "payload", "payload's round trip"),
    ),
    "write-combined": (("first-store", "last-store", "stores of the payload"),),
}
_ORDER = [title for phases in _PHASES.values() for _, _, title in phases]


def message_steps(sources: Sources) -> Figure:
    """The steps of a single message of 64 B, by stores and by descriptors, on every link of the runs."""
    runs = runs_of(sources)
    data = pd.DataFrame([row for run in runs for row in _rows(run)])
    if data.empty:
        raise MissingDataError("single messages of 64 B with their steps (pcielab run --suite kpio)")
    lines = list(dict.fromkeys(data["line"]))
    colour = alt.Color("phase:N", title="step", sort=_ORDER, scale=alt.Scale(domain=_ORDER))
    y = alt.Y("line:N", title=None, sort=lines, axis=alt.Axis(labelLimit=320))
    x = alt.X("from_ns:Q", title="after the first packet on the link (ns)", axis=alt.Axis(tickCount=10))
    tooltip = [
        alt.Tooltip("line:N", title="link and way"),
        alt.Tooltip("phase:N", title="step"),
        alt.Tooltip("from_ns:Q", title="from (ns)", format=".0f"),
        alt.Tooltip("to_ns:Q", title="to (ns)", format=".0f"),
    ]
    bars = alt.Chart().mark_bar(height=18).encode(x=x, x2="to_ns:Q", y=y, color=colour, tooltip=tooltip)
    ends = (
        alt.Chart()
        .transform_filter("datum.last")
        .mark_text(align="left", dx=5)
        .encode(x="to_ns:Q", y=y, text=alt.Text("to_ns:Q", format=",.0f"))
    )
    figure = single_panel([bars, ends], data, height=26 * len(lines))
    return titled(figure, f"Time of a message of {_PAYLOAD_BYTES} B by step", runs)


def _rows(run: Run) -> Iterator[dict[str, Any]]:
    for own_link in (True, False):
        rows = message_rows(run, own_link=own_link)
        rows = rows[(rows["pace"] == "alone") & (rows["size_bytes"] == _PAYLOAD_BYTES)] if len(rows) else rows
        for test in rows.to_dict("records"):
            yield from _phases(run, test)


def _phases(run: Run, test: Mapping[Any, Any]) -> Iterator[dict[str, Any]]:
    scalars = run.store.scalar_rows
    steps = scalars[(scalars["test"] == test["id"]) & (scalars["metric"] == "at")]
    at = dict(zip(steps["subject"], steps["value"], strict=True))
    phases = _PHASES.get(test["way"], ())
    own = link_of(run)
    link = test["link"] or (f"Gen{own.generation} x{own.lanes}" if own else "own link")
    start = f"{run.label}, {link}"
    for begin, end, title in phases:
        if begin in at and end in at:
            yield {
                "line": f"{start}: {WAYS[test['way']]}",
                "phase": title,
                "from_ns": at[begin],
                "to_ns": at[end],
                "last": end == phases[-1][1],
            }
