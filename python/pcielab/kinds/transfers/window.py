"""Figure 7 of the paper: latency and bandwidth over the window, by cache state."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from pcielab.charts.axes import bandwidth_axis, latency_axis, window_axis
from pcielab.charts.frame import OPERATION_TITLES, Figure, panels, titled
from pcielab.charts.residual import RESIDUAL_HEIGHT, Residual, measured_of, with_residuals
from pcielab.charts.run import Run, Source, Sources, runs_of
from pcielab.charts.selection import (
    CACHE_STATES,
    PAPER_CACHE_STATES,
    MissingDataError,
    matching,
    widest_sweep,
)
from pcielab.charts.series import RUN_FIELD, Dimension, Series, label_rows
from pcielab.kinds.transfers.bandwidth import bandwidth_tooltip
from pcielab.kinds.transfers.claims import cache_claims, window_claims
from pcielab.kinds.transfers.latency import latency_tooltip

_PATHS = {"dma": "DMA", "command": "commands"}
_BANDWIDTH_TITLES = {
    "dma": "Figure 7 (b): DMA bandwidth over the window",
    "command": "Bandwidth over the window, commands",
}
_BANDWIDTH_FAMILIES = {"dma": "bw_dma_win_sweep_*", "command": "bw_cmd_win_*"}
_KEYS = ["operation", "cache", "size_bytes", "window_bytes"]
_COLUMNS = [*_KEYS, "path", "median", "minimum", "p95", "bandwidth", "rate"]


def latency_by_window(
    sources: Sources, *, path: str = "command", size_bytes: int = 8, measured: Source | None = None
) -> Figure:
    """Median latency over the window, by cache state (figure 7a); bars: minimum to 95th percentile.

    One run shows all its cache states, several show cold and host-warm.
    """
    runs = runs_of(sources, measured)
    data = _sweeps(runs, ("lat-rd", "lat-wrrd"), path, [size_bytes])
    if data.empty:
        raise MissingDataError(
            f"latency tests of {size_bytes} B on the {path} path over windows (lat_cmd_sweep_*, lat_dma_sweep_*)"
        )
    runs = _shown(runs, data)
    series, x = Series(runs, _cache_dimension(data)), window_axis(data["window_bytes"])
    bars = series.range_bars(x, "minimum", "p95")
    layers = [*bars, *series.layers(x, latency_axis(), latency_tooltip())]
    columns = list(dict.fromkeys(data["panel"]))
    residual = Residual("median", _KEYS, "ns")
    figure = with_residuals(
        panels(layers, data, "panel", columns=columns),
        residual.rows(data, measured_of(runs)),
        lambda rows: panels(residual.layers(series, x), rows, "panel", columns=columns, height=RESIDUAL_HEIGHT),
    )
    title = f"Figure 7 (a): median latency over the window, {size_bytes} B {_PATHS[path]}"
    note = "bars: minimum to 95th percentile" if bars else ""
    found = [*window_claims(runs, data, "median")]
    return titled(figure, title, runs, note, latencies=True, claims=found)


def bandwidth_by_window(
    sources: Sources, *, path: str = "dma", sizes: Sequence[int] = (64,), measured: Source | None = None
) -> Figure:
    """Bandwidth over the window, by cache state, one column for each of the transfer sizes (figure 7b).

    One run shows all its cache states, several show cold and host-warm.
    """
    runs = runs_of(sources, measured)
    data = _sweeps(runs, ("bw-rd", "bw-wr"), path, sizes)
    if data.empty:
        wanted, family = ", ".join(str(size) for size in sizes), _BANDWIDTH_FAMILIES[path]
        raise MissingDataError(f"bandwidth tests of {wanted} B over windows on the {path} path ({family})")
    runs = _shown(runs, data)
    series, x = Series(runs, _cache_dimension(data)), window_axis(data["window_bytes"])
    layers = series.layers(x, bandwidth_axis(), bandwidth_tooltip())
    title = _BANDWIDTH_TITLES[path]
    residual = Residual("bandwidth", _KEYS, "%")
    apart, residual_layers = residual.rows(data, measured_of(runs)), residual.layers(series, x)
    if len(sizes) == 1:
        columns = list(dict.fromkeys(data["panel"]))
        figure = with_residuals(
            panels(layers, data, "panel", columns=columns),
            apart,
            lambda rows: panels(residual_layers, rows, "panel", columns=columns, height=RESIDUAL_HEIGHT),
        )
        found = [*window_claims(runs, data, "bandwidth"), *cache_claims(runs, data)]
        return titled(figure, f"{title}, {sizes[0]} B", runs, claims=found)

    def by_size(layers: Sequence[alt.Chart], rows: pd.DataFrame, height: int) -> alt.FacetChart:
        return panels(
            layers,
            rows.assign(size=rows["size_bytes"].map("{} B".format)),
            "size",
            columns=[f"{size} B" for size in sorted(set(data["size_bytes"]))],
            row="panel",
            rows=list(dict.fromkeys(data["panel"])),
            height=height,
        )

    figure = with_residuals(
        by_size(layers, data, 200), apart, lambda rows: by_size(residual_layers, rows, RESIDUAL_HEIGHT)
    )
    return titled(figure, f"{title}, larger transfers", runs, claims=[*cache_claims(runs, data)])


def _sweeps(runs: Sequence[Run], operations: Sequence[str], path: str, sizes: Sequence[int]) -> pd.DataFrame:
    lines = [run for run in runs if not run.measured_overlay]
    caches = CACHE_STATES if len(lines) == 1 else PAPER_CACHE_STATES
    parts = []
    for run in runs:
        for operation in operations:
            for size in sizes:
                rows = matching(run.aligned, operation=operation, path=path, size_bytes=size, cache=caches)
                sweep = widest_sweep(rows, "window_bytes", across=("cache",)).reindex(columns=_COLUMNS)
                parts.append(label_rows(run, sweep))
    data = pd.concat(parts)
    return data.assign(panel=data["operation"].map(OPERATION_TITLES))


def _shown(runs: Sequence[Run], data: pd.DataFrame) -> list[Run]:
    """The runs with rows: a device without a command path is not in the legend."""
    present = set(data[RUN_FIELD])
    return [run for run in runs if run.entry in present]


def _cache_dimension(data: pd.DataFrame) -> Dimension:
    return Dimension("cache", "cache", [state for state in CACHE_STATES if state in set(data["cache"])])
