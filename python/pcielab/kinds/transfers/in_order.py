"""Latencies in their order: slow ones can be single, in bursts, or periodic."""

import altair as alt
import pandas as pd

from pcielab.charts.axes import latency_axis_of
from pcielab.charts.frame import OPERATION_TITLES, Figure, panels, titled
from pcielab.charts.run import Run, Source, Sources, runs_of
from pcielab.charts.selection import CACHE_STATES, MissingDataError, matching
from pcielab.charts.series import Dimension, Series, label_rows
from pcielab.kinds.transfers.distribution import PATH_TITLES, panel_of
from pcielab.wording import byte_size

_MOST_POINTS = 1024
"""Longer series are drawn as this many stretches, each by its slowest latency: no stall is lost."""


def latencies_in_order(
    sources: Sources, *, path: str = "dma", size_bytes: int = 64, measured: Source | None = None
) -> Figure:
    """The latencies of a test in their order, as far as the store keeps them."""
    runs = runs_of(sources, measured)
    drawn = [points for run in runs for points in _points(run, path, size_bytes)]
    if not drawn:
        raise MissingDataError(f"latencies of {size_bytes} B on the {path} path, in order (tests with details)")
    data = pd.concat(drawn, ignore_index=True)
    caches = [state for state in CACHE_STATES if state in set(data["cache"])]
    series = Series(runs, Dimension("cache", "cache", caches))
    point = (
        alt.Chart()
        .mark_point(filled=True, size=20, opacity=0.6)
        .encode(
            x=alt.X("index:Q", title="transaction, in the order of the test"),
            y=latency_axis_of(data["latency_ns"]),
            color=series.colour().legend(alt.Legend(symbolSize=60)),
            shape=series.dimension_shape().legend(alt.Legend(symbolSize=60)),
            tooltip=[alt.Tooltip("index:Q"), alt.Tooltip("latency_ns:Q", format=".0f"), alt.Tooltip("cache:N")],
        )
    )
    windows = [f"window {byte_size(int(window))}" for window in sorted(set(data["window_bytes"]))]
    tests = [OPERATION_TITLES[operation] for operation in sorted(set(data["operation"]))]
    figure = panels([point], data, "window", columns=windows, row="test", rows=tests, height=200)
    stretch = int(data["stretch"].max())
    note = "" if stretch == 1 else f"each point is the slowest of {stretch:,} or fewer"
    title = f"Latencies in order, {size_bytes} B {PATH_TITLES[path]}"
    return titled(figure, title, runs, note, overlay_as_points=False, latencies=True)


def _points(run: Run, path: str, size_bytes: int) -> list[pd.DataFrame]:
    tests = matching(run.aligned, path=path, size_bytes=size_bytes, operation=("lat-rd", "lat-wrrd"))
    parts = []
    for test in matching(tests, details=True).to_dict("records"):
        number = int(test["id"])
        ticks = run.store.series(number)
        if ticks.empty:
            continue
        points = _thinned(ticks["value"] * run.store.tick_ns(number))
        parts.append(label_rows(run, points.assign(**panel_of(test))))
    return parts


def _thinned(latencies: pd.Series) -> pd.DataFrame:
    """The latencies, or the slowest of each stretch."""
    stretch = -(-len(latencies) // _MOST_POINTS)
    slowest = latencies.groupby(latencies.index // stretch).idxmax()
    return pd.DataFrame(
        {"index": slowest.to_numpy(), "latency_ns": latencies[slowest].to_numpy(), "stretch": stretch}
    )
