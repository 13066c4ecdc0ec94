"""How far measured values lie from what twins predict, by class of row: what intervals of predictions are made of.

Learnt from twins that were calibrated with 81 rows of their machine, and with device constants of other machines.
The errors therefore hold both what the simulator lacks and what 81 rows leave open of a machine's own values.

Python alone reads their file, by pydantic.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from pcielab.analysis.validate.row_classes import RowClass

OUTSIDE = 0.05
"""Share of each system's errors that are left out at either end."""
ROWS_LEAST, MACHINES_LEAST = 10, 2
"""A class with fewer rows or machines tells nothing: the next wider one is asked."""
LEAST = {"bandwidth": 0.004, "median": 20 / 3, "average": 2.0}
"""What an end is moved outwards: 0.4 %, which 81 rows leave open of a link's stretch; half a tick of the device's
timer; 2 ns, as two averages of one test in one run differ by 0.3 ns in the middle, but by 12 ns in one of 20."""
FILE = Path(__file__).with_name("known_errors.json")
"""Where the errors are shipped."""


@dataclass(frozen=True)
class Difference:
    """A measured value less the predicted one: relative for a bandwidth, in ns for a latency."""

    machine: str
    system: str
    row_class: RowClass
    difference: float


@dataclass(frozen=True)
class Range:
    """The errors of a class.

    Attributes:
        metric: As in `RowClass`, like the next three.
        low: Smallest expected difference, measured less predicted: relative for a bandwidth, in ns for a latency.
        high: Largest expected difference.
        rows: Rows that it was learnt from.
        systems: Systems that it was learnt from, of at least two machines.
    """

    metric: str
    name: str
    setting: str
    size_up_to_bytes: int
    low: float
    high: float
    rows: int
    systems: int


@dataclass(frozen=True)
class KnownErrors:
    """The errors of all classes.

    Attributes:
        device: Name of the device whose twins they are.
        systems: Systems that they were learnt from.
        ranges: The errors by class.
    """

    device: str
    systems: tuple[str, ...]
    ranges: tuple[Range, ...]

    def of(self, row_class: RowClass) -> Range | None:
        """The errors of a class, or of the next wider one that is known."""
        known = self._by_class
        return next((known[one] for one in (row_class, *row_class.wider()) if one in known), None)

    @cached_property
    def _by_class(self) -> dict[RowClass, Range]:
        return {RowClass(one.metric, one.name, one.setting, one.size_up_to_bytes): one for one in self.ranges}

    def to_json(self) -> str:
        """The file that is shipped, a class in each line."""
        ranges = ",\n".join(json.dumps(asdict(one)) for one in self.ranges)
        head = json.dumps({"device": self.device, "systems": self.systems})
        return f'{head[:-1]}, "ranges": [\n{ranges}\n]}}\n'


def learn(differences: Iterable[Difference], device: str) -> KnownErrors:
    """Learn the errors of classes.

    The range of a class reaches from the lowest 5 % quantile of any system to the highest 95 % quantile of any: a
    machine that nobody looked at differs from these at least as much as they do from one another.
    """
    by_class: dict[RowClass, list[Difference]] = {}
    for one in differences:
        for row_class in (one.row_class, *one.row_class.wider()):
            by_class.setdefault(row_class, []).append(one)
    ranges = [_range(row_class, found) for row_class, found in sorted(by_class.items()) if _suffice(found)]
    systems = sorted({one.system for found in by_class.values() for one in found})
    return KnownErrors(device=device, systems=tuple(systems), ranges=tuple(ranges))


@cache
def known_errors() -> KnownErrors:
    """The errors that are shipped; `make leave-one-out` renews them."""
    return TypeAdapter(KnownErrors).validate_json(FILE.read_bytes())


def _suffice(found: list[Difference]) -> bool:
    return len(found) >= ROWS_LEAST and len({one.machine for one in found}) >= MACHINES_LEAST


def _range(row_class: RowClass, found: list[Difference]) -> Range:
    by_system: dict[str, list[float]] = {}
    for one in found:
        by_system.setdefault(one.system, []).append(one.difference)
    lows, highs = zip(*(np.quantile(own, [OUTSIDE, 1 - OUTSIDE]) for own in by_system.values()), strict=True)
    least = LEAST[row_class.metric]
    digits = 4 if row_class.metric == "bandwidth" else 1
    return Range(
        **row_class._asdict(),
        low=round(float(min(lows)) - least, digits),
        high=round(float(max(highs)) + least, digits),
        rows=len(found),
        systems=len(by_system),
    )
