"""Sentences about figures, each computed from the rows that the figure draws.

Where a run shows no effect, the sentence says so.
"""

from collections.abc import Iterator, Sequence

import pandas as pd

from pcielab.charts.run import Run
from pcielab.kinds.transfers.link_bounds import ethernet_need, ethernet_rates, link_of
from pcielab.wording import byte_size

OPERATIONS = {
    "lat-rd": "reads",
    "lat-wrrd": "a write followed by a read",
    "bw-rd": "reads",
    "bw-wr": "writes",
    "bw-rdwr": "reads and writes in turn",
}
_NOTICED = 0.03
"""Smallest relative change of latency or bandwidth to report."""
_FASTER_PERCENT = 2.0
_MOST_RUNS = 2
_LEAST_IN_A_TAIL = 10
"""A percentile is given if at least this many transactions are beyond it."""


def bandwidth_claims(runs: Sequence[Run], sweeps: pd.DataFrame, references: pd.DataFrame) -> Iterator[str]:
    """The size from which a test sustains Ethernet, its share of the binding bound, and that bound's name."""
    for run in [run for run in runs if not run.measured_overlay][:_MOST_RUNS]:
        drawn = sweeps[sweeps["run"] == run.entry]
        link = link_of(run)
        rates = ethernet_rates([link]) if link is not None else []
        for operation, rows in drawn.groupby("operation", sort=False):
            best = rows.iloc[int(rows["bandwidth"].to_numpy().argmax())]
            most = f"at most {best['bandwidth']:.1f} Gb/s, at {best['size_bytes']:.0f} B"
            said = f"{run.label}, {OPERATIONS[str(operation)]}: {most}"
            for rate in rates[-1:]:
                said += f"; {_keeps_up(rows, rate)}"
            if "of" in references:
                bound = references[(references["of"] == run.entry) & (references["operation"] == operation)]
                said += _share_of_bound(rows, bound)
            yield said + "."


def _keeps_up(rows: pd.DataFrame, rate_gbps: int) -> str:
    rows = rows.sort_values("size_bytes")
    need = ethernet_need([int(size) for size in rows["size_bytes"]], rate_gbps)["bandwidth"].to_numpy()
    short = rows["size_bytes"][rows["bandwidth"].to_numpy() < need]
    if short.empty:
        return f"{rate_gbps}G Ethernet at every size"
    larger = rows["size_bytes"][rows["size_bytes"] > short.max()]
    if larger.empty:
        return f"below {rate_gbps}G Ethernet at the largest size"
    return f"{rate_gbps}G Ethernet from {larger.min():.0f} B on"


def _share_of_bound(rows: pd.DataFrame, references: pd.DataFrame) -> str:
    bounds = references[references["role"] == "reference"].set_index("size_bytes")
    if bounds.empty:
        return ""
    share = rows["bandwidth"].to_numpy() / bounds.loc[rows["size_bytes"], "bandwidth"].to_numpy()
    kinds = bounds.loc[rows["size_bytes"], "binds"].value_counts()
    named = ", ".join(f"{name} at {count}" for name, count in kinds.items())
    return f"; {100 * share.min():.0f} to {100 * share.max():.0f} % of the bound ({named} of {len(rows)} sizes)"


def latency_claims(runs: Sequence[Run], data: pd.DataFrame) -> Iterator[str]:
    """The medians of the shortest and the longest transfer of each test, and the time per byte between them."""
    for run in [run for run in runs if not run.measured_overlay][:_MOST_RUNS]:
        for test, rows in data[data["run"] == run.entry].groupby("test", sort=False):
            rows = rows.sort_values("size_bytes")
            first, last = rows.iloc[0], rows.iloc[-1]
            per_byte = (last["median"] - first["median"]) / (last["size_bytes"] - first["size_bytes"])
            ends = " and ".join(f"{end['median']:,.0f} ns at {end['size_bytes']:,} B" for end in (first, last))
            yield f"{run.label}, {test}: {ends}, {per_byte:.2f} ns per additional byte."


def offset_claims(runs: Sequence[Run], data: pd.DataFrame, metric: str) -> Iterator[str]:
    """The largest change from the aligned value, by operation and side."""
    for run in [run for run in runs if not run.measured_overlay][:_MOST_RUNS]:
        for (operation, side), rows in data[data["run"] == run.entry].groupby(["operation", "side"], sort=False):
            aligned = rows[rows["offset_bytes"] == 0].set_index("size_bytes")[metric]
            held = rows.join(aligned.rename("aligned"), on="size_bytes").dropna(subset=["aligned", metric])
            if held.empty:
                continue
            change = held[metric] / held["aligned"] - 1
            most = held.iloc[int(change.abs().to_numpy().argmax())]
            percent = 100 * (most[metric] / most["aligned"] - 1)
            if abs(percent) <= 100 * _NOTICED:
                effect = f"constant within {100 * _NOTICED:.0f} % at every offset"
            else:
                effect = f"up to {percent:+.0f} % ({most['size_bytes']:.0f} B at {most['offset_bytes']:.0f})"
            yield f"{run.label}, {OPERATIONS[str(operation)]}, {side}: {effect}."


def window_claims(runs: Sequence[Run], data: pd.DataFrame, metric: str) -> Iterator[str]:
    """The window up to which a metric is constant, and its total change, by operation and cache state."""
    for run in [run for run in runs if not run.measured_overlay][:_MOST_RUNS]:
        drawn = data[data["run"] == run.entry]
        parts = ["operation", "size_bytes"] if drawn["size_bytes"].nunique() > 1 else ["operation"]
        for key, rows in drawn.groupby(parts, sort=False):
            found = [_course(group, metric) for _, group in rows.groupby("cache", sort=False)]
            states = [str(cache) for cache, _ in rows.groupby("cache", sort=False)]
            size = f" of {key[1]:.0f} B" if len(parts) > 1 else ""
            by_course: dict[str, list[str]] = {}
            for state, course in zip(states, found, strict=True):
                by_course.setdefault(course, []).append(state)
            courses = "; ".join(f"{', '.join(group)}: {course}" for course, group in by_course.items())
            yield f"{run.label}, {OPERATIONS[str(key[0])]}{size}: {courses}."


def _course(rows: pd.DataFrame, metric: str) -> str:
    rows = rows.sort_values("window_bytes")
    first = float(rows[metric].iloc[0])
    apart = (rows[metric] / first - 1).abs() > _NOTICED
    if not apart.any():
        return f"constant within {100 * _NOTICED:.0f} % over all windows"
    change = 100 * (float(rows[metric].iloc[-1]) / first - 1)
    start = byte_size(int(rows["window_bytes"][apart].iloc[0]))
    return f"changes from {start} on, {change:+.0f} % at {byte_size(int(rows['window_bytes'].iloc[-1]))}"


def cache_claims(runs: Sequence[Run], data: pd.DataFrame) -> Iterator[str]:
    """The largest difference of bandwidth between warm and cold caches, by operation and size."""
    for run in [run for run in runs if not run.measured_overlay][:_MOST_RUNS]:
        drawn = data[(data["run"] == run.entry) & data["cache"].isin(["cold", "host-warm"])]
        keys = ["operation", "size_bytes", "window_bytes"]
        both = drawn.pivot_table(index=keys, columns="cache", values="bandwidth", aggfunc="last").dropna()
        if set(both.columns) != {"cold", "host-warm"} or both.empty:
            continue
        gain = (100 * (both["host-warm"] / both["cold"] - 1)).rename("gain").reset_index()
        parts = [
            f"{OPERATIONS[str(operation)]} of {size:.0f} B {_most(rows)}"
            for (operation, size), rows in gain.groupby(["operation", "size_bytes"], sort=False)
        ]
        yield f"{run.label}, host-warm against cold caches: {'; '.join(parts)}."


def _most(rows: pd.DataFrame) -> str:
    most = rows.iloc[int(rows["gain"].abs().to_numpy().argmax())]
    if abs(most["gain"]) <= 100 * _NOTICED:
        return f"agree within {abs(most['gain']):.1f} %"
    return f"differ by up to {most['gain']:+.0f} % (window {byte_size(int(most['window_bytes']))})"


def distribution_claims(curves: pd.DataFrame) -> Iterator[str]:
    """Median, tail, maximum and number of transactions of each distribution in the smallest window."""
    smallest = curves[curves["window_bytes"] == curves["window_bytes"].min()]
    for entry, drawn in smallest.groupby("run", sort=False):
        for (test, cache, window), rows in drawn.groupby(["test", "cache", "window"], sort=False):
            one = rows.iloc[0]
            values = [
                ("median", one["median_ns"]),
                *(
                    (name, one[column])
                    for name, column, count in (("p99", "p99_ns", 100), ("p99.9", "p999_ns", 1000))
                    if one["samples"] >= _LEAST_IN_A_TAIL * count
                ),
                ("maximum", one["slowest_ns"]),
            ]
            shown = ", ".join(f"{name} {value:,.0f} ns" for name, value in values)
            yield f"{entry}, {test}, {cache}, {window}: {shown} ({one['samples']:,.0f} transactions)."


def change_claims(data: pd.DataFrame, *, remote: bool) -> Iterator[str]:
    """The largest loss by operation and size, and gains, which are artefacts of the order of tests."""
    for (operation, size), rows in data.groupby(["operation", "size_bytes"], sort=False):
        worst = rows.iloc[int(rows["change"].to_numpy().argmin())]
        where = f"{worst['cache']}, window {byte_size(int(worst['window_bytes']))}"
        if worst["change"] > -100 * _NOTICED:
            yield f"{OPERATIONS[str(operation)]} of {size:.0f} B: never over {100 * _NOTICED:.0f} % slower."
        else:
            yield f"{OPERATIONS[str(operation)]} of {size:.0f} B: up to {worst['change']:.0f} % ({where})."
    gains = data[data["change"] > _FASTER_PERCENT]
    if remote and not gains.empty:
        best = gains.iloc[int(gains["change"].to_numpy().argmax())]
        where = f"{best['cache']}, window {byte_size(int(best['window_bytes']))}"
        test = f"{OPERATIONS[str(best['operation'])]} of {best['size_bytes']:.0f} B"
        yield (
            f"Where remote memory looks faster (up to {best['change']:+.0f} %: {test}, {where}), the cause is "
            "history: lines that earlier tests left in caches, and memory not written yet. Another order of tests "
            "removes it."
        )
