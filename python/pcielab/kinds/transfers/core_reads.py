"""Time of a core's reads over the window: dependent ones (a pointer chase) beside independent ones.

A dependent read waits for the one before it: its time is the latency of the cache that holds the window, or of
memory. Independent reads overlap: their time is the reciprocal of their rate.
"""

from collections.abc import Iterator, Sequence

import altair as alt
import pandas as pd

from pcielab.charts.axes import size_text, window_axis
from pcielab.charts.frame import Figure, single_panel, titled
from pcielab.charts.run import Run, Source, Sources, runs_of
from pcielab.charts.selection import CACHE_STATES, MissingDataError, matching, widest_sweep
from pcielab.charts.series import Dimension, Series, label_rows, run_tooltip

_KINDS = {"lat-chase": "dependent (LAT_CHASE)", "bw-rd": "independent (BW_RD)"}
_MOST_BYTES = 64
"""Longest reads: one cache line. Longer ones are several."""
_COLUMNS = ["kind", "window_bytes", "size_bytes", "cache", "read_ns"]


def reads_of_a_core(sources: Sources, *, measured: Source | None = None) -> Figure:
    """Time of a dependent and of an independent read over the window, on a logarithmic axis.

    A rule marks the capacity of each of the core's caches, if a run's host reports them.
    """
    runs = runs_of(sources, measured)
    data = pd.concat([label_rows(run, _rows(run)) for run in runs])
    if not (data["kind"] == _KINDS["lat-chase"]).any():
        raise MissingDataError("a pointer chase over windows (lat_cmd_win_chase)")
    drawn = [run for run in runs if run.entry in set(data["run"])]
    kinds = [kind for kind in _KINDS.values() if kind in set(data["kind"])]
    series, x = Series(drawn, Dimension("kind", "read", kinds)), window_axis(data["window_bytes"])
    y = alt.Y("read_ns:Q", title="time of a read (ns)", scale=alt.Scale(type="log", nice=False))
    tooltip = [
        run_tooltip(),
        *(alt.Tooltip(f"{field}:N") for field in ("kind", "cache", "size_bytes", "window_bytes")),
        alt.Tooltip("read_ns:Q", title="ns", format=".2f"),
    ]
    rules = [
        alt.Chart().mark_rule(style="zero").encode(x=alt.datum(capacity)) for capacity in _capacities(drawn, data)
    ]
    return titled(
        single_panel([*series.layers(x, y, tooltip), *rules], data),
        "Dependent and independent reads of a core over the window",
        drawn,
        "vertical lines: capacities of the core's caches" if rules else "",
        latencies=True,
        claims=[*_claims(drawn, data)],
    )


def _rows(run: Run) -> pd.DataFrame:
    """The widest sweeps of a run, with the time of a read: its median, or the reciprocal of the rate."""
    parts = []
    for operation, metric in (("lat-chase", "median"), ("bw-rd", "rate")):
        rows = matching(run.aligned, operation=operation, path="command", cache=CACHE_STATES)
        rows = rows[rows["size_bytes"] <= _MOST_BYTES]
        sweep = widest_sweep(rows, "window_bytes").reindex(columns=["window_bytes", "size_bytes", "cache", metric])
        time_ns = sweep[metric] if metric == "median" else 1e9 / sweep[metric]
        parts.append(sweep.assign(kind=_KINDS[operation], read_ns=time_ns.astype(float)))
    rows = pd.concat(parts).reindex(columns=_COLUMNS)
    return rows[rows["read_ns"] > 0]


def _caches(run: Run) -> list[dict[str, int | str]]:
    """Data caches of the run's core, smallest first."""
    known = (run.manifest.get("host") or {}).get("caches") or []
    of_data = (one for one in known if one.get("holds") != "instruction" and one.get("bytes") and one.get("level"))
    return sorted(of_data, key=lambda one: int(one["bytes"]))


def _capacities(runs: Sequence[Run], data: pd.DataFrame) -> list[int]:
    """Capacities of the caches of all runs that lie within the windows."""
    capacities = {int(one["bytes"]) for run in runs for one in _caches(run)}
    low, high = data["window_bytes"].min(), data["window_bytes"].max()
    return sorted(capacity for capacity in capacities if low <= capacity <= high)


def _claims(runs: Sequence[Run], data: pd.DataFrame) -> Iterator[str]:
    """The latency of each level: that of the largest window of at most half a cache, and of the largest one."""
    for run in runs:
        mine = data[data["run"] == run.entry]
        chase = mine[mine["kind"] == _KINDS["lat-chase"]].sort_values("window_bytes")
        if chase.empty:
            continue
        found = []
        for cache in _caches(run):
            inside = chase[chase["window_bytes"] <= int(cache["bytes"]) // 2]
            if not inside.empty:
                found.append(f"{_time(inside.iloc[-1])} in L{cache['level']}")
        last = chase.iloc[-1]
        yield f"{run.label}, dependent reads: {', '.join([*found, _time(last)])}."


def _time(row: pd.Series) -> str:
    return f"{row['read_ns']:.2f} ns at {size_text(row['window_bytes'])}"
