"""The simulated twin of a machine: predicts the measured rows under many sets of values at once."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from pcielab import _core
from pcielab.analysis.calibrate.measured import Row
from pcielab.analysis.calibrate.predictions import Effort, Prediction
from pcielab.library.profiles.values import Table
from pcielab.library.suites import load_suite
from pcielab.work.running import available_cores

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with the rows simulated, their total, and the phase of the calibration."""

Values: TypeAlias = Mapping[str, Any]
"""Values by dotted key."""


@dataclass(frozen=True)
class Predicted:
    """A predicted row; None for numbers that it does not have, or a test that the machine does not support."""

    bandwidth_gbps: float | None = None
    average_ns: float | None = None
    ticks: tuple[tuple[int, int], ...] = ()
    """Ticks of the device's timer, and how many samples showed each."""

    def middle_ticks(self) -> float:
        """The median of the samples, interpolated within its tick."""
        half = sum(count for _, count in self.ticks) / 2
        below = 0
        for tick, count in self.ticks:
            if below + count >= half:
                return tick - 0.5 + (half - below) / count
            below += count
        return math.nan

    def share_up_to(self, tick: float) -> float:
        """Share of the samples at or below a tick."""
        total = sum(count for _, count in self.ticks)
        return sum(count for shown, count in self.ticks if shown <= tick) / total if total else 0.0


class Twin:
    """A system, and rows that are predicted with their history in their suite."""

    def __init__(
        self,
        system: Table,
        rows: Sequence[Row],
        *,
        suite: _core.Suite | None = None,
        seed: int = 1,
        effort: Effort | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Predict rows of a system.

        Args:
            system: A resolved system.
            rows: The rows.
            suite: The suite that the rows' indices are of; None: the suite `paper`.
            seed: Seed of the simulation.
            effort: Simulated transactions of each row; None: as many as a fit needs.
            progress: Called while rows are simulated.
        """
        self.system = system
        self.rows = tuple(rows)
        self.effort = effort or Effort()
        self.phase = "starting"
        self._progress = progress
        indices = [row.index for row in self.rows]
        self._predictor = _core.Predictor(
            suite or load_suite("paper").handle, indices, seed=seed, jobs=available_cores()
        )

    def with_values(self, values: Values) -> Table:
        """The system with other values."""
        changed: Table = json.loads(json.dumps(self.system))
        for key, value in values.items():
            *parents, last = key.split(".")
            table: Any = changed
            for step in parents:
                table = table[int(step)] if isinstance(table, list) else table[step]
            table[int(last) if isinstance(table, list) else last] = value
        return changed

    def value(self, key: str) -> Any:
        """The value of a dotted key; None where the system lacks its part."""
        table: Any = self.system
        for step in key.split("."):
            table = None if table is None else table[int(step)] if isinstance(table, list) else table[step]
        return table

    def keep(self, values: Values) -> None:
        """Make these values the system's own."""
        self.system = self.with_values(values)

    def predict(
        self, variants: Sequence[Values], wanted: Sequence[Sequence[int]] | None = None
    ) -> list[list[Predicted]]:
        """The rows under each variant of the values.

        Args:
            variants: Values that replace the system's own.
            wanted: For each variant the indices of its rows; None: all.
        """
        rows = (
            [list(one) for one in wanted] if wanted is not None else [list(range(len(self.rows)))] * len(variants)
        )
        systems = [_core.System.of_json(json.dumps(self.with_values(values))) for values in variants]
        found = self._predictor.predict(
            systems, rows, effort=json.dumps(asdict(self.effort)), progress=self._report
        )
        return [[_predicted(one) for one in of_system] for of_system in json.loads(found)]

    def _report(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(done, total, self.phase)


def _predicted(found: Prediction) -> Predicted:
    ticks = tuple((tick, count) for tick, count in found.get("ticks", ()))
    return Predicted(found.get("bandwidth_gbps"), found.get("average_ns"), ticks)
