"""Bandwidths that other tools measured, as bars or over the size, with the bound of the link if it was given."""

from collections import Counter

import altair as alt
import pandas as pd

from pcielab.charts.axes import bandwidth_axis, bytes_axis
from pcielab.charts.frame import Figure, panels, single_panel, titled
from pcielab.charts.run import MODELLED, Run, Sources, all_runs, of_kind, runs_of
from pcielab.charts.selection import MissingDataError
from pcielab.kinds.explained import Explained, matching
from pcielab.kinds.rooms import Entry, Figures
from pcielab.kinds.tools.explain import explain_tools
from pcielab.wording import byte_size

_MOST_BARS = 40
_BAR_HEIGHT = 22
_SWEPT = 3
"""Sizes of a test from which it is drawn over the size."""
_SUM = "sum"
_BOUND = f"bound of the wire · {MODELLED}"
_ASKED = ("pair", "part", "direction", "beside", "outstanding", "queues", "pattern")


def tool_bandwidths(sources: Sources) -> Figure:
    """The bandwidth of each test of another tool as a bar, and the bound of its link as a tick."""
    runs = _runs(sources)
    rows = [pair for run in runs for pair in _chosen(run, swept=False)]
    if not rows:
        raise MissingDataError("bandwidths of another tool (pcielab import nvbandwidth, perftest or fio)")
    shown = rows[:_MOST_BARS]
    data = pd.DataFrame(
        {
            "test": _label(row),
            "bandwidth": row.value,
            "bound": row.limits[0].value if row.limits else None,
            "run": run.entry,
        }
        for run, row in shown
    )
    tests = list(dict.fromkeys(data["test"]))
    y = alt.Y("test:N", title=None, sort=tests, axis=alt.Axis(labelLimit=460, labelOverlap=False))
    entries = list(dict.fromkeys(data["run"]))
    offset = {"yOffset": alt.YOffset("run:N", sort=entries)} if len(entries) > 1 else {}
    tooltip = ["test:N", "run:N", alt.Tooltip("bandwidth:Q", title="Gb/s", format=".2f")]
    colour = alt.Color("run:N", title="run", sort=entries)
    x = alt.X("bandwidth:Q", title="bandwidth (Gb/s)", scale=alt.Scale(zero=True))
    layers = [alt.Chart().mark_bar().encode(x=x, y=y, color=colour, tooltip=tooltip, **offset)]
    if data["bound"].notna().any():
        tick = alt.Chart().transform_filter("isValid(datum.bound)").mark_tick(thickness=2, color="#888888")
        layers.append(tick.encode(x="bound:Q", y=y, tooltip=[alt.Tooltip("bound:Q", format=".2f")], **offset))
    note = [f"ticks: {_BOUND}"] if data["bound"].notna().any() else []
    note += [f"the first {len(shown)} of {len(rows)} tests"] if len(rows) > len(shown) else []
    figure = single_panel(layers, data, height=_BAR_HEIGHT * len(tests) * max(1, len(entries)))
    return titled(figure, "Bandwidths that another tool measured", runs, "; ".join(note))


def tool_bandwidth_by_size(sources: Sources) -> Figure:
    """Bandwidth over the size, of tests that another tool made at several sizes; dashes are the link's bound."""
    runs = _runs(sources)
    rows = [pair for run in runs for pair in _chosen(run, swept=True)]
    if not rows:
        raise MissingDataError("bandwidths of another tool at three sizes or more (ib_write_bw -a)")
    values = [(run.entry, row, row.value) for run, row in rows]
    values += [(_BOUND, row, row.limits[0].value) for _, row in rows if row.limits]
    data = pd.DataFrame(
        {"name": row.name, "size_bytes": row.asked["size_bytes"], "bandwidth": value, "curve": curve}
        for curve, row, value in values
    )
    curves = list(dict.fromkeys(data["curve"]))
    x, y = bytes_axis("size_bytes", "size (bytes)", data["size_bytes"], step=2), bandwidth_axis()
    dashes = [[2, 3] if curve == _BOUND else [1, 0] for curve in curves]
    encoded = {
        "color": alt.Color("curve:N", title="bandwidth", sort=curves),
        "strokeDash": alt.StrokeDash(
            "curve:N", sort=curves, title="bandwidth", scale=alt.Scale(domain=curves, range=dashes)
        ),
        "tooltip": ["curve:N", "size_bytes:Q", alt.Tooltip("bandwidth:Q", title="Gb/s", format=".2f")],
    }
    layers = [alt.Chart().mark_line(point=True).encode(x=x, y=y, **encoded)]
    names = list(dict.fromkeys(data["name"]))
    return titled(panels(layers, data, "name", columns=names), "Bandwidth over the size, another tool", runs)


def _runs(sources: Sources) -> list[Run]:
    return of_kind(runs_of(sources), "tools")


def _chosen(run: Run, *, swept: bool) -> list[tuple[Run, Explained]]:
    """The bandwidths of a run at several sizes, or the others; without sums over devices."""
    found = explain_tools(run.store, matching(run.store, ()))
    rows = [one for one in found.rows if not one.is_latency and one.asked.get("pair") != _SUM]
    settings = [(row.name, *(row.asked.get(key) for key in _ASKED)) for row in rows]
    sized = [row.asked.get("size_bytes") is not None for row in rows]
    counted = Counter(setting for setting, has_size in zip(settings, sized, strict=True) if has_size)
    sizes = zip(rows, settings, sized, strict=True)
    return [(run, row) for row, setting, has_size in sizes if (has_size and counted[setting] >= _SWEPT) is swept]


def _label(row: Explained) -> str:
    size = row.asked.get("size_bytes")
    words = [row.asked.get("pair"), row.asked.get("part"), row.asked.get("pattern")]
    said = [row.name, *(str(word) for word in words if word), *([byte_size(int(size))] if size else [])]
    # Operations of a job of fio share its name.
    direction = row.asked.get("direction")
    return ", ".join([*said, *([str(direction)] if direction in ("read", "write", "trim") else [])])


FIGURES = Figures(
    (
        Entry(
            "tool-bandwidths",
            "Other tools",
            "Bandwidths as another tool measured them; ticks are the bound of the given link.",
            lambda runs, measured: tool_bandwidths(all_runs(runs, measured)),
        ),
        Entry(
            "tool-bandwidth-by-size",
            "Other tools",
            "Bandwidths over the size of messages or blocks; dashes are the bound of the given link.",
            lambda runs, measured: tool_bandwidth_by_size(all_runs(runs, measured)),
        ),
    ),
    one=(tool_bandwidths, tool_bandwidth_by_size),
)
