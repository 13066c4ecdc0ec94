"""The joint fit: unknown values of one or several twins from all their rows, by least squares.

The prior of a value (that of the base, give or take its spread) takes part like one more row. So the fit is never
without a solution, and a value for which there is no evidence shows: its interval is as wide afterwards as before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.optimize import least_squares

from pcielab.analysis.calibrate.parameters import Parameter
from pcielab.analysis.calibrate.residuals import ROBUST_FROM, Vector, residuals
from pcielab.analysis.calibrate.twin import Twin, Values

_EVALUATIONS_MOST = 8
_PATIENCE = 5.0
_TOLERANCE = 2e-3
"""A step that improves the fit by less is within the grain of the simulation."""
_TOLD_BELOW = 0.5
"""A value is identified if its interval is narrower than this, relative to its prior."""
_ROWS_NAMED = 3
_STANDARD_95 = 1.96


@dataclass(frozen=True)
class Unknown:
    """A value to be fitted.

    Attributes:
        parameter: What it is.
        prior: What it is taken for before any row is seen.
        twins: Numbers of the twins that share it.
    """

    parameter: Parameter
    prior: float
    twins: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Estimate:
    """What became of an unknown.

    Attributes:
        parameter: The parameter.
        value: Its value.
        half_width: Half of the 95 % confidence interval.
        evidence: The rows that show it most, in that order: numbers among those of all twins.
        identified: Whether they show it.
    """

    parameter: Parameter
    value: float | int
    half_width: float
    evidence: tuple[int, ...]
    identified: bool

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval, as far as the parameter can be so."""
        low, high = self.value - self.half_width, self.value + self.half_width
        return max(low, self.parameter.low), min(high, self.parameter.high)

    @property
    def at_bound(self) -> bool:
        """Whether the rows ask for more or less than the parameter can be: then they tell a sum with another."""
        return self.value in (self.parameter.low, self.parameter.high)


Evidence: TypeAlias = dict[tuple[int, str], list[int]]
"""Numbers of the rows of a twin that show a parameter at all, by the number of the twin and the key."""


class JointFit:
    """Fits unknowns of some twins to their rows; the twins have the values found afterwards.

    Every row has two residuals, in the order of twins and rows; those of the priors follow, one each.

    Attributes:
        evidence: Which rows show which parameters: found once, and good for another fit of the same twins.
    """

    def __init__(
        self, twins: Sequence[Twin], unknowns: Sequence[Unknown], evidence: Evidence | None = None
    ) -> None:
        self._twins = tuple(twins)
        self._unknowns = tuple(unknowns)
        self._priors = np.array([one.prior for one in unknowns], dtype=np.float64)
        self._spreads = np.array([one.parameter.spread for one in unknowns], dtype=np.float64)
        ends = np.cumsum([0, *(2 * len(twin.rows) for twin in self._twins)])
        self._starts, self._count = ends[:-1], int(ends[-1])
        self.evidence: Evidence = {} if evidence is None else evidence
        self._latest: tuple[Vector, Vector] | None = None

    def run(self, *, patient: bool = False) -> tuple[list[Estimate], Vector]:
        """The estimates, and the residuals of the rows that are left.

        Args:
            patient: Begin with more patience for rows that are far off: from afar, every row looks like one that
                is not modelled.
        """
        start = [float(self._twins[one.twins[0]].value(one.parameter.key)) for one in self._unknowns]
        low = np.array([one.parameter.low for one in self._unknowns], dtype=np.float64)
        high = np.array([one.parameter.high for one in self._unknowns], dtype=np.float64)
        margin = 1e-6 * (high - low)
        found = np.clip(start, low + margin, high - margin)
        for patience in (_PATIENCE, 1.0) if patient else (1.0,):
            found = least_squares(
                self._residuals,
                found,
                jac=self._jacobian,
                bounds=(low, high),
                x_scale=self._spreads,
                loss="cauchy",
                f_scale=patience * ROBUST_FROM,
                max_nfev=_EVALUATIONS_MOST,
                xtol=_TOLERANCE,
                ftol=_TOLERANCE,
            ).x
        for number, twin in enumerate(self._twins):
            twin.keep(self._values(found, number))
        left = self._residuals(found)[: self._count]
        return self._estimates(found, self._jacobian(found), left), left

    def _values(self, vector: Vector, twin: int) -> dict[str, float | int]:
        return {
            one.parameter.key: one.parameter.rounded(float(value))
            for one, value in zip(self._unknowns, vector, strict=True)
            if twin in one.twins
        }

    def _residuals(self, vector: Vector) -> Vector:
        parts = []
        for number, twin in enumerate(self._twins):
            [predicted] = twin.predict([self._values(vector, number)])
            parts.append(residuals(twin.rows, predicted))
        return np.concatenate([*parts, (vector - self._priors) / self._spreads])

    def _jacobian(self, vector: Vector) -> Vector:
        if self._latest is not None and np.array_equal(self._latest[0], vector):
            return self._latest[1]
        jacobian = np.zeros((self._count + len(self._unknowns), len(self._unknowns)))
        jacobian[self._count :] = np.diag(1 / self._spreads)
        for number in range(len(self._twins)):
            self._add_derivatives(jacobian, vector, number)
        self._latest = vector.copy(), jacobian
        return jacobian

    def _add_derivatives(self, jacobian: Vector, vector: Vector, number: int) -> None:
        """Derivatives of one twin's rows over the unknowns' steps, to both sides, all simulated in one call.

        A row that did not show an unknown the first time is not asked again.
        """
        twin = self._twins[number]
        mine = [place for place, one in enumerate(self._unknowns) if number in one.twins]
        variants: list[Values] = []
        widths = []
        for place in mine:
            parameter = self._unknowns[place].parameter
            ends = [parameter.rounded(float(vector[place]) + side * parameter.step) for side in (-1, 1)]
            widths.append(ends[1] - ends[0])
            variants += [{**self._values(vector, number), parameter.key: end} for end in ends]
        everything = list(range(len(twin.rows)))
        keys = [(number, self._unknowns[place].parameter.key) for place in mine]
        asked = [self.evidence.get(key, everything) for key in keys]
        found = twin.predict(variants, [rows for rows in asked for _ in range(2)])
        for nth, (place, rows) in enumerate(zip(mine, asked, strict=True)):
            measured = [twin.rows[row] for row in rows]
            below, above = (residuals(measured, found[2 * nth + side]) for side in (0, 1))
            slope = ((above - below) / widths[nth]).reshape(-1, 2)
            begin = self._starts[number]
            for row, pair in zip(rows, slope, strict=True):
                jacobian[begin + 2 * row : begin + 2 * row + 2, place] = pair
            showing = [row for row, pair in zip(rows, slope, strict=True) if pair.any()]
            self.evidence.setdefault(keys[nth], showing)

    def _estimates(self, vector: Vector, jacobian: Vector, left: Vector) -> list[Estimate]:
        weights = 1 / np.sqrt(1 + (left / ROBUST_FROM) ** 2)
        weighted = jacobian.copy()
        weighted[: self._count] *= weights[:, None]
        covariance = np.linalg.inv(weighted.T @ weighted)
        deviations = np.sqrt(np.diag(covariance))
        freedom = max(int(np.count_nonzero(left)) - len(self._unknowns), 1)
        unit = max(1.0, float(np.sqrt(np.sum((left * weights) ** 2) / freedom)))
        answers = np.abs(jacobian[: self._count]).reshape(-1, 2, len(self._unknowns)).max(axis=1)
        estimates = []
        for place, unknown in enumerate(self._unknowns):
            telling = np.argsort(-answers[:, place], kind="stable")[:_ROWS_NAMED]
            estimates.append(
                Estimate(
                    unknown.parameter,
                    unknown.parameter.rounded(float(vector[place])),
                    float(_STANDARD_95 * unit * deviations[place]),
                    tuple(int(row) for row in telling if answers[row, place] > 0),
                    bool(deviations[place] < _TOLD_BELOW * self._spreads[place]),
                )
            )
        return estimates
