"""Figure 4 of the paper: bandwidth over transfer size, with its bounds and Ethernet's demand."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from pcielab.charts.axes import POSITION, SizeAxis, bandwidth_axis
from pcielab.charts.frame import OPERATION_TITLES, PANEL_HEIGHT, Figure, panels, titled, tooltips
from pcielab.charts.residual import RESIDUAL_HEIGHT, Residual, measured_of, with_residuals
from pcielab.charts.run import MODELLED, Run, Source, Sources, runs_of
from pcielab.charts.selection import MissingDataError, matching, widest_sweep
from pcielab.charts.series import Series, label_rows, run_tooltip
from pcielab.kinds.transfers.claims import bandwidth_claims
from pcielab.kinds.transfers.reference import drops, reference_layers, reference_rows
from pcielab.model.link import Accounting

_KEPT = ["size_bytes", "window_bytes", "cache", "bandwidth", "rate"]
OPERATIONS = ("bw-rd", "bw-wr", "bw-rdwr")
_FAMILIES = {"dma": "bw_dma_sz_sweep", "command": "bw_cmd_sizes_*"}
_TITLES = {
    "dma": "Figure 4: DMA bandwidth over transfer size",
    "command": "Bandwidth over transfer size, commands",
}
_LONG_TITLES = {"dma": "DMA bandwidth of long transfers", "command": "Bandwidth of long transfers, commands"}
_PAGE_BYTES = 4096


def bandwidth_by_size(
    sources: Sources,
    *,
    path: str = "dma",
    measured: Source | None = None,
    accounting: Accounting = Accounting.SPEC,
) -> Figure:
    """Payload bandwidth over transfer size for reads, writes, and both in turn (figure 4).

    Grey lines, in closed form: the binding bound on each run's system, the bound of its link alone, and the demand
    of Ethernet at rates that suit the link; a ribbon names the binding bound. BW_RDWR counts one direction, as in
    the published suite, and so do its bounds.
    """
    runs = runs_of(sources, measured)
    drawn = [label_rows(run, _sweep(run, operation, path)) for run in runs for operation in OPERATIONS]
    if all(rows.empty for rows in drawn):
        raise MissingDataError(
            f"bandwidth tests at two or more transfer sizes on the {path} path ({_FAMILIES[path]})"
        )
    return _drawn(runs, drawn, _TITLES[path], accounting)


def bandwidth_of_long_transfers(sources: Sources, *, path: str = "dma", measured: Source | None = None) -> Figure:
    """The same for transfers above a page, if a suite has a separate sweep of them."""
    runs = runs_of(sources, measured)
    drawn = [label_rows(run, _long_sweep(run, operation, path)) for run in runs for operation in OPERATIONS]
    if all(rows.empty for rows in drawn):
        raise MissingDataError(f"bandwidth tests of transfers above 4 KiB on the {path} path in a separate sweep")
    return _drawn(runs, drawn, _LONG_TITLES[path], Accounting.SPEC)


def _drawn(runs: Sequence[Run], drawn: Sequence[pd.DataFrame], title: str, accounting: Accounting) -> Figure:
    sweeps = pd.concat([rows for rows in drawn if not rows.empty])
    axis = SizeAxis.of(sweeps["size_bytes"])
    references = reference_rows(runs, sweeps, accounting)
    shown = [*_KEPT, "operation", "run", "run_name", "role", POSITION]
    data = pd.concat([axis.positioned(sweeps)[shown], references, drops(references)])
    data = data.assign(panel=data["operation"].map(OPERATION_TITLES))
    x, y = axis.encoding, bandwidth_axis()
    behind = reference_layers(x, y, references, height=PANEL_HEIGHT)
    order = [panel for panel in OPERATION_TITLES.values() if panel in set(data["panel"])]
    series = Series(runs)
    upper = panels([*behind, *series.layers(x, y, bandwidth_tooltip())], data, "panel", columns=order)
    residual = Residual("bandwidth", ["operation", "size_bytes"], "%")
    figure = with_residuals(
        upper,
        residual.rows(data, measured_of(runs)),
        lambda rows: panels(residual.layers(series, x), rows, "panel", columns=order, height=RESIDUAL_HEIGHT),
    )
    note = f"grey lines and ribbon: {MODELLED}" if len(references) else ""
    return titled(figure, title, runs, note, claims=[*bandwidth_claims(runs, sweeps, references)])


def _sweep(run: Run, operation: str, path: str) -> pd.DataFrame:
    rows = matching(run.aligned, operation=operation, path=path)
    return widest_sweep(rows, "size_bytes")


def _long_sweep(run: Run, operation: str, path: str) -> pd.DataFrame:
    rows = matching(run.aligned, operation=operation, path=path)
    found = widest_sweep(rows[rows["size_bytes"] > _PAGE_BYTES], "size_bytes")
    of_all = widest_sweep(rows, "size_bytes")
    return found.iloc[:0] if set(found["size_bytes"]) <= set(of_all["size_bytes"]) else found


def bandwidth_tooltip() -> list[alt.Tooltip]:
    """Tooltip of a point in a bandwidth figure."""
    return [run_tooltip(), *tooltips("size_bytes", "bandwidth", "rate", "cache", "window_bytes")]
