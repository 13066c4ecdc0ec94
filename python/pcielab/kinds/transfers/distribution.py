"""Figure 6 of the paper: the distribution of latencies, as a CDF, a histogram, and a tail."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import altair as alt
import numpy as np
import pandas as pd

from pcielab.charts.axes import distribution_axis
from pcielab.charts.frame import OPERATION_TITLES, PANEL_HEIGHT, Figure, panels, titled
from pcielab.charts.residual import RESIDUAL_HEIGHT, Residual, measured_of, with_residuals
from pcielab.charts.run import Run, Source, Sources, runs_of
from pcielab.charts.selection import CACHE_STATES, MissingDataError, matching
from pcielab.charts.series import Dimension, Interpolate, Series, label_rows
from pcielab.kinds.transfers.claims import distribution_claims
from pcielab.percentiles import percentile_of_counts
from pcielab.wording import byte_size

# Most points of a curve: more than a screen can show, and few enough for a page with many curves.
_MOST_POINTS = 400
# The linear figure ends here: the tail beyond would squeeze the rest into a corner.
_CDF_SHOWN_TO = 0.999
_SHARES_OF_A_POWER = 8
_Numbers: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"
_POWERS_AXIS = alt.Axis(format=".0e", values=[10.0**-power for power in range(10)])


@dataclass(frozen=True)
class _Curve:
    """The drawing of a distribution."""

    title: str
    note: str
    field: str
    steps: Interpolate
    axis: alt.Y
    share_axis: alt.X | None
    """Axis of shares at which runs are compared; None for a histogram."""


def latency_cdf(
    sources: Sources, *, path: str = "dma", size_bytes: int = 64, measured: Source | None = None
) -> Figure:
    """The cumulative distribution of latencies up to the 99.9th percentile (figure 6)."""
    axis: dict[str, Any] = {
        "title": "share of transactions",
        "axis": alt.Axis(format=".0%"),
        "scale": alt.Scale(domain=[0, 1]),
    }
    curve = _Curve(
        title=f"Figure 6: latency distribution, {size_bytes} B {PATH_TITLES[path]}",
        note="cumulative, to the 99.9th percentile",
        field="cdf",
        steps="step-after",
        axis=alt.Y("cdf:Q", **axis),
        share_axis=alt.X("cdf:Q", **axis),
    )
    return _distribution(curve, sources, path, size_bytes, measured)


def latency_histogram(
    sources: Sources, *, path: str = "dma", size_bytes: int = 64, measured: Source | None = None
) -> Figure:
    """The share of transactions at each tick of the device's timer, logarithmic."""
    curve = _Curve(
        title=f"Latency histogram, {size_bytes} B {PATH_TITLES[path]}",
        note="share of transactions at each tick, logarithmic",
        field="share",
        steps="step",
        axis=alt.Y("share:Q", title="share of transactions", scale=alt.Scale(type="log"), axis=_POWERS_AXIS),
        share_axis=None,
    )
    return _distribution(curve, sources, path, size_bytes, measured)


def latency_tail(
    sources: Sources, *, path: str = "dma", size_bytes: int = 64, measured: Source | None = None
) -> Figure:
    """The share of transactions that take each latency or longer, logarithmic."""
    curve = _Curve(
        title=f"Figure 6 (tail): the slowest transactions, {size_bytes} B {PATH_TITLES[path]}",
        note="share of transactions that take a latency or longer, logarithmic",
        field="tail",
        steps="step-before",
        axis=alt.Y("tail:Q", title="share this slow", scale=alt.Scale(type="log"), axis=_POWERS_AXIS),
        share_axis=alt.X(
            "tail:Q", title="share this slow", scale=alt.Scale(type="log", reverse=True), axis=_POWERS_AXIS
        ),
    )
    return _distribution(curve, sources, path, size_bytes, measured)


PATH_TITLES = {"dma": "DMA", "command": "commands"}


def _distribution(curve: _Curve, sources: Sources, path: str, size_bytes: int, measured: Source | None) -> Figure:
    runs = runs_of(sources, measured)
    drawn = [points for run in runs for points in _curves(run, path, size_bytes, curve)]
    if not drawn:
        raise MissingDataError(
            f"latency distributions of {size_bytes} B on the {path} path (lat_dma_details, lat_cmd_details)"
        )
    data = pd.concat(drawn, ignore_index=True)
    found = [*distribution_claims(data)]
    data = data.drop(columns=[*_STATISTICS, "samples"])
    caches = [state for state in CACHE_STATES if state in set(data["cache"])]
    # Hundreds of points would hide the curves: a measured run is a line here too.
    series = Series(runs, Dimension("cache", "cache", caches), overlay_as_lines=True)
    layers = series.layers(
        distribution_axis(data["latency_ns"]), curve.axis, [], points_on_lines=False, interpolate=curve.steps
    )
    windows = [f"window {byte_size(int(window))}" for window in sorted(set(data["window_bytes"]))]
    tests = [OPERATION_TITLES[operation] for operation in sorted(set(data["operation"]))]
    height = PANEL_HEIGHT if len(tests) == 1 else 200

    def in_panels(layers: Sequence[alt.Chart], rows: pd.DataFrame, height: int) -> alt.FacetChart:
        return panels(layers, rows, "window", columns=windows, row="test", rows=tests, height=height)

    upper = in_panels(layers, data, height)
    share_axis = curve.share_axis
    if share_axis is None:
        return titled(upper, curve.title, runs, curve.note, overlay_as_points=False, latencies=True)
    residual = Residual("latency_ns", ["operation", "cache", "window_bytes", curve.field], "ns")
    figure = with_residuals(
        upper,
        residual.rows(_at_shares(data, curve.field), measured_of(runs)),
        lambda rows: in_panels(residual.layers(series, share_axis, points_on_lines=False), rows, RESIDUAL_HEIGHT),
    )
    return titled(figure, curve.title, runs, curve.note, overlay_as_points=False, latencies=True, claims=found)


def _at_shares(data: pd.DataFrame, field: str) -> pd.DataFrame:
    """The curves at common shares, for residuals."""
    parts = []
    for _, rows in data.groupby(["run", "operation", "cache", "window_bytes"], sort=False):
        shares = _shares(rows[field], field)
        alike = rows.drop(columns=[field, "latency_ns"]).head(1)
        parts.append(
            alike.loc[alike.index.repeat(len(shares))].assign(
                **{field: shares, "latency_ns": _latencies(rows, field, shares)}
            )
        )
    return pd.concat(parts, ignore_index=True)


def _shares(reached: pd.Series, field: str) -> _Numbers:
    """99 shares of the transactions or, in the tail, eight in each power of ten that the curve reaches."""
    if field == "cdf":
        return np.arange(1, 100) / 100
    lowest = int(np.floor(np.log10(reached.min()))) + 1
    return 10.0 ** (np.arange(0, _SHARES_OF_A_POWER * lowest - 1, -1) / _SHARES_OF_A_POWER)


def _latencies(rows: pd.DataFrame, field: str, shares: _Numbers) -> _Numbers:
    """The latency at each share of a curve."""
    ordered = rows.sort_values(field)
    points = np.searchsorted(ordered[field].to_numpy(), shares, side="left").clip(max=len(ordered) - 1)
    latencies: _Numbers = ordered["latency_ns"].to_numpy(dtype=np.float64)[points]
    return latencies


def _curves(run: Run, path: str, size_bytes: int, curve: _Curve) -> list[pd.DataFrame]:
    tests = matching(run.aligned, path=path, size_bytes=size_bytes, operation=("lat-rd", "lat-wrrd"))
    # Every latency test has a histogram, but only `details` families have enough samples for a tail. A run without
    # them, like that of a single test, shows all its latency tests.
    if run.finished["details"].eq(True).any():
        tests = matching(tests, details=True)
    else:
        tests = tests.drop_duplicates(["operation", "cache"])
    curves = []
    for test in tests.to_dict("records"):
        distribution = run.store.distribution(int(test["id"]))
        if distribution.empty:
            continue
        points = _thinned(distribution, curve.field)
        curves.append(label_rows(run, points.assign(**panel_of(test), **_statistics(distribution))))
    return curves


def panel_of(test: Mapping[Any, Any]) -> dict[str, Any]:
    """The columns that select the panel and the curve of a latency test."""
    return {
        "operation": test["operation"],
        "test": OPERATION_TITLES[test["operation"]],
        "cache": test["cache"],
        "window_bytes": test["window_bytes"],
        "window": f"window {byte_size(int(test['window_bytes']))}",
    }


_STATISTICS = {"median_ns": 0.5, "p99_ns": 0.99, "p999_ns": 0.999, "slowest_ns": 1.0}
"""Statistics of a distribution, as shares of transactions that take no longer."""


def _statistics(distribution: pd.DataFrame) -> dict[str, float]:
    latencies, counts = distribution["latency_ns"], distribution["count"]
    values = {name: percentile_of_counts(latencies, counts, share) for name, share in _STATISTICS.items()}
    return values | {"samples": float(counts.sum())}


def _thinned(distribution: pd.DataFrame, field: str) -> pd.DataFrame:
    """The curve's points, thinned without a visible difference."""
    points = distribution[["latency_ns", "cdf"]].sort_values("latency_ns")
    if field == "cdf":
        points = points[points["cdf"].shift(fill_value=0.0) <= _CDF_SHOWN_TO]
        start = pd.DataFrame({"latency_ns": [points["latency_ns"].iloc[0]], "cdf": [0.0]})
        points = pd.concat([start, points])
    elif field == "share":
        return points.assign(share=distribution["count"] / distribution["count"].sum())[["latency_ns", field]]
    else:
        counts = distribution["count"]
        points = points.assign(tail=counts[::-1].cumsum()[::-1] / counts.sum())
    if len(points) <= _MOST_POINTS:
        return points[["latency_ns", field]]
    kept = np.unique(np.linspace(0, len(points) - 1, _MOST_POINTS).round().astype(int))
    return points.iloc[kept][["latency_ns", field]]
