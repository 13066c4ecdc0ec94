"""The waterfall of a trace: the first requests, a lane for each part of the machine, a bar for each phase."""

from collections.abc import Sequence
from typing import Any, Literal

import altair as alt

from pcielab.charts.frame import Figure, inline, titled
from pcielab.charts.run import Run, Sources, runs_of
from pcielab.charts.selection import MissingDataError
from pcielab.kinds.lanes import LANES, chosen_test, segments_of
from pcielab.store import Store

_WIDTH, _ROW_HEIGHT = 700, 19
"""With the names of the lanes, 900 pixels."""
_LETTER = 5.6
"""Width of a letter of a label, pixels."""
_REQUESTS = 4
_LONGEST = 28
"""Letters of a label."""
_BARS_MOST = 160
_NEEDED = "a trace (pcielab run --trace 20us)"


def waterfall(sources: Sources, test: int | None = None, requests: int = _REQUESTS) -> Figure:
    """The first requests of a traced test; without a number, of the first test.

    Raises:
        MissingDataError: The run has no trace.
        InputError: It has none of this test.
    """
    runs = [run for run in runs_of(sources) if run.store.trace_ns is not None][:1]
    if not runs:
        raise MissingDataError(_NEEDED)
    store = runs[0].store
    chosen = chosen_test(store, test)
    rows = _first(store, chosen["id"], requests)
    if not rows:
        raise MissingDataError("a trace with requests: give more microseconds to --trace")
    bars, lanes = _laid_out(rows)
    return titled(_drawn(bars, lanes), _title(chosen), runs, _note(rows))


def _title(test: dict[str, Any]) -> str:
    size = test.get("size_bytes", test.get("frame_bytes"))
    return f"The first requests of {test['name']}" + (f", {size} B" if size is not None else "")


def _note(rows: Sequence[dict[str, Any]]) -> str:
    numbers = sorted({row["request"] for row in rows})
    return (
        f"requests {numbers[0]} to {numbers[-1]} in the order of their issue, simulated times; a colour for each"
    )


def _first(store: Store, test: int, requests: int) -> list[dict[str, Any]]:
    """The TLPs and phases of the first requests that have one, at most as many as a picture shows."""
    rows = [row for row in segments_of(store, test) if row["kind"] != "counter" and "request" in row]
    for count in range(requests, 0, -1):
        chosen = sorted({row["request"] for row in rows})[:count]
        found = [row for row in rows if row["request"] in chosen]
        if len(found) <= _BARS_MOST or count == 1:
            return found[:_BARS_MOST]
    return []


def _laid_out(rows: Sequence[dict[str, Any]]) -> tuple[list[dict[str, object]], list[str]]:
    """Bars with the line that each is on, and the lines from top to bottom: no label meets another bar."""
    first = min(row["start_ps"] for row in rows)
    last = max(row["end_ps"] for row in rows)
    pixels = _WIDTH / max(last - first, 1)
    groups = sorted({row["lane"] for row in rows}, key=_position)
    bars: list[dict[str, object]] = []
    lanes: list[str] = []
    for group in groups:
        ends: list[float] = []
        of_group = sorted(
            (row for row in rows if row["lane"] == group), key=lambda row: (row["start_ps"], row["request"])
        )
        for row in of_group:
            label = _label(row)
            start, end = ((row[name] - first) * pixels for name in ("start_ps", "end_ps"))
            width = _LETTER * len(label) + 6
            inside = width <= end - start
            # Behind the bar, or in front of it where the picture ends.
            behind = end + width <= _WIDTH
            left, right = (start, end) if inside else (start, end + width) if behind else (start - width, end)
            line = next((nth for nth, taken in enumerate(ends) if taken <= left), len(ends))
            ends[line : line + 1] = [max(right, ends[line]) if line < len(ends) else right]
            bars.append(
                {
                    "line": _line(group, line),
                    "lane": group,
                    "phase": row["name"],
                    "request": f"request {row['request']}",
                    "start_ns": (row["start_ps"] - first) / 1e3,
                    "end_ns": (row["end_ps"] - first) / 1e3,
                    "at_ns": ((start + end) / 2 if inside else end + 3 if behind else start - 3) / pixels / 1e3,
                    "label": label,
                    "side": "inside" if inside else "behind" if behind else "before",
                    "long_ns": (row["end_ps"] - row["start_ps"]) / 1e3,
                }
            )
        lanes += [_line(group, line) for line in range(len(ends))]
    return bars, lanes


def _position(lane: str) -> tuple[int, str]:
    return (LANES.index(lane) if lane in LANES else len(LANES), lane)


def _line(lane: str, number: int) -> str:
    return lane if number == 0 else f"{lane} {number + 1}"


def _label(row: dict[str, Any]) -> str:
    sized = f"{row['name']} {row['bytes']} B" if row.get("bytes") else row["name"]
    label = f"{row['request']}: {sized}"
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"


def _drawn(bars: list[dict[str, object]], lanes: Sequence[str]) -> Figure:
    requests = sorted({str(bar["request"]) for bar in bars}, key=lambda name: int(name.split()[-1]))
    base = alt.Chart(inline(bars))
    time = alt.X("start_ns:Q", title="time (ns)", scale=alt.Scale(nice=False))
    # Only the first line of a lane has its name.
    named = alt.Axis(
        labelExpr="test(/ [0-9]+$/, datum.label) ? '' : datum.label", labelOverlap=False, grid=False, ticks=False
    )
    line = alt.Y("line:N", sort=list(lanes), title=None, axis=named)
    drawn = base.mark_bar(height=_ROW_HEIGHT - 5).encode(
        x=time,
        x2="end_ns:Q",
        y=line,
        color=alt.Color("request:N", title=None, sort=requests, legend=alt.Legend(direction="horizontal")),
        opacity=alt.value(0.55),
        tooltip=[
            "lane:N",
            "phase:N",
            "request:N",
            alt.Tooltip("start_ns:Q", format=".1f"),
            alt.Tooltip("long_ns:Q", title="takes (ns)", format=".1f"),
        ],
    )
    aligned: dict[str, Literal["left", "center", "right"]] = {
        "inside": "center",
        "behind": "left",
        "before": "right",
    }
    labels = [
        base.transform_filter(alt.datum.side == side)
        .mark_text(align=align, fontSize=10)
        .encode(x="at_ns:Q", y=line, text="label:N")
        for side, align in aligned.items()
        if any(bar["side"] == side for bar in bars)
    ]
    figure: Figure = alt.layer(drawn, *labels).properties(width=_WIDTH, height=_ROW_HEIGHT * len(lanes))
    return figure


def waterfall_of(runs: Sequence[Run]) -> Figure:
    """The waterfall of the first traced run of a report."""
    return waterfall(runs)
