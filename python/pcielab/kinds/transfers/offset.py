"""Cost of alignment: latency and bandwidth over the offset on the host and on the device."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from pcielab.charts.axes import bandwidth_axis, latency_axis
from pcielab.charts.frame import OPERATION_TITLES, Figure, panels, titled, tooltips
from pcielab.charts.residual import RESIDUAL_HEIGHT, Residual, measured_of, with_residuals
from pcielab.charts.run import Run, Source, Sources, runs_of
from pcielab.charts.selection import MissingDataError, matching
from pcielab.charts.series import Dimension, Series, label_rows, run_tooltip
from pcielab.kinds.transfers.claims import offset_claims

_SIDES = {"host_offset_bytes": "offset on the host", "device_offset_bytes": "offset on the device"}
# Sizes drawn for several runs: alignment matters most for small transfers, and more lines would be illegible.
_SIZES_OF_SEVERAL = (64, 256)
_PATHS = {"dma": "DMA path", "command": "command path"}
_COLUMNS = ["operation", "cache", "size_bytes", "window_bytes", "median", "minimum", "p95", "bandwidth", "rate"]


def bandwidth_by_offset(sources: Sources, *, measured: Source | None = None, cache: str = "host-warm") -> Figure:
    """DMA bandwidth over the offset on host or device, by transfer size; of several runs, 64 and 256 B."""
    runs = runs_of(sources, measured)
    data = _offsets(runs, ("bw-rd", "bw-wr"), "dma", cache)
    if data.empty:
        raise MissingDataError("bandwidth tests at several offsets (bw_dma_off_*)")
    return _figure(runs, data, bandwidth_axis(), "DMA bandwidth over the offset of the transfer", "bandwidth")


def latency_by_offset(
    sources: Sources, *, path: str = "dma", measured: Source | None = None, cache: str = "host-warm"
) -> Figure:
    """Median latency over the offset on host or device, by transfer size; of several runs, 64 and 256 B."""
    runs = runs_of(sources, measured)
    data = _offsets(runs, ("lat-rd", "lat-wrrd"), path, cache)
    if data.empty:
        raise MissingDataError("latency tests at several offsets (lat_dma_off_*)")
    return _figure(
        runs, data, latency_axis(), f"Median latency over the offset of the transfer, {_PATHS[path]}", "median"
    )


def _offsets(runs: Sequence[Run], operations: Sequence[str], path: str, cache: str) -> pd.DataFrame:
    several = sum(not run.measured_overlay for run in runs) > 1
    parts = []
    for run in runs:
        rows = matching(run.finished, operation=operations, path=path, cache=cache)
        if several:
            rows = matching(rows, size_bytes=_SIZES_OF_SEVERAL)
        for side, other in zip(_SIDES, reversed(_SIDES), strict=True):
            swept = rows[rows[other] == 0]
            keys = ["family", "operation", "size_bytes", "window_bytes"]
            swept = swept[swept.groupby(keys)[side].transform("nunique") > 1]
            swept = swept.drop_duplicates([*keys, side], keep="last")
            parts.append(label_rows(run, swept.assign(offset_bytes=swept[side], side=_SIDES[side])))
    data = pd.concat(parts)
    return data.assign(panel=data["operation"].map(OPERATION_TITLES))


def _figure(runs: Sequence[Run], data: pd.DataFrame, y: alt.Y, title: str, metric: str) -> Figure:
    sizes = [int(size) for size in sorted(set(data["size_bytes"]))]
    series = Series(runs, Dimension("size_bytes", "transfer size (bytes)", sizes, grows=True))
    x = alt.X("offset_bytes:Q", title="offset (bytes)", axis=alt.Axis(values=list(range(0, 65, 8))))
    kept = [*_COLUMNS, "offset_bytes", "side", "panel", "run", "run_name", "role"]
    data = data.reindex(columns=kept).dropna(axis="columns", how="all")

    def drawn(layers: Sequence[alt.Chart], rows: pd.DataFrame, height: int) -> alt.FacetChart:
        return panels(
            layers,
            rows,
            "side",
            columns=[side for side in _SIDES.values() if side in set(data["side"])],
            row="panel",
            rows=list(dict.fromkeys(data["panel"])),
            height=height,
        )

    residual = Residual(
        metric, ["operation", "size_bytes", "side", "offset_bytes"], "%" if metric == "bandwidth" else "ns"
    )
    figure = with_residuals(
        drawn(series.layers(x, y, _tooltip(metric)), data, 220),
        residual.rows(data, measured_of(runs)),
        lambda rows: drawn(residual.layers(series, x), rows, RESIDUAL_HEIGHT),
    )
    note = f"cache: {data['cache'].iloc[0]}; lines join tested offsets, and do not give values between them"
    return titled(figure, title, runs, note, claims=[*offset_claims(runs, data, metric)])


def _tooltip(metric: str) -> list[alt.Tooltip]:
    unit = "Gb/s" if metric == "bandwidth" else "ns"
    return [
        run_tooltip(),
        *tooltips("operation", "size_bytes", "offset_bytes"),
        alt.Tooltip(f"{metric}:Q", title=f"{metric} ({unit})", format=".2f"),
    ]
