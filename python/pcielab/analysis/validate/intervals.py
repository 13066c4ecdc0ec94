"""Intervals of a twin's predictions: where a measured value lies with 90 % probability.

They hold for twins of the device and the kind of machine whose errors are known (`known_errors`), as they were
calibrated: with another device, with idle states, or with a value changed by `--set`, there is none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pcielab.analysis.compare import Comparison
from pcielab.analysis.validate.known_errors import Difference, KnownErrors, known_errors
from pcielab.analysis.validate.row_classes import METRICS, RowClass, RowClasses
from pcielab.kinds.rooms import room_of
from pcielab.store import Store

UNITS = {"bandwidth": "gbps", "median": "ns", "average": "ns"}


@dataclass(frozen=True)
class Interval:
    """Where a measured value lies with 90 % probability, in Gb/s or ns.

    Attributes:
        low: Its lower end.
        high: Its upper end.
        systems: Number of systems whose twins' errors it was learnt from.
    """

    low: float
    high: float
    systems: int

    def holds(self, value: float) -> bool:
        """Whether a measured value lies in it."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Twin:
    """A simulated run whose predictions have intervals."""

    classes: RowClasses
    errors: KnownErrors

    def interval(self, row: Mapping[str, Any], metric: str, predicted: float) -> Interval | None:
        """The interval of a metric of a row; None where no error is known.

        Args:
            row: Name and parameters of the test.
            metric: bandwidth, median or average.
            predicted: The simulated value, in Gb/s or ns.
        """
        row_class = self.classes.classify(row, metric)
        found = self.errors.of(row_class) if row_class is not None else None
        if found is None or predicted != predicted:
            return None
        if metric == "bandwidth":
            return Interval(predicted * (1 + found.low), predicted * (1 + found.high), found.systems)
        return Interval(max(predicted + found.low, 0.0), predicted + found.high, found.systems)


def twin_of(store: Store, errors: KnownErrors | None = None) -> Twin | None:
    """The twin of a simulated run; None if it is no twin of the kind whose errors are known.

    Args:
        store: A run.
        errors: The known errors; None: those that are shipped.
    """
    manifest = store.manifest
    if store.origin != "simulated" or manifest.get("overrides"):
        return None
    if not (manifest.get("system") or {}).get("calibrated") or not room_of(store).explain.simulated_again:
        return None
    system = store.require_system()
    known = errors or known_errors()
    if system.host.idle is not None or not _is_of(system.device.name, known.device):
        return None
    return Twin(RowClasses.of(system), known)


def _is_of(device: str, family: str) -> bool:
    """Whether a device is the one whose errors are known, on whichever board."""
    return device == family or device.startswith(f"{family}-")


@dataclass(frozen=True)
class Judged:
    """A measured value beside the interval of its prediction."""

    row: Mapping[str, Any]
    metric: str
    measured: float
    interval: Interval

    @property
    def inside(self) -> bool:
        """Whether the measured value lies in the interval."""
        return self.interval.holds(self.measured)


def judge(comparison: Comparison, errors: KnownErrors | None = None) -> list[Judged]:
    """Each measured value of a comparison of a measured run and a twin's, beside its interval.

    Empty unless one of the runs is measured and the other one is of a twin whose errors are known.
    """
    sides = _sides(comparison, errors)
    if sides is None:
        return []
    measured, predicted, twin = sides
    found = []
    for row in comparison.pairs:
        for metric in METRICS:
            value, expected = (row[f"{metric}_{side}_{UNITS[metric]}"] for side in (measured, predicted))
            interval = twin.interval(row, metric, expected) if value == value else None
            if interval is not None:
                found.append(Judged(row, metric, value, interval))
    return found


def _sides(comparison: Comparison, errors: KnownErrors | None) -> tuple[str, str, Twin] | None:
    for measured, predicted in (("a", "b"), ("b", "a")):
        if getattr(comparison, measured).origin == "measured":
            twin = twin_of(getattr(comparison, predicted), errors)
            return None if twin is None else (measured, predicted, twin)
    return None


def differences(comparison: Comparison, machine: str, system: str) -> list[Difference]:
    """The differences of a measured run (A) from a twin's (B), by class, to learn errors from."""
    classes = RowClasses.of(comparison.b.require_system())
    found = []
    for row in comparison.pairs:
        for metric in METRICS:
            value, expected = (row[f"{metric}_{side}_{UNITS[metric]}"] for side in ("a", "b"))
            row_class: RowClass | None = classes.classify(row, metric)
            if value == value and expected == expected and row_class is not None and expected:
                apart = value / expected - 1 if metric == "bandwidth" else value - expected
                found.append(Difference(machine, system, row_class, apart))
    return found
