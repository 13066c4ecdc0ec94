"""What rows of other tools pin down of a machine: payload ratios, cost of a call, bytes in flight, both-ways edge.

A benchmark like nvbandwidth, perftest or fio moves data over one link. Its rows do not determine a host; these
few numbers they do, each with a 95 % interval, or not at all.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from scipy.special import stdtrit

from pcielab._core import generation_of
from pcielab.kinds.tools.rows import MeasuredRow
from pcielab.library.link import Link
from pcielab.library.usual_link import USUAL_MPS_BYTES, usual_mrrs_bytes
from pcielab.model.questions import bandwidth
from pcielab.store import Store
from pcielab.store.facts import Facts

_LARGE_BYTES = 1 << 20
_LEAST_SIZES = 4
"""Sizes from which a cost and a rate are fitted: two numbers, and scatter."""
_WIDEST = 0.5
"""Half-width of an interval, as a share of its value, from which a number counts as not identified."""
_CONFIDENCE = 0.975
_SENT = {
    **dict.fromkeys(("write", "send", "h2d"), "to-device"),
    **dict.fromkeys(("read", "d2h", "p2p"), "to-host"),
}
"""Way over the device's link by the tools' words: who writes to a drive or to another machine reads the host."""
_ROUNDED = 1.005


@dataclass(frozen=True)
class Pin:
    """One number of a machine.

    Attributes:
        key: What it is, like `h2d.payload_ratio`.
        value: The number; None if the rows do not identify it.
        low: Lower end of its 95 % interval; None where one row alone gives the value.
        high: Upper end.
        unit: `1` for a ratio, `ns`, `GB/s` or `B`.
        told_by: Numbers of the tests that determine it.
        reason: Why it is not identified, or how it was computed.
    """

    key: str
    value: float | None
    low: float | None
    high: float | None
    unit: str
    told_by: tuple[int, ...]
    reason: str

    @property
    def identified(self) -> bool:
        """Whether the rows determine it."""
        return self.value is not None


def link_of(store: Store) -> Link | None:
    """The link of an import, with the usual MPS and MRRS if unknown; None without generation or lanes."""
    device = Facts.model_validate(store.manifest).device
    known = device.link if device else None
    generation = generation_of(known.rate_gtps) if known and known.rate_gtps else None
    if known is None or generation is None or known.lanes is None:
        return None
    mps = known.mps_bytes or USUAL_MPS_BYTES
    mrrs = known.mrrs_bytes or usual_mrrs_bytes(mps)
    return Link(generation=generation, lanes=known.lanes, mps_bytes=mps, mrrs_bytes=mrrs)


def pins(rows: Sequence[MeasuredRow], link: Link | None) -> list[Pin]:
    """The numbers that rows of one tool determine.

    Args:
        rows: Of one store: `pcielab.kinds.tools.rows.measured_rows`.
        link: The device's link; None if it is unknown, which leaves payload ratios unidentified.
    """
    # Memory of the host is no device, and pageable memory or a copy through it is another path.
    rows = [row for row in rows if row.tool != "mlc" and row.counted != "total" and row.state is None]
    alone = [row for row in rows if _is_rate(row) and row.beside is None and row.counted == "one"]
    return [
        *_payload_ratios(alone, link),
        *_costs(alone),
        *_both_ways(rows, alone),
        *_round_trips(rows),
        *_in_flight(rows),
    ]


def _is_rate(row: MeasuredRow) -> bool:
    return row.quantity == "bandwidth" and row.statistic == "average" and row.pair != "sum" and row.value > 0


def _way(row: MeasuredRow) -> str:
    """Direction and engine, the key of rows that measure the same."""
    return ".".join(word for word in (row.direction, row.engine) if word) or row.name


def _groups(rows: Sequence[MeasuredRow]) -> Mapping[str, list[MeasuredRow]]:
    groups: dict[str, list[MeasuredRow]] = defaultdict(list)
    for row in rows:
        groups[_way(row)].append(row)
    return groups


def _payload_ratios(rows: Sequence[MeasuredRow], link: Link | None) -> Iterator[Pin]:
    for way, members in _groups(rows).items():
        direction = _SENT.get(members[0].direction or "")
        if direction is None:
            continue
        key = f"{way}.payload_ratio"
        if link is None:
            yield _unknown(key, "1", members, "the link is not known: import with --link")
            continue
        largest = max(row.size_bytes or 0 for row in members)
        most = [row for row in members if (row.size_bytes or 0) == largest]
        [answer] = bandwidth(link, [_LARGE_BYTES])
        bound = answer.write.gbps if direction == "to-host" else answer.read.gbps
        shares = [row.value / bound for row in most]
        if mean(shares) > _ROUNDED:
            yield _unknown(
                key, "1", most, f"above the {bound:.1f} Gb/s of the link: another path, or another link"
            )
            continue
        yield _mean(key, "1", shares, most, f"of {bound:.1f} Gb/s on the wire")


def _costs(rows: Sequence[MeasuredRow]) -> Iterator[Pin]:
    """Time of a transfer over its size: a cost of each, and the rate beyond it."""
    for way, members in _groups(rows).items():
        sized = [row for row in members if row.size_bytes]
        if len({row.size_bytes for row in sized}) < _LEAST_SIZES:
            yield _unknown(f"{way}.call_ns", "ns", members, f"fewer than {_LEAST_SIZES} sizes")
            continue
        yield from _fitted(way, sized)


def _fitted(way: str, rows: Sequence[MeasuredRow]) -> Iterator[Pin]:
    """Least squares of t = t0 + size / B, with errors in proportion to t."""
    times = [8 * (row.size_bytes or 0) / row.value for row in rows]
    points = [(1 / time, (row.size_bytes or 0) / time) for row, time in zip(rows, times, strict=True)]
    aa, ab, bb = (sum(x[i] * x[j] for x in points) for i, j in ((0, 0), (0, 1), (1, 1)))
    a1, b1 = sum(x[0] for x in points), sum(x[1] for x in points)
    determinant = aa * bb - ab * ab
    if determinant <= 0:
        yield _unknown(f"{way}.call_ns", "ns", rows, "the sizes do not tell cost and rate apart")
        return
    call, per_byte = (bb * a1 - ab * b1) / determinant, (aa * b1 - ab * a1) / determinant
    freedom = len(points) - 2
    variance = sum((1 - call * x - per_byte * y) ** 2 for x, y in points) / freedom
    reach = float(stdtrit(freedom, _CONFIDENCE))
    half_call = reach * math.sqrt(variance * bb / determinant)
    half_byte = reach * math.sqrt(variance * aa / determinant)
    because = f"fit of size / (t0 + size / B) to {len(rows)} rows"
    yield _bounded(f"{way}.call_ns", "ns", call, half_call, rows, because)
    if per_byte <= half_byte:
        yield _unknown(f"{way}.peak", "GB/s", rows, "the largest transfer is too small to tell the rate")
        return
    told = tuple(row.test for row in rows)
    low, high = 1 / (per_byte + half_byte), 1 / (per_byte - half_byte)
    if high - low > 2 * _WIDEST / per_byte:
        yield _unknown(f"{way}.peak", "GB/s", rows, "the rows scatter too much")
        return
    yield Pin(f"{way}.peak", 1 / per_byte, low, high, "GB/s", told, because)


def _both_ways(rows: Sequence[MeasuredRow], alone: Sequence[MeasuredRow]) -> Iterator[Pin]:
    """The share of its rate that a direction keeps while the opposite one is busy."""
    by_way = _groups(alone)
    busy = [row for row in rows if _is_rate(row) and row.beside == "opposite" and row.counted == "one"]
    for way, members in _groups(busy).items():
        others = [row for row in by_way.get(way, []) if row.size_bytes == members[0].size_bytes]
        if not others:
            yield _unknown(f"{way}.both_ways_share", "1", members, "no row of the direction alone")
            continue
        usual = mean(row.value for row in others)
        shares = [row.value / usual for row in members]
        yield _mean(f"{way}.both_ways_share", "1", shares, [*members, *others], "of the direction alone")


def _round_trips(rows: Sequence[MeasuredRow]) -> Iterator[Pin]:
    for way, members in _groups([row for row in rows if row.quantity == "latency"]).items():
        single = [row for row in members if row.depth in (None, 1) and row.statistic in ("median", "average")]
        median = [row for row in single if row.statistic == "median"] or single
        if not median:
            yield _unknown(f"{way}.round_trip_ns", "ns", members, "several in flight: the time includes queues")
            continue
        least = min(row.size_bytes or 0 for row in median)
        smallest = [row for row in median if (row.size_bytes or 0) == least]
        # The tool halves the time of two messages.
        twice = 2 if smallest[0].tool == "perftest" and smallest[0].direction in ("write", "send") else 1
        because = f"{'twice ' if twice == 2 else ''}the {smallest[0].statistic} of the smallest size"
        yield _mean(f"{way}.round_trip_ns", "ns", [twice * row.value for row in smallest], smallest, because)


def _in_flight(rows: Sequence[MeasuredRow]) -> Iterator[Pin]:
    """Little's law: the rate times the mean latency of the same test."""
    rates = {row.test: row for row in rows if _is_rate(row)}
    mean_rows = [row for row in rows if row.quantity == "latency" and row.statistic == "average"]
    found: dict[str, list[tuple[MeasuredRow, float]]] = defaultdict(list)
    for row in mean_rows:
        rate = rates.get(row.test)
        if rate is not None:
            found[_way(rate)].append((row, rate.value / 8 * row.value))
    for way, values in found.items():
        most = max(bytes_ for _, bytes_ in values)
        told = [row for row, bytes_ in values if bytes_ == most]
        yield _mean(f"{way}.in_flight", "B", [most], told, "rate times mean latency")


def _mean(key: str, unit: str, values: Sequence[float], rows: Sequence[MeasuredRow], because: str) -> Pin:
    value, told = mean(values), tuple(dict.fromkeys(row.test for row in rows))
    if len(values) < 2:
        return Pin(key, value, None, None, unit, told, f"{because}; one row, so no interval")
    half = float(stdtrit(len(values) - 1, _CONFIDENCE)) * stdev(values) / math.sqrt(len(values))
    return _bounded(key, unit, value, half, rows, because)


def _bounded(key: str, unit: str, value: float, half: float, rows: Sequence[MeasuredRow], because: str) -> Pin:
    if value <= 0 or half > _WIDEST * value:
        return _unknown(key, unit, rows, f"the rows leave {value - half:.3g} to {value + half:.3g} {unit}")
    told = tuple(dict.fromkeys(row.test for row in rows))
    return Pin(key, value, value - half, value + half, unit, told, because)


def _unknown(key: str, unit: str, rows: Sequence[MeasuredRow], reason: str) -> Pin:
    return Pin(key, None, None, None, unit, tuple(dict.fromkeys(row.test for row in rows)), reason)
