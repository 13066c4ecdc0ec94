"""How many DMAs a device must keep in flight where their latencies vary.

DMAs start at regular times. The number in flight when one starts is the number of earlier ones that still run: a
sum of independent draws, whose distribution is exact here. Its percentile is the size at which the given share of
DMAs starts at once; a constant latency gives the paper's numbers. A queue with as many slots is then simulated
with the same latencies: a DMA that waits for a slot holds up those behind it, which the sum alone leaves out.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import RunError, refusal
from pcielab.library.nics import NicProfile
from pcielab.library.profiles import ResolvedSystem, load_system
from pcielab.library.suites import single_test
from pcielab.model.link import Ethernet
from pcielab.model.questions import sizing
from pcielab.store import open_store
from pcielab.sweeps.point import Point

Numbers = npt.NDArray[np.float64]
_SEED = 1
_DRAWS = 200_000
"""DMAs of a simulated queue, where the waiting ones are counted in hundreds at 99.9 %."""
_MOST_EXACT = 20_000
"""Earlier DMAs that are followed one by one; a latency beyond that many intervals counts as one of them."""
_BATCHES = 20
_SURE = 3.0
"""Standard errors by which the waiting share has to stay below what is allowed."""


@dataclass(frozen=True)
class Latencies:
    """A distribution of the latency of one DMA.

    Attributes:
        ns: Its values, ascending.
        shares: The share of each.
        origin: Where it comes from: `simulated`, `measured`, ...
    """

    ns: Numbers
    shares: Numbers
    origin: str

    @property
    def mean_ns(self) -> float:
        """The mean."""
        return float(self.ns @ self.shares)

    def percentile_ns(self, percentile: float) -> float:
        """The nearest rank of a percentile."""
        return float(self.ns[np.searchsorted(np.cumsum(self.shares), percentile / 100 - 1e-12)])

    def longer_than(self, ns: Numbers) -> Numbers:
        """The share of latencies beyond each time."""
        left = np.concatenate([[1.0], np.maximum(1 - np.cumsum(self.shares), 0.0)])
        left[-1] = 0.0
        found: Numbers = left[np.searchsorted(self.ns, ns, side="right")]
        return found


@dataclass(frozen=True)
class InFlight:
    """The size of a device for one frame or transfer.

    Attributes:
        size_bytes: Bytes of the frame or transfer.
        path: `tx` and `rx` of a NIC, descriptors included; `packets` where they alone count.
        interval_ns: From one DMA to the next.
        mean_ns: Mean latency.
        percentile_ns: Percentile of the latency.
        dmas_in_flight: DMAs that the device must keep in flight: the given share of them then starts at once.
        mean_in_flight: DMAs in flight on average, which is too few.
        constant_in_flight: DMAs in flight if every latency were the percentile, which is too many.
        buffer_bytes: Room for their data.
        ring_descriptors: The least power of two that holds as many descriptors.
        waiting_percent: DMAs that wait in a simulated queue of this size, percent.
        cycles_per_dma: Clock cycles from one DMA to the next, where the clock is known.
        origin: Origin of the latencies.
    """

    size_bytes: int
    path: str
    interval_ns: float
    mean_ns: float
    percentile_ns: float
    dmas_in_flight: int
    mean_in_flight: float
    constant_in_flight: int
    buffer_bytes: int
    ring_descriptors: int
    waiting_percent: float
    cycles_per_dma: float | None
    origin: str


@refuses_wrong_types
def in_flight(
    source: ResolvedSystem | Path | str,
    sizes_bytes: Sequence[int],
    *,
    percentile: float = 99.9,
    ethernet: Ethernet | None = None,
    device: NicProfile | None = None,
    clock_ghz: float | None = None,
    cache: str = "cold",
    window: str | int = 8192,
) -> list[InFlight]:
    """DMAs in flight that fill an Ethernet line, from stored or simulated latencies of reads.

    Args:
        source: A store whose latency tests have distributions, or a system, which is simulated.
        sizes_bytes: Frames, FCS included.
        percentile: The share of DMAs that start at once, percent.
        ethernet: The line; absent: 40 Gb/s.
        device: A NIC, whose descriptors count, too: a row for each direction.
        clock_ghz: The device's clock.
        cache: State of the caches of simulated reads.
        window: Window of simulated reads.

    Raises:
        InputError: The percentile is out of range, or the store has no distribution of a size.
        RunError: The system's device cannot read that many bytes.
    """
    if not 0 < percentile < 100:
        raise refusal("out-of-range", f"--percentile {percentile:g}: give a number above 0 and below 100")
    asked = sizing(sizes_bytes, [1.0], ethernet=ethernet, device=device, clock_ghz=clock_ghz)
    from_store = isinstance(source, Path) or (isinstance(source, str) and source.endswith(".db"))
    rows = []
    for answer in asked:
        size, interval = answer.frame_bytes, answer.packet_interval_ns
        latencies = stored(source, size) if from_store else simulated(source, size, cache, window)
        paths = {"tx": answer.tx, "rx": answer.rx} if device else {"packets": answer.tx}
        for name, path in paths.items():
            if path.dmas_per_packet > 0:
                rows.append(sized(latencies, size, name, interval / path.dmas_per_packet, percentile, clock_ghz))
    return rows


def sized(
    latencies: Latencies,
    size_bytes: int,
    path: str,
    interval_ns: float,
    percentile: float,
    clock_ghz: float | None = None,
) -> InFlight:
    """The size for DMAs that start every `interval_ns`."""
    allowed = 1 - percentile / 100
    slots = percentile_in_flight(latencies, interval_ns, percentile)
    draws = _drawn(latencies)
    while _surely_waiting(waits := _waiting(draws, interval_ns, slots)) > allowed:
        slots += max(1, slots // 100)
    return InFlight(
        size_bytes,
        path,
        interval_ns,
        latencies.mean_ns,
        latencies.percentile_ns(percentile),
        slots,
        latencies.mean_ns / interval_ns,
        int(np.ceil(latencies.percentile_ns(percentile) / interval_ns - 1e-9)),
        slots * size_bytes,
        1 << max(0, (slots - 1).bit_length()),
        100 * float(waits.mean()),
        None if clock_ghz is None else interval_ns * clock_ghz,
        latencies.origin,
    )


def percentile_in_flight(latencies: Latencies, interval_ns: float, percentile: float) -> int:
    """The percentile of the number of DMAs in flight, the one that starts included."""
    count = min(_MOST_EXACT, int(latencies.ns[-1] / interval_ns) + 1)
    running = latencies.longer_than(np.arange(1, count + 1, dtype=np.float64) * np.float64(interval_ns))
    running = running[running > 0]
    certain = int((running >= 1).sum())
    mass = np.array([1.0])
    for share in running[certain:]:
        mass = np.convolve(mass, [1 - share, share])
        kept = np.flatnonzero(mass > 1e-18)
        mass = mass[: kept[-1] + 1]
    rank = int(np.searchsorted(np.cumsum(mass), percentile / 100 - 1e-12))
    return 1 + certain + rank


def waiting_share(draws: Numbers, interval_ns: float, slots: int) -> float:
    """The share of DMAs that wait for a slot, with these latencies in turn."""
    return float(_waiting(draws, interval_ns, slots).mean())


def _waiting(draws: Numbers, interval_ns: float, slots: int) -> npt.NDArray[np.bool_]:
    """Of each DMA whether it waits."""
    ends: list[float] = []
    waits, arrival = np.zeros(len(draws), dtype=np.bool_), 0.0
    for number, latency in enumerate(draws.tolist()):
        start = arrival
        if len(ends) == slots:
            free = heapq.heappop(ends)
            if free > arrival:
                start, waits[number] = free, True
        heapq.heappush(ends, start + latency)
        arrival += interval_ns
    return waits


def _surely_waiting(waits: npt.NDArray[np.bool_]) -> float:
    """The share that waits and `_SURE` standard errors, from the means of batches: waiting comes in bursts."""
    batches = waits.reshape(_BATCHES, -1).mean(axis=1)
    return float(batches.mean() + _SURE * batches.std(ddof=1) / np.sqrt(_BATCHES))


def _drawn(latencies: Latencies) -> Numbers:
    drawn = np.random.default_rng(_SEED).random(_DRAWS)
    found: Numbers = latencies.ns[
        np.minimum(np.searchsorted(np.cumsum(latencies.shares), drawn), len(latencies.ns) - 1)
    ]
    return found


def simulated(source: ResolvedSystem | Path | str, size_bytes: int, cache: str, window: str | int) -> Latencies:
    """Latencies of reads that a system's device takes alone, one after the other."""
    system = source if isinstance(source, ResolvedSystem) else load_system(str(source))
    asked = {"size": size_bytes, "cache": cache, "window": window, "details": True}
    record = Point(system.to_json(), single_test("lat-rd", **asked).to_json(), "full").record()
    [found] = [one for one in record["distributions"] if one["metric"] == "latency"] or [None]
    if found is None:
        raise RunError(f"{system.system.name}: no latencies of {size_bytes} B: {record['message']}")
    return _latencies(found["tick"], dict(found["bins"]), "simulated")


def stored(source: ResolvedSystem | Path | str, size_bytes: int) -> Latencies:
    """Latencies of the reads of a store: of this size, the longest ones if several tests have it."""
    store = open_store(str(source))
    tests = store.frame
    known = tests[(tests.get("operation") == "lat-rd") & (tests["status"] == "ok")]
    of_size = known[known["size_bytes"] == size_bytes].sort_values("median_ns", ascending=False)
    for test in of_size["id"]:
        rows = store.distribution(int(test))
        if len(rows):
            shares = (rows["count"] / rows["count"].sum()).to_numpy(dtype=np.float64)
            return Latencies(rows["latency_ns"].to_numpy(dtype=np.float64), shares, store.origin)
    sizes = sorted({int(size) for size in known["size_bytes"]})
    raise refusal(
        "missing",
        f"{source}: no latencies of reads of {size_bytes} B: give --sizes of its lat-rd tests: "
        f"{', '.join(map(str, sizes)) or 'it has none, run --test lat-rd --details'}",
    )


def _latencies(tick: str, bins: Mapping[int, int], origin: str) -> Latencies:
    numerator, _, denominator = tick.partition("/")
    tick_ns = int(numerator) / int(denominator or 1)
    ticks = sorted(bins)
    counts = np.array([bins[one] for one in ticks], dtype=np.float64)
    return Latencies(np.array(ticks, dtype=np.float64) * tick_ns, counts / counts.sum(), origin)
