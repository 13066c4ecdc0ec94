"""Figure 4 of the paper: DMA bandwidth over transfer size, beside the model's bound and what Ethernet asks for."""

import altair as alt
import pandas as pd

from pcielab.report.axes import bandwidth_axis, size_axis
from pcielab.report.figures.frame import OPERATION_TITLES, Figure, panels, titled
from pcielab.report.figures.reference import reference_layer, reference_rows
from pcielab.report.run import MODELLED, Run, Source, Sources, runs_of
from pcielab.report.selection import MissingDataError, aligned, matching, widest_sweep
from pcielab.report.series import Series, label_rows

OPERATIONS = ("bw-rd", "bw-wr", "bw-rdwr")


def bandwidth_by_size(sources: Sources, *, measured: Source | None = None) -> Figure:
    """Payload bandwidth over transfer size for reads, writes, and both in turn (figure 4).

    The grey lines are the closed-form bound for each run's link and the bandwidth that 40 Gb/s Ethernet needs at
    that size. A row of BW_RDWR counts one direction, as the published suite does; its bound does too.

    Args:
        sources: the runs to draw as lines.
        measured: a run to draw as points over them.

    Raises:
        MissingDataError: no run has a sweep over sizes.
    """
    runs = runs_of(sources, measured)
    drawn = [label_rows(run, _sweep(run, operation)) for run in runs for operation in OPERATIONS]
    drawn = [rows for rows in drawn if not rows.empty]
    if not drawn:
        raise MissingDataError("bandwidth tests at two or more transfer sizes (bw_dma_sz_sweep)")
    sweeps = pd.concat(drawn)
    references = reference_rows(runs, sweeps)
    data = pd.concat([sweeps, references])
    data = data.assign(panel=data["operation"].map(OPERATION_TITLES))
    x, y = size_axis(sweeps["size_bytes"]), bandwidth_axis()
    names = list(references["reference"].unique())
    layers = [reference_layer(x, y, names), *Series(runs).layers(x, y, _tooltip())]
    order = [title for title in OPERATION_TITLES.values() if title in set(data["panel"])]
    figure = panels(layers, data, "panel", columns=order)
    return titled(figure, "Figure 4: DMA bandwidth over transfer size", runs, f"grey lines: {MODELLED}")


def _sweep(run: Run, operation: str) -> pd.DataFrame:
    rows = matching(aligned(run.finished), operation=operation, path="dma")
    columns = ["operation", "size_bytes", "window_bytes", "cache", "bandwidth", "rate"]
    return widest_sweep(rows, "size_bytes").reindex(columns=columns)


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("run:N"),
        alt.Tooltip("size_bytes:Q", title="size (B)"),
        alt.Tooltip("bandwidth:Q", title="bandwidth (Gb/s)", format=".2f"),
        alt.Tooltip("rate:Q", title="transactions (1/s)", format=".3s"),
        alt.Tooltip("cache:N", title="cache"),
        alt.Tooltip("window_bytes:Q", title="window (B)"),
    ]
