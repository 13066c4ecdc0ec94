"""The figures of runs of traces: latencies over time and their distribution, and the rate over time."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from pcielab.charts.frame import Figure, single_panel, titled
from pcielab.charts.run import Run, Sources, all_runs, of_kind, runs_of
from pcielab.charts.selection import MissingDataError
from pcielab.kinds.rooms import Entry, Figures

_MOST_POINTS = 4_000
"""Most transfers of a test that are drawn one by one."""
_MOST_STEPS = 400
_SPANS = 100
"""Parts of the time of a trace over which rates are averaged."""
_NEEDED = "a trace that was played (pcielab trace play -o RUN.db)"


def trace_latencies(sources: Sources) -> Figure:
    """The latency of each transfer over the time when it was sent."""
    runs = of_kind(runs_of(sources), "traces")
    transfers = _transfers(runs)
    every = max(1, len(transfers) // _MOST_POINTS)
    # The longest one of each group is drawn, so that none of the slow ones is lost.
    groups = transfers.groupby(["of", transfers.groupby("of").cumcount() // every], sort=False)["latency_ns"]
    data = transfers.loc[groups.idxmax()]
    points = alt.Chart().mark_point(filled=True, size=12, opacity=0.6)
    tooltip = [
        "of:N",
        alt.Tooltip("sent_us:Q", format=".3f"),
        alt.Tooltip("latency_ns:Q", format=".0f"),
        "bytes:Q",
    ]
    figure = single_panel([points.encode(x=_TIME, y=_LATENCY, color=_colour(data), tooltip=tooltip)], data)
    note = f"the slowest of every {every} transfers" if every > 1 else ""
    return titled(figure, "Latency of each transfer of a trace", runs, note)


def trace_distributions(sources: Sources) -> Figure:
    """The share of transfers up to each latency."""
    runs = of_kind(runs_of(sources), "traces")
    parts = []
    for run, row in _tests(runs):
        found = run.store.distribution(int(row["id"]))
        kept = found.iloc[sorted({*range(0, len(found), max(1, len(found) // _MOST_STEPS)), len(found) - 1})]
        parts.append(kept[["latency_ns", "cdf"]].assign(of=_named(run, row, runs)))
    data = pd.concat(parts)
    share = alt.Y("cdf:Q", title="transfers that take as long or less", axis=alt.Axis(format="%"))
    x = alt.X("latency_ns:Q", title="latency (ns)", scale=alt.Scale(zero=False))
    lines = alt.Chart().mark_line(interpolate="step-after")
    return titled(
        single_panel([lines.encode(x=x, y=share, color=_colour(data))], data), "Latencies of a trace", runs
    )


def trace_rates(sources: Sources) -> Figure:
    """The rate of reads and of writes over time."""
    runs = of_kind(runs_of(sources), "traces")
    transfers = _transfers(runs)
    span_us = max(float(transfers["sent_us"].max()) / _SPANS, 1e-6)
    starts = (transfers["sent_us"] // span_us) * span_us
    moved = transfers.assign(sent_us=starts).groupby(["of", "sent_us"], sort=False)["bytes"].sum().reset_index()
    data = moved.assign(bandwidth=8 * moved["bytes"] / (1000 * span_us))
    rate = alt.Y("bandwidth:Q", title="bandwidth (Gb/s)")
    lines = alt.Chart().mark_line(interpolate="step-after").encode(x=_TIME, y=rate, color=_colour(data))
    return titled(single_panel([lines], data), "Rate of a trace over time", runs, f"over {span_us:.3g} us each")


_TIME = alt.X("sent_us:Q", title="time of the first TLP (us)")
_LATENCY = alt.Y("latency_ns:Q", title="latency (ns)", scale=alt.Scale(zero=False))


def _colour(data: pd.DataFrame) -> alt.Color:
    return alt.Color("of:N", title="transfers", sort=list(dict.fromkeys(data["of"])))


def _tests(runs: Sequence[Run]) -> list[tuple[Run, pd.Series]]:
    """The tests with results.

    Raises:
        MissingDataError: There are none.
    """
    found = [(run, row) for run in runs for _, row in run.rows[run.rows["bandwidth"].notna()].iterrows()]
    if not found:
        raise MissingDataError(_NEEDED)
    return found


def _named(run: Run, row: pd.Series, runs: Sequence[Run]) -> str:
    return f"{row['direction']}s, {run.label}" if len(runs) > 1 else f"{row['direction']}s"


def _transfers(runs: Sequence[Run]) -> pd.DataFrame:
    """The transfers that stores keep one by one: of, sent_us, latency_ns, bytes."""
    parts = []
    for run, row in _tests(runs):
        series = {
            metric: run.store.series(int(row["id"]), metric)["value"]
            for metric in ("sent_ns", "latency_ns", "bytes")
        }
        parts.append(pd.DataFrame(series).assign(of=_named(run, row, runs)))
    transfers = pd.concat(parts, ignore_index=True)
    return transfers.assign(sent_us=transfers["sent_ns"] / 1000)


FIGURES = Figures(
    (
        Entry(
            "trace-latencies",
            "Traces",
            "Time from a transfer's first TLP to its last completion or byte. Slow ones can be single, in bursts, "
            "or periodic.",
            lambda runs, measured: trace_latencies(all_runs(runs, measured)),
        ),
        Entry(
            "trace-distributions",
            "Traces",
            "Cumulative distribution of the latencies.",
            lambda runs, measured: trace_distributions(all_runs(runs, measured)),
        ),
        Entry(
            "trace-rates",
            "Traces",
            "Rate over time; where no transfer waits, it is that of the recording.",
            lambda runs, measured: trace_rates(all_runs(runs, measured)),
        ),
    ),
    one=(trace_latencies,),
)
