"""Two runs' tests with their values on either machine, and the effect of each difference between the machines."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pcielab.analysis.compare import Difference
from pcielab.store import RunKind

NOTICED_PERCENT = 1.0
"""Smallest effect that counts as a change."""


@dataclass(frozen=True)
class Moved:
    """A test of both runs, or a flow of one, and the effect of each change on it.

    Attributes:
        test: Its number in the first run.
        name: Its published name.
        parameters: Its parameters.
        sort: Tests like it in the plural, in words: reads, latencies, frames sent.
        unit: `Gb/s` or `GB/s` for a rate, `ns` for a latency.
        a: Value on the first system.
        b: Value on the second.
        effects_percent: Effect of each single change on `a`, in the order of `Contrast.changes`.
        bounds: The binding bound of the first and of the second, in the same unit; None where it is unknown.
    """

    test: int
    name: str
    parameters: Mapping[str, Any]
    sort: str
    unit: str
    a: float
    b: float
    effects_percent: tuple[float, ...]
    bounds: tuple[float | None, float | None] = (None, None)

    @property
    def change_percent(self) -> float:
        """The effect of all changes together."""
        return 100 * (self.b / self.a - 1) if self.a else 0.0

    @property
    def rest_percent(self) -> float:
        """Their joint effect beyond the sum of the single ones."""
        return self.change_percent - sum(self.effects_percent)

    @property
    def is_latency(self) -> bool:
        """Whether less is better."""
        return self.unit == "ns"

    @property
    def is_unchanged(self) -> bool:
        """Whether neither a single change nor all together move it by `NOTICED_PERCENT`."""
        return max(map(abs, (self.change_percent, *self.effects_percent))) < NOTICED_PERCENT


@dataclass(frozen=True)
class Contrast:
    """The effects of two systems' differences on the tests of both runs.

    Attributes:
        changes: Differences, tried one at a time; values that make no sense alone change together.
        rows: The tests, in the order of the first run.
        notes: Omissions.
        kind: Kind of both runs.
        simulated: Whether the values were simulated again with one change at a time. Otherwise they are the runs'
            own, and `changes` has at most one entry, with all differences.
    """

    changes: list[tuple[Difference, ...]]
    rows: list[Moved]
    notes: list[str]
    kind: RunKind = "transfers"
    simulated: bool = True

    @property
    def moved(self) -> list[Moved]:
        """The rows that change."""
        return [row for row in self.rows if not row.is_unchanged]
