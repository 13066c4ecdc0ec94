"""The joint fit: unknown values of one or several twins from all their rows, by least squares.

The prior of a value (the base's, with its spread) enters as one more row. So a solution always exists, and a value
without evidence is recognisable: its interval stays as wide as its prior.
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
"""Relative improvement below which a step is within the grain of the simulation."""
_IDENTIFIED_BELOW = 0.5
"""Standard deviation of an identified value at most, as a share of its prior's spread."""
_ROWS_NAMED = 3
_STANDARD_95 = 1.96


@dataclass(frozen=True)
class Unknown:
    """A value to be fitted.

    Attributes:
        parameter: Its key, bounds and scale.
        prior: Its value before any row is seen.
        twins: Indices of the twins that share it.
    """

    parameter: Parameter
    prior: float
    twins: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Estimate:
    """The fitted value of an unknown.

    Attributes:
        parameter: The parameter.
        value: Its value.
        half_width: Half of the 95 % confidence interval.
        evidence: Indices, over the rows of all twins, of those that show it most; strongest first.
        identified: Whether the rows determine it.
    """

    parameter: Parameter
    value: float | int
    half_width: float
    evidence: tuple[int, ...]
    identified: bool

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval, cut at the parameter's bounds."""
        low, high = self.value - self.half_width, self.value + self.half_width
        return max(low, self.parameter.low), min(high, self.parameter.high)

    @property
    def at_bound(self) -> bool:
        """Whether the fit stopped at a bound: the rows then determine only a sum with another parameter."""
        return self.value in (self.parameter.low, self.parameter.high)


Evidence: TypeAlias = dict[tuple[int, str], list[int]]
"""Indices of a twin's rows that respond to a parameter at all, by the twin's index and the key."""


class JointFit:
    """Fits unknowns of some twins to their rows; the twins keep the values found.

    Every row has two residuals, in the order of twins and rows; the priors follow, one each.

    Attributes:
        evidence: Which rows show which parameters; reusable for another fit of the same twins.
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
        """The estimates, and the residuals that remain.

        Args:
            patient: Fit first with a wider robust scale: far from the solution, every row looks like an outlier.
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
        """Central differences of one twin's rows over the unknowns' steps, all simulated in one call.

        A row that did not respond to an unknown the first time is not simulated for it again.
        """
        twin = self._twins[number]
        mine = [column for column, one in enumerate(self._unknowns) if number in one.twins]
        variants: list[Values] = []
        widths = []
        for column in mine:
            parameter = self._unknowns[column].parameter
            ends = [parameter.rounded(float(vector[column]) + side * parameter.step) for side in (-1, 1)]
            widths.append(ends[1] - ends[0])
            variants += [{**self._values(vector, number), parameter.key: end} for end in ends]
        everything = list(range(len(twin.rows)))
        keys = [(number, self._unknowns[column].parameter.key) for column in mine]
        asked = [self.evidence.get(key, everything) for key in keys]
        found = twin.predict(variants, [rows for rows in asked for _ in range(2)])
        for nth, (column, rows) in enumerate(zip(mine, asked, strict=True)):
            measured = [twin.rows[row] for row in rows]
            below, above = (residuals(measured, found[2 * nth + side]) for side in (0, 1))
            slope = ((above - below) / widths[nth]).reshape(-1, 2)
            begin = self._starts[number]
            for row, pair in zip(rows, slope, strict=True):
                jacobian[begin + 2 * row : begin + 2 * row + 2, column] = pair
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
        for column, unknown in enumerate(self._unknowns):
            strongest = np.argsort(-answers[:, column], kind="stable")[:_ROWS_NAMED]
            estimates.append(
                Estimate(
                    unknown.parameter,
                    unknown.parameter.rounded(float(vector[column])),
                    float(_STANDARD_95 * unit * deviations[column]),
                    tuple(int(row) for row in strongest if answers[row, column] > 0),
                    bool(deviations[column] < _IDENTIFIED_BELOW * self._spreads[column]),
                )
            )
        return estimates
