"""The simulator's claims about its own numbers, checked on a random case or on one test under many seeds."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pcielab import _core
from pcielab.kinds.transfers.bounds import system_bounds
from pcielab.sweeps.point import Point
from random_systems import Case, random_case

NARROWEST = 0.0002
"""Half width of the narrowest printed interval, relative: smaller differences between seeds do not count."""


def numbers(point: Point) -> dict[str, Any]:
    """The numbers of a point by metric, and its message."""
    record = point.record()
    found: dict[str, Any] = {row["metric"]: row["value"] for row in record["scalars"] if not row["subject"]}
    return {**found, "message": record["message"]}


@dataclass(frozen=True)
class Bounded:
    """A simulated bandwidth and the bound that is printed as binding.

    Attributes:
        bound: The bound's name.
        share: Lower end of the bandwidth's interval as a share of the bound.
        title: The case in words.
    """

    bound: str
    share: float
    title: str


def held_against_bound(case: Case) -> Bounded | None:
    """A case and its bound; None if the system does not support the test, or nothing bounds it."""
    [bounds] = system_bounds(_core.System.of_json(case.system), [case.test])
    found = numbers(Point(case.system, case.suite))
    if bounds is None or "bandwidth" not in found:
        return None
    lowest = found.get("bandwidth_low", found["bandwidth"])
    return Bounded(bounds.answer.bound, lowest / bounds.answer.gbps, case.title)


@dataclass(frozen=True)
class Sampled:
    """An adaptive run compared with the full one.

    Attributes:
        case: The case.
        error: Relative error of its bandwidth.
        inside: Whether its interval holds the full run's bandwidth.
        settled: Whether it has no message that it is not settled.
    """

    case: Case
    error: float
    inside: bool
    settled: bool


def sampled(number: int, transactions: int) -> Sampled | None:
    """Case `number` simulated both ways; None if the system does not support it."""
    case = random_case(number, transactions=transactions)
    adaptive, full = (numbers(Point(case.system, case.suite, samples)) for samples in ("adaptive", "full"))
    if "bandwidth" not in full:
        return None
    inside = adaptive["bandwidth_low"] <= full["bandwidth"] <= adaptive["bandwidth_high"]
    return Sampled(case, adaptive["bandwidth"] / full["bandwidth"] - 1, inside, adaptive["message"] is None)


def under_seed(system: str, suite: str, seed: int) -> dict[str, float]:
    """Bandwidth and interval of the only test of a suite under a seed."""
    found = numbers(Point(system, suite, seed=seed))
    return {key: found[key] for key in ("bandwidth", "bandwidth_low", "bandwidth_high")}


@dataclass(frozen=True)
class Coverage:
    """A test under many seeds.

    Attributes:
        spread: Standard deviation of its bandwidth between seeds, relative.
        held: Under how many seeds the interval holds the mean over all of them.
    """

    spread: float
    held: int

    @classmethod
    def of(cls, results: Sequence[dict[str, float]]) -> "Coverage":
        """From results of `under_seed`."""
        values = [result["bandwidth"] for result in results]
        mean = statistics.fmean(values)
        held = sum(result["bandwidth_low"] <= mean <= result["bandwidth_high"] for result in results)
        return cls(statistics.pstdev(values) / mean, held)

    @property
    def varies(self) -> bool:
        """Whether seeds differ by more than the narrowest interval."""
        return self.spread > NARROWEST / 2
