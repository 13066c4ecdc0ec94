"""Figure 4 of the paper: DMA bandwidth over transfer size, beside what binds and what Ethernet asks for."""

import altair as alt
import pandas as pd

from pcielab.model.link import Accounting
from pcielab.report.axes import SizeAxis, bandwidth_axis
from pcielab.report.figures.findings import bandwidth_findings
from pcielab.report.figures.frame import OPERATION_TITLES, PANEL_HEIGHT, Figure, panels, titled
from pcielab.report.figures.reference import reference_layers, reference_rows
from pcielab.report.figures.residual import RESIDUAL_HEIGHT, Residual, measured_of, with_residuals
from pcielab.report.run import MODELLED, Run, Source, Sources, runs_of
from pcielab.report.selection import MissingDataError, aligned, matching, widest_sweep
from pcielab.report.series import Series, label_rows

_TOLD = ["size_bytes", "window_bytes", "cache", "bandwidth", "rate"]
OPERATIONS = ("bw-rd", "bw-wr", "bw-rdwr")


def bandwidth_by_size(
    sources: Sources, *, measured: Source | None = None, accounting: Accounting = Accounting.SPEC
) -> Figure:
    """Payload bandwidth over transfer size for reads, writes, and both in turn (figure 4).

    The grey lines are what binds on each run's system, in closed form, the bound of its link alone, and what
    Ethernet needs at that size, at the rates that such a link is made for; a ribbon says what it is that
    binds. A row of BW_RDWR counts one direction, as the published suite does; its bounds do too.

    Args:
        sources: the runs to draw as lines.
        measured: a run to draw as points over them.
        accounting: how the bytes of the link alone are counted: `sigcomm18` as the paper does.

    Raises:
        MissingDataError: no run has a sweep over sizes.
    """
    runs = runs_of(sources, measured)
    drawn = [label_rows(run, _sweep(run, operation)) for run in runs for operation in OPERATIONS]
    drawn = [rows for rows in drawn if not rows.empty]
    if not drawn:
        raise MissingDataError("bandwidth tests at two or more transfer sizes (bw_dma_sz_sweep)")
    sweeps = pd.concat(drawn)
    axis = SizeAxis.of(sweeps["size_bytes"])
    references = reference_rows(runs, sweeps, accounting)
    shown = [*_TOLD, "operation", "run", "role", "place"]
    data = pd.concat([axis.placed(sweeps)[shown], references])
    data = data.assign(panel=data["operation"].map(OPERATION_TITLES))
    x, y = axis.encoding, bandwidth_axis()
    behind = reference_layers(x, y, references, height=PANEL_HEIGHT)
    order = [title for title in OPERATION_TITLES.values() if title in set(data["panel"])]
    series = Series(runs)
    upper = panels([*behind, *series.layers(x, y, _tooltip())], data, "panel", columns=order)
    residual = Residual("bandwidth", ["operation", "size_bytes"], "%")
    figure = with_residuals(
        upper,
        residual.rows(data, measured_of(runs)),
        lambda rows: panels(residual.layers(series, x), rows, "panel", columns=order, height=RESIDUAL_HEIGHT),
    )
    return titled(
        figure,
        "Figure 4: DMA bandwidth over transfer size",
        runs,
        f"grey lines and ribbon: {MODELLED}",
        findings=[*bandwidth_findings(runs, sweeps, references)],
    )


def _sweep(run: Run, operation: str) -> pd.DataFrame:
    rows = matching(aligned(run.finished), operation=operation, path="dma")
    return widest_sweep(rows, "size_bytes")


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("run:N"),
        alt.Tooltip("size_bytes:Q", title="size (B)"),
        alt.Tooltip("bandwidth:Q", title="bandwidth (Gb/s)", format=".2f"),
        alt.Tooltip("rate:Q", title="transactions (1/s)", format=".3s"),
        alt.Tooltip("cache:N", title="cache"),
        alt.Tooltip("window_bytes:Q", title="window (B)"),
    ]
