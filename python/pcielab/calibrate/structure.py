"""Properties that are one of a few, chosen by trying each on the rows that tell them apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pcielab.calibrate.parameters import Structure
from pcielab.calibrate.residuals import residuals
from pcielab.calibrate.twin import Twin

_OFF_MOST = 10.0
"""How far off a row may count: one that nothing explains must not choose."""
_TOLD_FROM = 0.05
"""Alternatives that differ by less than this are not told apart."""


@dataclass(frozen=True)
class Choice:
    """What was chosen for a property.

    Attributes:
        structure: The property.
        values: The alternative, by dotted key: that of the base host where the rows do not tell.
        advantage: How much further off the next best one is: 1 is twice as far.
        rows: Numbers of the rows that were looked at.
        identified: Whether the rows tell the alternatives apart.
    """

    structure: Structure
    values: dict[str, Any]
    advantage: float
    rows: tuple[int, ...]
    identified: bool


def choose(twin: Twin, structure: Structure) -> Choice | None:
    """Give the twin the alternative that comes closest; None, and nothing changed, where no row tells."""
    rows = [number for number, row in enumerate(twin.rows) if structure.tells(row.name, row.test)]
    alternatives = structure.choices(twin.system)
    if not rows or len(alternatives) < 2:
        return None
    measured = [twin.rows[row] for row in rows]
    found = twin.predict(alternatives, [rows] * len(alternatives))
    distances = [_distance(residuals(measured, one)) for one in found]
    order = np.argsort(distances, kind="stable")
    best, second = distances[order[0]], distances[order[1]]
    advantage = second / max(best, 1e-9) - 1
    if advantage < _TOLD_FROM:
        unchanged = {key: twin.value(key) for key in alternatives[0]}
        return Choice(structure, unchanged, advantage, tuple(rows), False)
    twin.keep(alternatives[order[0]])
    return Choice(structure, alternatives[order[0]], advantage, tuple(rows), True)


def _distance(left: Sequence[float] | np.ndarray[Any, Any]) -> float:
    return float(np.sqrt(np.mean(np.clip(np.abs(left), 0, _OFF_MOST) ** 2)))
