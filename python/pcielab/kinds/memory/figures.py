"""The figure of runs of expanders: the latency of a read over the bandwidth, as such curves are published."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from pcielab import model
from pcielab.charts.frame import Figure, single_panel, titled
from pcielab.charts.run import Run, Sources, all_runs, of_kind, runs_of
from pcielab.charts.selection import MissingDataError
from pcielab.kinds.memory.rows import expander_of_run, rows_of
from pcielab.kinds.rooms import Entry, Figures

_LOADS = tuple(step / 50 for step in range(50))
_NEEDED = "a run of an expander with reads (pcielab run --test mem-rd)"


def memory_latency(sources: Sources) -> Figure:
    """Mean latency of a read over bandwidth: simulated points, and the closed form as a line."""
    runs = of_kind(runs_of(sources), "memory")
    points = [_points(run, runs) for run in runs]
    data = pd.concat([*points, *(_closed_form(run, runs) for run in runs)], ignore_index=True) if runs else None
    if data is None or data.empty or not any(len(some) for some in points):
        raise MissingDataError(_NEEDED)
    x = alt.X("gbytes_per_s:Q", title="bandwidth of reads and writes (GB/s)")
    y = alt.Y("latency_ns:Q", title="read latency beyond the host (ns)", scale=alt.Scale(zero=False))
    colour = alt.Color("of:N", title="expander and mix", sort=list(dict.fromkeys(data["of"])))
    tooltip = [
        "of:N",
        "curve:N",
        alt.Tooltip("gbytes_per_s:Q", format=".2f"),
        alt.Tooltip("latency_ns:Q", format=".1f"),
    ]
    simulated = (
        alt.Chart()
        .transform_filter("datum.curve === 'simulated'")
        .mark_point(filled=True, size=45, opacity=1)
        .encode(x=x, y=y, color=colour, tooltip=tooltip)
    )
    line = (
        alt.Chart()
        .transform_filter("datum.curve === 'closed form'")
        .mark_line(strokeDash=[3, 2])
        .encode(x=x, y=y, color=colour, tooltip=tooltip)
    )
    return titled(
        single_panel([line, simulated], data),
        "Memory behind CXL.mem: read latency over bandwidth",
        runs,
        "closed form MODELLED, dashed",
    )


def _points(run: Run, runs: Sequence[Run]) -> pd.DataFrame:
    rows = [row for row in rows_of(run.store) if "average" in row]
    return pd.DataFrame(
        {
            "of": [_named(run, row["read_share"], runs) for row in rows],
            "curve": "simulated",
            "gbytes_per_s": [row["bandwidth"] / 8 for row in rows],
            "latency_ns": [row["average"] for row in rows],
        }
    )


def _closed_form(run: Run, runs: Sequence[Run]) -> pd.DataFrame:
    profile = expander_of_run(run.store.manifest, run.store.path)
    shares = list(dict.fromkeys(row["read_share"] for row in rows_of(run.store) if "average" in row))
    answers = model.expander(profile, shares, loads=_LOADS)
    return pd.DataFrame(
        [
            {
                "of": _named(run, answer.read_share, runs),
                "curve": "closed form",
                "gbytes_per_s": at.gbytes_per_s,
                "latency_ns": at.read_latency_ns,
            }
            for answer in answers
            for at in answer.loads
        ]
    )


def _named(run: Run, read_share: float, runs: Sequence[Run]) -> str:
    mix = f"{100 * read_share:.3g} % reads"
    return f"{run.label}, {mix}" if len(runs) > 1 else mix


FIGURES = Figures(
    (
        Entry(
            "memory-latency",
            "Memory behind CXL",
            "Mean time of a read over the bandwidth of reads and writes. Points are simulated; the dashed line is "
            "the closed form, up to 98 % of its peak.",
            lambda runs, measured: memory_latency(all_runs(runs, measured)),
        ),
    ),
    one=(memory_latency,),
)
