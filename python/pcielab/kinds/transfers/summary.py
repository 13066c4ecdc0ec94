"""The main numbers of the runs: bandwidth at 64 and 512 B beside its bound, and median latencies."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from pcielab.charts.run import MODELLED, Run
from pcielab.charts.selection import matching
from pcielab.kinds.transfers.link_bounds import bounds_of_rows, link_bounds, link_of
from pcielab.wording import byte_size

_BANDWIDTHS = (("bw-rd", "DMA read"), ("bw-wr", "DMA write"), ("bw-rdwr", "DMA read and write, one direction"))
_SIZES = (64, 512)
_LATENCIES = (
    ("lat-rd", "command", 8, "median latency of a read, commands, 8 B"),
    ("lat-rd", "dma", 64, "median latency of a read, DMA, 64 B"),
    ("lat-wrrd", "dma", 64, "median latency of a write and a read, DMA, 64 B"),
)
# Of several rows the one nearest to the paper's baseline counts: a warm 8 KiB window.
_BASELINE_WINDOW_BYTES = 8192


@dataclass(frozen=True)
class Cell:
    """A number of one run, with notes on its bound and setting."""

    value: str
    notes: list[str]


@dataclass(frozen=True)
class SummaryRow:
    """One quantity over the runs, in their order; None where a run lacks it."""

    quantity: str
    cells: list[Cell | None]


def summary(runs: Sequence[Run]) -> list[SummaryRow]:
    """The quantities that at least one run has."""
    rows = [
        SummaryRow(f"{title}, {size} B", [_bandwidth(run, operation, size) for run in runs])
        for size in _SIZES
        for operation, title in _BANDWIDTHS
    ]
    rows += [
        SummaryRow(title, [_latency(run, operation, path, size) for run in runs])
        for operation, path, size, title in _LATENCIES
    ]
    return [row for row in rows if any(cell is not None for cell in row.cells)]


def _bandwidth(run: Run, operation: str, size: int) -> Cell | None:
    row = _baseline(run, operation, "dma", size)
    if row is None:
        return None
    value = float(row["bandwidth"])
    return Cell(f"{value:.2f} Gb/s", [*_bound(run, row, value), _setting(row)])


def _bound(run: Run, row: pd.Series, value: float) -> list[str]:
    """The share of the test's bound on the run's system or, without a profile, on its link alone."""
    [bounds] = bounds_of_rows(run, [row.to_dict()])
    link = link_of(run)
    if bounds is not None:
        gbps = bounds.answer.gbps
        reference = f"bound of {gbps:.1f} ({MODELLED}, {bounds.answer.bound})"
    elif link is not None:
        found = link_bounds(link, [int(row["size_bytes"])])
        alone = found[found["operation"] == row["operation"]].iloc[0]
        gbps, reference = alone["bandwidth"], f"link's {alone['bandwidth']:.1f} ({MODELLED}, {alone['binds']})"
    else:
        return []
    return [f"{100 * value / gbps:.0f} % of the {reference}"]


def _latency(run: Run, operation: str, path: str, size: int) -> Cell | None:
    row = _baseline(run, operation, path, size)
    if row is None:
        return None
    known = {"minimum": row["minimum"], "95 %": row["p95"]}
    spread = ", ".join(f"{name} {float(ns):.0f}" for name, ns in known.items() if not pd.isna(ns))
    return Cell(f"{float(row['median']):.0f} ns", [*([f"{spread} ns"] if spread else []), _setting(row)])


def _baseline(run: Run, operation: str, path: str, size: int) -> pd.Series | None:
    rows = matching(run.aligned, operation=operation, path=path, size_bytes=size)
    rows = rows[rows["window_bytes"].notna()]
    if rows.empty:
        return None
    distance = (rows["window_bytes"] / _BASELINE_WINDOW_BYTES - 1).abs() + (rows["cache"] != "host-warm")
    return rows.iloc[int(distance.to_numpy().argmin())]


def _setting(row: pd.Series) -> str:
    return f"{row['cache']}, window {byte_size(int(row['window_bytes']))}"
