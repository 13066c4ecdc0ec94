"""Table 2 of the paper for any runs: the cost of caches, NUMA and the IOMMU, with recommendations.

Each claim is computed from rows of the runs, which it names. Without an effect it says so; without rows there is
no claim. The recommendations are the paper's (section 7), as far as the numbers support them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import pandas as pd

from pcielab.charts.run import Run, Sources, runs_of
from pcielab.charts.selection import matching
from pcielab.store.setup import Setup, setup_of
from pcielab.wording import byte_size

_KIB = 1 << 10
_INSIDE_BYTES = 256 * _KIB
"""A window that fits into the DDIO ways of any last-level cache."""
_NOTICED_NS = 5.0
_NOTICED_PERCENT = 3.0
_SMALL_BYTES, _LARGE_BYTES = 64, 512
_CHANGE_KEY = ["operation", "cache", "size_bytes", "window_bytes"]


@dataclass(frozen=True)
class Claim:
    """A line of the table.

    Attributes:
        area: DDIO, NUMA or IOMMU.
        compared: The runs.
        observation: The effect that they show.
        numbers: The rows and their values.
        recommendation: The recommendation.
        origin: Origin of the numbers.
    """

    area: str
    compared: str
    observation: str
    numbers: str
    recommendation: str
    origin: str


def claims(sources: Sources) -> list[Claim]:
    """The claims for runs, in the order of the paper's table.

    Args:
        sources: Stores: one shows the effect of caches, two of one machine that of their difference.
    """
    runs = runs_of(sources)
    found = [*_of_pairs(runs, Setup.is_untranslated_of, _iommu)]
    for run in runs:
        found += _ddio(run)
    return [*found, *_of_pairs(runs, Setup.is_local_of, _numa)]


def _of_pairs(
    runs: Sequence[Run],
    differ: Callable[[Setup, Setup], bool],
    compare: Callable[[Run, Run, pd.DataFrame], Iterator[Claim]],
) -> Iterator[Claim]:
    for base, other in permutations(runs, 2):
        if base.store.origin == other.store.origin and differ(setup_of(base.manifest), setup_of(other.manifest)):
            yield from compare(base, other, _changes(base, other))


def _rows(run: Run, **parameters: object) -> pd.DataFrame:
    return matching(run.aligned, **parameters)


def _changes(base: Run, other: Run) -> pd.DataFrame:
    """Bandwidths of rows that both runs have, and their change in percent."""
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


def _ddio(run: Run) -> Iterator[Claim]:
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
            observation = "reads are equally fast from cache and memory"
            remedy = "nothing to gain from the cache here"
        yield Claim("DDIO", run.label, observation, numbers, remedy, run.store.origin)
    yield from _ddio_writes(run)


def _ddio_writes(run: Run) -> Iterator[Claim]:
    """The window from which writes wait for the eviction of dirty lines."""
    rows = _rows(run, operation="lat-wrrd", cache="cold", path="command", size_bytes=8).sort_values("window_bytes")
    if len(rows) < 2:
        return
    least = float(rows["median"].iloc[0])
    slower = rows[rows["median"] > least + _NOTICED_NS]
    if slower.empty:
        return
    last = rows.iloc[-1]
    fits = rows[rows["window_bytes"] < slower["window_bytes"].iloc[0]]["window_bytes"].max()
    yield Claim(
        "DDIO",
        run.label,
        f"writes go to the cache while the window is at most {byte_size(fits)}, and are up to "
        f"{last['median'] - least:.0f} ns slower beyond",
        f"8 B write and read, cold: {least:.0f} ns at {byte_size(rows['window_bytes'].iloc[0])}, "
        f"{last['median']:.0f} ns at {byte_size(last['window_bytes'])}",
        f"keep buffers that the device writes repeatedly below {byte_size(fits)}",
        run.store.origin,
    )


def _numa(base: Run, other: Run, changes: pd.DataFrame) -> Iterator[Claim]:
    compared = f"{base.label} to {other.label}"
    reads = changes[(changes["operation"] == "bw-rd") & (changes["cache"] == "host-warm")]
    inside = reads[reads["window_bytes"] <= _INSIDE_BYTES]
    small, large = (inside[inside["size_bytes"] == size] for size in (_SMALL_BYTES, _LARGE_BYTES))
    for rows, subject, if_slower, otherwise in (
        (
            small,
            "small reads of remote memory",
            "allocate descriptor rings, and buffers of small packets, on the device's socket",
            "small buffers may be on either socket",
        ),
        (
            large,
            f"reads of {_LARGE_BYTES} B from remote memory",
            "allocate packet buffers on the device's socket, too",
            f"allocate packet buffers where packets are processed: {_LARGE_BYTES} B and more hide the distance",
        ),
    ):
        if len(rows):
            worst = rows.iloc[int(rows["change"].to_numpy().argmin())]
            slower = worst["change"] < -_NOTICED_PERCENT
            observation = f"{subject} {'are slower' if slower else 'are not slower'}"
            remedy = if_slower if slower else otherwise
            yield Claim("NUMA", compared, observation, _numbers(worst), remedy, base.store.origin)
    yield from _remote_latency(base, other, compared)


def _remote_latency(base: Run, other: Run, compared: str) -> Iterator[Claim]:
    near, far = (_median(run, "lat-rd", "host-warm", "dma", _SMALL_BYTES, _INSIDE_BYTES) for run in (base, other))
    if near is not None and far is not None:
        yield Claim(
            "NUMA",
            compared,
            f"remote accesses add {far - near:.0f} ns of latency",
            f"64 B reads, warm, 256 KiB window: {near:.0f} ns local, {far:.0f} ns remote",
            "include it when sizing the number of reads in flight",
            base.store.origin,
        )


def _iommu(base: Run, other: Run, changes: pd.DataFrame) -> Iterator[Claim]:
    compared = f"{base.label} to {other.label}"
    for operation, word in (("bw-rd", "reads"), ("bw-wr", "writes")):
        rows = changes[(changes["operation"] == operation) & (changes["cache"] == "host-warm")]
        rows = rows[rows["size_bytes"] == _SMALL_BYTES].sort_values("window_bytes")
        if rows.empty:
            continue
        worst = rows.iloc[int(rows["change"].to_numpy().argmin())]
        fallen = rows[rows["change"] < -_NOTICED_PERCENT]
        observation, remedy = f"{word} are not slower", "pages are large enough"
        if len(fallen):
            first = fallen["window_bytes"].iloc[0]
            fits = rows[rows["window_bytes"] < first]["window_bytes"]
            window = f"above {byte_size(fits.max())}" if len(fits) else f"from {byte_size(first)} on"
            observation = f"{word} fall off with windows {window}"
            remedy = (
                "put buffers into super-pages, and into as few as possible; or keep the window below that; "
                f"transfers of {_LARGE_BYTES} B and more lose least"
            )
        yield Claim("IOMMU", compared, observation, _numbers(worst), remedy, base.store.origin)
    yield from _miss(base, other, compared)


def _miss(base: Run, other: Run, compared: str) -> Iterator[Claim]:
    large = 64 << 20
    off, on = (_median(run, "lat-rd", "cold", "dma", _SMALL_BYTES, large) for run in (base, other))
    if off is not None and on is not None and on - off > _NOTICED_NS:
        yield Claim(
            "IOMMU",
            compared,
            f"a miss in the IO-TLB takes {on - off:.0f} ns",
            f"64 B reads, cold, 64 MiB window: {off:.0f} ns without, {on:.0f} ns with the IOMMU",
            "have that much more in flight",
            base.store.origin,
        )


def _numbers(row: pd.Series) -> str:
    operation = {"bw-rd": "reads", "bw-wr": "writes"}[str(row["operation"])]
    return (
        f"{row['size_bytes']} B {operation}, {row['cache']}, {byte_size(int(row['window_bytes']))} window: "
        f"{row['bandwidth_base']:.1f} to {row['bandwidth_other']:.1f} Gb/s ({round(row['change']) or 0:+d} %)"
    )
