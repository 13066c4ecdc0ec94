"""Figure 5 of the paper: median latency over transfer size, from the minimum to the 95th percentile."""

import altair as alt
import pandas as pd

from pcielab.report.axes import SizeAxis, latency_axis
from pcielab.report.figures.findings import latency_findings
from pcielab.report.figures.frame import Figure, single_panel, titled
from pcielab.report.figures.residual import RESIDUAL_HEIGHT, Residual, measured_of, with_residuals
from pcielab.report.run import Run, Source, Sources, runs_of
from pcielab.report.selection import MissingDataError, aligned, matching, widest_sweep
from pcielab.report.series import Dimension, Series, label_rows, run_tooltip

OPERATIONS = ("lat-rd", "lat-wrrd")
PATHS = ("dma", "command")
_TESTS = {
    ("lat-rd", "dma"): "LAT_RD, DMA",
    ("lat-wrrd", "dma"): "LAT_WRRD, DMA",
    ("lat-rd", "command"): "LAT_RD, commands",
    ("lat-wrrd", "command"): "LAT_WRRD, commands",
}


def latency_by_size(sources: Sources, *, measured: Source | None = None) -> Figure:
    """Median latency over transfer size of LAT_RD and LAT_WRRD, on each path that the runs have (figure 5).

    Bars reach from the minimum to the 95th percentile.

    Args:
        sources: the runs to draw as lines.
        measured: a run to draw as points over them.

    Raises:
        MissingDataError: no run has a latency sweep over sizes.
    """
    runs = runs_of(sources, measured)
    drawn = [label_rows(run, _sweep(run, op, path)) for run in runs for path in PATHS for op in OPERATIONS]
    drawn = [rows for rows in drawn if not rows.empty]
    if not drawn:
        raise MissingDataError("latency tests at two or more transfer sizes (lat_dma_sizes, lat_cmd_sizes)")
    data = pd.concat(drawn)
    data = data.assign(test=[_TESTS[key] for key in zip(data["operation"], data["path"], strict=True)])
    tests = [title for title in _TESTS.values() if title in set(data["test"])]
    series = Series(runs, Dimension("test", "test", tests))
    axis = SizeAxis.of(data["size_bytes"])
    data = axis.placed(data)
    x, y = axis.encoding, latency_axis()
    bars = series.range_bars(x, "minimum", "p95")
    layers = [*bars, *series.layers(x, y, latency_tooltip())]
    residual = Residual("median", ["test", "size_bytes"], "ns")
    figure = with_residuals(
        single_panel(layers, data),
        residual.rows(data, measured_of(runs)),
        lambda rows: single_panel(residual.layers(series, x), rows, height=RESIDUAL_HEIGHT),
    )
    return titled(
        figure,
        "Figure 5: median latency over transfer size",
        runs,
        "bars: minimum to 95th percentile" if bars else "",
        latencies=True,
        findings=[*latency_findings(runs, data)],
    )


def _sweep(run: Run, operation: str, path: str) -> pd.DataFrame:
    rows = matching(aligned(run.finished), operation=operation, path=path)
    columns = ["operation", "path", "size_bytes", "window_bytes", "cache", "median", "minimum", "p95"]
    return widest_sweep(rows, "size_bytes").reindex(columns=columns)


def latency_tooltip() -> list[alt.Tooltip]:
    """What a point of a latency figure tells."""
    return [
        run_tooltip(),
        alt.Tooltip("operation:N", title="test"),
        alt.Tooltip("cache:N", title="cache"),
        alt.Tooltip("size_bytes:Q", title="size (B)"),
        alt.Tooltip("window_bytes:Q", title="window (B)", format=","),
        alt.Tooltip("median:Q", title="median (ns)", format=".1f"),
        alt.Tooltip("minimum:Q", title="minimum (ns)", format=".1f"),
        alt.Tooltip("p95:Q", title="95 % (ns)", format=".1f"),
    ]
