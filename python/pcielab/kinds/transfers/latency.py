"""Figure 5 of the paper: median latency over transfer size, from the minimum to the 95th percentile."""

import altair as alt
import pandas as pd

from pcielab.charts.axes import SizeAxis, latency_axis
from pcielab.charts.frame import Figure, single_panel, titled, tooltips
from pcielab.charts.residual import RESIDUAL_HEIGHT, Residual, measured_of, with_residuals
from pcielab.charts.run import Run, Source, Sources, runs_of
from pcielab.charts.selection import MissingDataError, matching, widest_sweep
from pcielab.charts.series import Dimension, Series, label_rows, run_tooltip
from pcielab.kinds.transfers.claims import latency_claims

OPERATIONS = ("lat-rd", "lat-wrrd")
PATHS = ("dma", "command")
_TESTS = {
    ("lat-rd", "dma"): "LAT_RD, DMA",
    ("lat-wrrd", "dma"): "LAT_WRRD, DMA",
    ("lat-rd", "command"): "LAT_RD, commands",
    ("lat-wrrd", "command"): "LAT_WRRD, commands",
}


def latency_by_size(sources: Sources, *, measured: Source | None = None) -> Figure:
    """Median latency over transfer size of LAT_RD and LAT_WRRD, on each path of the runs (figure 5).

    Bars reach from the minimum to the 95th percentile.
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
    data = axis.positioned(data)
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
        claims=[*latency_claims(runs, data)],
    )


def _sweep(run: Run, operation: str, path: str) -> pd.DataFrame:
    rows = matching(run.aligned, operation=operation, path=path)
    columns = ["operation", "path", "size_bytes", "window_bytes", "cache", "median", "minimum", "p95"]
    return widest_sweep(rows, "size_bytes").reindex(columns=columns)


def latency_tooltip() -> list[alt.Tooltip]:
    """Tooltip of a point in a latency figure."""
    return [
        run_tooltip(),
        *tooltips("operation", "cache", "size_bytes", "window_bytes", "median", "minimum", "p95"),
    ]
