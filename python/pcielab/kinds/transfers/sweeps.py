"""A device's round trip and its requests in flight, from a sweep of transfers in flight.

With few transfers in flight each takes its round trip, and the rate grows with their number. With many, a limit
holds it: the wire, the rate at which the device issues requests, or its N requests in flight, which carry N x size
in every round trip T. The fit is

    rate(n) = n / T x (1 + (n / N)^p)^(-1/p)

a line with a soft knee into a level; T, N and p by least squares over relative differences.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pcielab.extras import needed
from pcielab.store.identity import SETTING

Holds: TypeAlias = Literal["wire", "issue-rate", "in-flight"]
"""The limit where more transfers in flight gain nothing."""

_POINTS_LEAST = 4
_OF_WIRE = 0.95
"""Share of the wire's bound from which the wire is the limit."""
_SAME_RATE = 0.05
"""Requests of different sizes whose rates differ by no more are limited by their issue rate."""
_LEVEL_TIMES = 2.0
"""A level counts as reached if the sweep goes to this multiple of N."""
_BOUNDS = ((-np.inf, -np.inf, 0.0), (np.inf, np.inf, np.log(64.0)))
"""Bounds of the logarithms of T, N and p: p is at least 1, and beyond 64 the knee is a corner."""
_ALIKE = tuple(key for key in SETTING if key != "outstanding")


@dataclass(frozen=True)
class Interval:
    """A value, and its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Tests that differ only in their transfers in flight.

    Attributes:
        family: Their family.
        size_bytes: Transfer size.
        window_bytes: Window.
        tests: Their numbers.
        round_trip_ns: T.
        in_flight: N.
        level_gbps: The level, Gb/s.
        worst: Largest difference of a test from the fit, as a share of its value.
        reached: Whether the sweep goes far enough to show the level.
        holds: The limit at the level.
    """

    family: str
    size_bytes: int
    window_bytes: int
    tests: tuple[int, ...]
    round_trip_ns: Interval
    in_flight: Interval
    level_gbps: float
    worst: float
    reached: bool
    holds: Holds


def sweeps_of(records: Sequence[Mapping[str, Any]], wire_gbps: Mapping[int, float]) -> list[Sweep]:
    """The sweeps of reads among a run's records; `wire_gbps` has the known wire bounds of tests, by number."""
    groups: defaultdict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for record in records:
        parameters = record["parameters"]
        if parameters.get("outstanding") and parameters["operation"] == "bw-rd" and _rate(record):
            groups[record["family"], *(parameters.get(key) for key in _ALIKE)].append(record)
    fitted = [fit for group in groups.values() if (fit := _fitted(group)) is not None]
    return list(_named(fitted, wire_gbps))


def _rate(record: Mapping[str, Any]) -> float | None:
    """Transfers each second."""
    found = (row["value"] for row in record["scalars"] if row["metric"] == "rate" and not row["subject"])
    return next((float(value) for value in found), None)


def _model(
    in_flight: NDArray[np.float64], round_trip: float, most: float, sharpness: float
) -> NDArray[np.float64]:
    """Logarithm of the rate, from the logarithms of T, N and p."""
    p = np.exp(sharpness)
    over = np.log(in_flight) - most
    rate: NDArray[np.float64] = np.log(in_flight) - round_trip - np.logaddexp(0, p * over) / p
    return rate


def _fitted(group: Sequence[Mapping[str, Any]]) -> Sweep | None:
    curve_fit = needed("scipy.optimize", "calibrate").curve_fit
    t = needed("scipy.stats", "calibrate").t

    in_flight = np.array([float(record["parameters"]["outstanding"]) for record in group])
    per_ns = np.array([(_rate(record) or 0.0) / 1e9 for record in group])
    if len(set(in_flight)) < _POINTS_LEAST:
        return None
    round_trip = float(np.max(in_flight / per_ns * (in_flight == in_flight.min())))
    start = (np.log(round_trip), np.log(per_ns.max() * round_trip), np.log(4.0))
    try:
        found, covariance = curve_fit(_model, in_flight, np.log(per_ns), p0=start, bounds=_BOUNDS, max_nfev=10_000)
    except RuntimeError:
        return None
    spread = float(t.ppf(0.975, max(len(group) - len(start), 1))) * np.sqrt(np.diag(covariance))
    difference = np.expm1(np.abs(_model(in_flight, *found) - np.log(per_ns)))
    round_trip_ns, most = (_interval(found[at], spread[at]) for at in (0, 1))
    size = int(group[0]["parameters"]["size_bytes"])
    return Sweep(
        family=group[0]["family"],
        size_bytes=size,
        window_bytes=int(group[0]["parameters"]["window_bytes"]),
        tests=tuple(int(record["id"]) for record in group),
        round_trip_ns=round_trip_ns,
        in_flight=most,
        level_gbps=8 * size * most.value / round_trip_ns.value,
        worst=float(difference.max()),
        reached=bool(in_flight.max() >= _LEVEL_TIMES * most.value),
        holds="in-flight",
    )


def _interval(logarithm: float, spread: float) -> Interval:
    return Interval(*(float(np.exp(logarithm + by)) for by in (0.0, -spread, spread)))


def _named(found: Sequence[Sweep], wire_gbps: Mapping[int, float]) -> Iterator[Sweep]:
    for sweep in found:
        wire = next((wire_gbps[test] for test in sweep.tests if test in wire_gbps), None)
        rate = sweep.level_gbps / sweep.size_bytes
        others = [other.level_gbps / other.size_bytes for other in found if other.size_bytes != sweep.size_bytes]
        holds: Holds = "in-flight"
        if wire is not None and sweep.level_gbps >= _OF_WIRE * wire:
            holds = "wire"
        elif any(abs(other / rate - 1) <= _SAME_RATE for other in others):
            holds = "issue-rate"
        yield Sweep(**{**vars(sweep), "holds": holds})


def in_words(sweep: Sweep) -> str:
    """A sweep on one line."""
    trip, most = sweep.round_trip_ns, sweep.in_flight
    start = f"{sweep.family}, {sweep.size_bytes} B: T {trip.value:.0f} ns ({trip.low:.0f} to {trip.high:.0f})"
    fit = f"the fit is within {100 * sweep.worst:.1f} %"
    if not sweep.reached:
        return f"{start}, {fit}: the sweep ends before a level shows"
    level = f"N {most.value:.1f} ({most.low:.1f} to {most.high:.1f}), level {sweep.level_gbps:.2f} Gb/s"
    return f"{start}, {level}, {fit}: {_HOLDS[sweep.holds]}"


_HOLDS: dict[Holds, str] = {
    "wire": "held by the wire",
    "issue-rate": "held by the device's issue rate, which is the same for other sizes",
    "in-flight": "held by N requests in flight over T",
}
