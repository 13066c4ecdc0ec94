"""Properties that are one of a few, chosen by trying each on the rows that tell them apart."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pcielab.analysis.calibrate.parameters import Structure
from pcielab.analysis.calibrate.residuals import ROBUST_FROM, Vector, residuals
from pcielab.analysis.calibrate.twin import Twin

_TOLD_FROM = 0.05
"""Alternatives that differ by less than this are not told apart."""


@dataclass(frozen=True)
class Choice:
    """What was chosen for a property.

    Attributes:
        structure: The property.
        values: The alternative, by dotted key: that of the base host where the rows do not tell.
        advantage: How much further off the next best one is, or that of the base host: 1 is twice as far.
        rows: Numbers of the rows that were looked at.
        identified: Whether the rows tell the alternatives apart.
    """

    structure: Structure
    values: dict[str, Any]
    advantage: float
    rows: tuple[int, ...]
    identified: bool


def choose(twin: Twin, structure: Structure, solve: Callable[[Twin], None] | None = None) -> Choice | None:
    """Give the twin the alternative that comes closest; None, and nothing changed, where no row tells.

    Args:
        twin: The twin; it has the values afterwards.
        structure: What is to be chosen.
        solve: Gives a twin the other values that belong to an alternative, where they hang on it.
    """
    rows = [number for number, row in enumerate(twin.rows) if structure.tells(row.name, row.test)]
    alternatives = structure.choices(twin.system)
    if not rows or len(alternatives) < 2:
        return None
    before = twin.system
    present = {key: twin.value(key) for key in alternatives[0]}
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
    # What the base has is left only for something better.
    is_base = alternatives[order[0]] == present or present not in alternatives
    other = distances[order[1]] if is_base else distances[alternatives.index(present)]
    advantage = other / max(distances[order[0]], 1e-9) - 1
    identified = bool(advantage >= _TOLD_FROM)
    twin.system = systems[order[0]] if identified else before
    values = {key: twin.value(key) for key in alternatives[0]}
    return Choice(structure, values, advantage, tuple(rows), identified)


def _distance(left: Vector) -> float:
    """How far off rows are, those that nothing explains counting little more than others."""
    return float(np.mean(np.log1p((left / ROBUST_FROM) ** 2)))
