"""Discrete properties, chosen by trying each alternative on the rows that distinguish them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pcielab.analysis.calibrate.parameters import Structure
from pcielab.analysis.calibrate.residuals import ROBUST_FROM, Vector, residuals
from pcielab.analysis.calibrate.twin import Twin

_DISTINCT_FROM = 0.05
"""Alternatives whose distances differ by less than this share count as equal."""


@dataclass(frozen=True)
class Choice:
    """The alternative chosen for a property.

    Attributes:
        structure: The property.
        values: The alternative, by dotted key; the base host's where the rows do not distinguish them.
        advantage: Relative distance of the next best one, or of the base host's: 1 is twice as far off.
        rows: Indices of the rows compared.
        identified: Whether the rows distinguish the alternatives.
    """

    structure: Structure
    values: dict[str, Any]
    advantage: float
    rows: tuple[int, ...]
    identified: bool

    @property
    def borrowed(self) -> list[str]:
        """Keys of an identified alternative whose values, other than 0, are another host's."""
        return [key for key in self.structure.borrowed if self.identified and self.values[key]]


def choose(twin: Twin, structure: Structure, solve: Callable[[Twin], None] | None = None) -> Choice | None:
    """Give the twin the alternative that comes closest; None where it has only one.

    Args:
        twin: The twin; it takes the values.
        structure: The property.
        solve: Solves, for each alternative, the values that depend on it.
    """
    rows = [number for number, row in enumerate(twin.rows) if structure.tells(row.name, row.test)]
    alternatives = structure.choices(twin.system)
    if len(alternatives) < 2:
        return None
    before = twin.system
    present = {key: twin.value(key) for key in alternatives[0]}
    if not rows:
        return Choice(structure, present, 0.0, (), identified=False)
    systems, distances = [], []
    for alternative in alternatives:
        twin.system = before
        twin.keep(alternative)
        if solve is not None:
            solve(twin)
        [found] = twin.predict([{}], [rows])
        systems.append(twin.system)
        distances.append(_distance(residuals([twin.rows[row] for row in rows], found)))
    order = np.argsort(distances, kind="stable")
    # The base's alternative stays unless another is better.
    is_base = alternatives[order[0]] == present or present not in alternatives
    other = distances[order[1]] if is_base else distances[alternatives.index(present)]
    advantage = other / max(distances[order[0]], 1e-9) - 1
    identified = bool(advantage >= _DISTINCT_FROM)
    twin.system = systems[order[0]] if identified else before
    values = {key: twin.value(key) for key in alternatives[0]}
    return Choice(structure, values, advantage, tuple(rows), identified)


def _distance(left: Vector) -> float:
    """Mean robust distance of rows: unexplained ones count little more than others."""
    return float(np.mean(np.log1p((left / ROBUST_FROM) ** 2)))
