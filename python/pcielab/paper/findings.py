"""Table 2 of the paper for any runs: what caches, NUMA and the IOMMU cost, and what to do about it.

Each line is computed from rows of the runs, which it names; where they show no effect, it says that, and where
they lack the rows, there is no line. The recommendations are those of the paper's section 7, as far as the numbers
bear them out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import pandas as pd

from pcielab.report.run import Run, Sources, runs_of
from pcielab.report.selection import aligned, matching
from pcielab.store.setup import Setup, setup_of
from pcielab.wording import byte_size

_KIB = 1 << 10
_INSIDE_BYTES = 256 * _KIB
"""A window that any last-level cache holds, and its DDIO ways too."""
_NOTICED_NS = 5.0
_NOTICED_PERCENT = 3.0
_SMALL_BYTES, _LARGE_BYTES = 64, 512
_CHANGE_KEY = ["operation", "cache", "size_bytes", "window_bytes"]


@dataclass(frozen=True)
class Finding:
    """A line of the table.

    Attributes:
        area: DDIO, NUMA or IOMMU.
        compared: The runs that it is about.
        observation: What they show.
        numbers: From which rows, and their values.
        recommendation: What to do.
        origin: Where the numbers come from.
    """

    area: str
    compared: str
    observation: str
    numbers: str
    recommendation: str
    origin: str


def findings(sources: Sources) -> list[Finding]:
    """The findings that the runs show, in the order of the paper's table.

    Args:
        sources: Stores: one shows what caches do, two of one machine what differs between them.
    """
    runs = runs_of(sources)
    found = [*_of_pairs(runs, Setup.is_untranslated_of, _iommu)]
    for run in runs:
        found += _ddio(run)
    return [*found, *_of_pairs(runs, Setup.is_local_of, _numa)]


def _of_pairs(
    runs: Sequence[Run],
    differ: Callable[[Setup, Setup], bool],
    tell: Callable[[Run, Run, pd.DataFrame], Iterator[Finding]],
) -> Iterator[Finding]:
    for base, other in permutations(runs, 2):
        if base.store.origin == other.store.origin and differ(setup_of(base.manifest), setup_of(other.manifest)):
            yield from tell(base, other, _changes(base, other))


def _rows(run: Run, **parameters: object) -> pd.DataFrame:
    return matching(aligned(run.finished), **parameters)


def _changes(base: Run, other: Run) -> pd.DataFrame:
    """Bandwidths of rows that both have, and by how many percent they change."""
    parts = [
        _rows(run, operation=("bw-rd", "bw-wr"), path="dma")[[*_CHANGE_KEY, "bandwidth"]].drop_duplicates(
            _CHANGE_KEY, keep="last"
        )
        for run in (base, other)
    ]
    joined = parts[0].merge(parts[1], on=_CHANGE_KEY, suffixes=("_base", "_other"))
    return joined.assign(change=100 * (joined["bandwidth_other"] / joined["bandwidth_base"] - 1))


def _median(run: Run, operation: str, cache: str, path: str, size: int, window: int) -> float | None:
    rows = _rows(run, operation=operation, cache=cache, path=path, size_bytes=size, window_bytes=window)
    return float(rows["median"].iloc[-1]) if len(rows) else None


def _ddio(run: Run) -> Iterator[Finding]:
    for path, size in (("command", 8), ("dma", _SMALL_BYTES)):
        cold, warm = (_median(run, "lat-rd", cache, path, size, _INSIDE_BYTES) for cache in ("cold", "host-warm"))
        if cold is None or warm is None:
            continue
        saved = cold - warm
        numbers = f"{size} B reads, {path} path, 256 KiB window: {cold:.0f} ns cold, {warm:.0f} ns warm"
        if saved > _NOTICED_NS:
            observation = f"reads of data in the cache are {saved:.0f} ns faster"
            remedy = "keep descriptor rings and headers in the cache: rings as small as latency allows"
        else:
            observation = "where data are makes no difference to reads"
            remedy = "nothing to gain from the cache here"
        yield Finding("DDIO", run.label, observation, numbers, remedy, run.store.origin)
    yield from _ddio_writes(run)


def _ddio_writes(run: Run) -> Iterator[Finding]:
    """From which window on dirty lines have to leave before a write."""
    rows = _rows(run, operation="lat-wrrd", cache="cold", path="command", size_bytes=8).sort_values("window_bytes")
    if len(rows) < 2:
        return
    least = float(rows["median"].iloc[0])
    slower = rows[rows["median"] > least + _NOTICED_NS]
    if slower.empty:
        return
    last = rows.iloc[-1]
    fits = rows[rows["window_bytes"] < slower["window_bytes"].iloc[0]]["window_bytes"].max()
    yield Finding(
        "DDIO",
        run.label,
        f"writes go to the cache while the window is at most {byte_size(fits)}, and are up to "
        f"{last['median'] - least:.0f} ns slower beyond",
        f"8 B write and read, cold: {least:.0f} ns at {byte_size(rows['window_bytes'].iloc[0])}, "
        f"{last['median']:.0f} ns at {byte_size(last['window_bytes'])}",
        f"keep what the device writes again and again below {byte_size(fits)}",
        run.store.origin,
    )


def _numa(base: Run, other: Run, changes: pd.DataFrame) -> Iterator[Finding]:
    compared = f"{base.label} to {other.label}"
    reads = changes[(changes["operation"] == "bw-rd") & (changes["cache"] == "host-warm")]
    inside = reads[reads["window_bytes"] <= _INSIDE_BYTES]
    small, large = (inside[inside["size_bytes"] == size] for size in (_SMALL_BYTES, _LARGE_BYTES))
    if len(small):
        worst = small.iloc[int(small["change"].to_numpy().argmin())]
        costs = worst["change"] < -_NOTICED_PERCENT
        yield Finding(
            "NUMA",
            compared,
            f"small reads of remote memory {'are slower' if costs else 'are not slower'}",
            _told(worst),
            "place descriptor rings, and buffers of small packets, on the card's socket"
            if costs
            else "small buffers may be on either socket",
            base.store.origin,
        )
    if len(large):
        worst = large.iloc[int(large["change"].to_numpy().argmin())]
        costs = worst["change"] < -_NOTICED_PERCENT
        yield Finding(
            "NUMA",
            compared,
            f"reads of {_LARGE_BYTES} B from remote memory {'are slower' if costs else 'are not slower'}",
            _told(worst),
            "place packet buffers on the card's socket, too"
            if costs
            else f"place packet buffers where packets are processed: {_LARGE_BYTES} B and more hide it",
            base.store.origin,
        )
    yield from _remote_latency(base, other, compared)


def _remote_latency(base: Run, other: Run, compared: str) -> Iterator[Finding]:
    near, far = (_median(run, "lat-rd", "host-warm", "dma", _SMALL_BYTES, _INSIDE_BYTES) for run in (base, other))
    if near is not None and far is not None:
        yield Finding(
            "NUMA",
            compared,
            f"remote accesses add {far - near:.0f} ns of latency",
            f"64 B reads, warm, 256 KiB window: {near:.0f} ns local, {far:.0f} ns remote",
            "count on it when sizing what is in flight",
            base.store.origin,
        )


def _iommu(base: Run, other: Run, changes: pd.DataFrame) -> Iterator[Finding]:
    compared = f"{base.label} to {other.label}"
    for operation, word in (("bw-rd", "reads"), ("bw-wr", "writes")):
        rows = changes[(changes["operation"] == operation) & (changes["cache"] == "host-warm")]
        rows = rows[rows["size_bytes"] == _SMALL_BYTES].sort_values("window_bytes")
        if rows.empty:
            continue
        worst = rows.iloc[int(rows["change"].to_numpy().argmin())]
        fallen = rows[rows["change"] < -_NOTICED_PERCENT]
        if fallen.empty:
            yield Finding(
                "IOMMU",
                compared,
                f"{word} are not slower",
                _told(worst),
                "pages are large enough",
                base.store.origin,
            )
            continue
        first = fallen["window_bytes"].iloc[0]
        fits = rows[rows["window_bytes"] < first]["window_bytes"]
        window = f"above {byte_size(fits.max())}" if len(fits) else f"from {byte_size(first)} on"
        yield Finding(
            "IOMMU",
            compared,
            f"{word} fall off with windows {window}",
            _told(worst),
            "put buffers into super-pages, and into as few as possible; or keep the window below that; "
            f"transfers of {_LARGE_BYTES} B and more lose least",
            base.store.origin,
        )
    yield from _miss(base, other, compared)


def _miss(base: Run, other: Run, compared: str) -> Iterator[Finding]:
    large = 64 << 20
    off, on = (_median(run, "lat-rd", "cold", "dma", _SMALL_BYTES, large) for run in (base, other))
    if off is not None and on is not None and on - off > _NOTICED_NS:
        yield Finding(
            "IOMMU",
            compared,
            f"a miss in the IO-TLB takes {on - off:.0f} ns",
            f"64 B reads, cold, 64 MiB window: {off:.0f} ns without, {on:.0f} ns with the IOMMU",
            "have that much more in flight",
            base.store.origin,
        )


def _told(row: pd.Series) -> str:
    operation = {"bw-rd": "reads", "bw-wr": "writes"}[str(row["operation"])]
    return (
        f"{row['size_bytes']} B {operation}, {row['cache']}, {byte_size(int(row['window_bytes']))} window: "
        f"{row['bandwidth_base']:.1f} to {row['bandwidth_other']:.1f} Gb/s ({round(row['change']) or 0:+d} %)"
    )
