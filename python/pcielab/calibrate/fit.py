"""The joint fit: all parameters of a machine from all its rows, by least squares.

What is believed of a parameter before any row is seen (its value on the base host, give or take its spread) takes part
like one more row. So the fit is never without a solution, and a parameter that the rows do not tell shows: its
interval is as wide afterwards as it was before.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from pcielab.calibrate.parameters import Parameter
from pcielab.calibrate.residuals import Residuals, residuals
from pcielab.calibrate.twin import Twin

Vector = NDArray[np.float64]

_EVALUATIONS_MOST = 12
_ROBUST_FROM = 3.0
"""Rows further off than this many units count less and less: they are not modelled, rather than badly fitted."""
_TOLD_BELOW = 0.5
"""A parameter is identified if its interval is narrower than this, relative to what was believed before."""
_ROWS_NAMED = 3
_STANDARD_95 = 1.96


@dataclass(frozen=True)
class Estimate:
    """What became of one parameter.

    Attributes:
        parameter: The parameter.
        value: Its value.
        half_width: Half of the 95 % confidence interval.
        rows: Numbers of the rows that tell it, the most telling first.
        identified: Whether the rows tell it at all; if not, `value` is that of the base host.
    """

    parameter: Parameter
    value: float | int
    half_width: float
    rows: tuple[int, ...]
    identified: bool


class JointFit:
    """Fits some parameters of a twin to its rows; the twin has the values found afterwards."""

    def __init__(self, twin: Twin, parameters: Sequence[Parameter], believed: Sequence[float]) -> None:
        self._twin = twin
        self._parameters = tuple(parameters)
        self._believed = np.array(believed, dtype=np.float64)
        self._spreads = np.array([one.spread for one in self._parameters])
        self._touched: list[list[int]] | None = None

    def run(self) -> tuple[list[Estimate], Residuals]:
        """The estimates, and the residuals that are left, two for each row."""
        start = np.array([float(self._twin.value(one.key)) for one in self._parameters])
        low = np.array([one.low for one in self._parameters], dtype=np.float64)
        high = np.array([one.high for one in self._parameters], dtype=np.float64)
        margin = 1e-6 * (high - low)
        result = least_squares(
            self._distance,
            np.clip(start, low + margin, high - margin),
            jac=self._slopes,
            bounds=(low, high),
            x_scale=self._spreads,
            loss="soft_l1",
            f_scale=_ROBUST_FROM,
            max_nfev=_EVALUATIONS_MOST,
            xtol=1e-4,
            ftol=1e-4,
        )
        self._twin.keep(self._values(result.x))
        slopes = self._slopes(result.x)
        left = self._distance(result.x)[: 2 * len(self._twin.rows)]
        return self._estimates(result.x, slopes, left), left

    def _values(self, vector: Vector) -> dict[str, float | int]:
        return {one.key: one.rounded(float(value)) for one, value in zip(self._parameters, vector, strict=True)}

    def _distance(self, vector: Vector) -> Vector:
        [predicted] = self._twin.predict([self._values(vector)])
        return np.concatenate([residuals(self._twin.rows, predicted), (vector - self._believed) / self._spreads])

    def _slopes(self, vector: Vector) -> Vector:
        """Derivatives over the parameters' steps, on both sides, of the rows that a parameter touches at all."""
        count = len(self._twin.rows)
        touched = self._touched or [list(range(count))] * len(self._parameters)
        variants, wanted, widths = [], [], []
        for place, parameter in enumerate(self._parameters):
            ends = [parameter.rounded(float(vector[place]) + sign * parameter.step) for sign in (-1, 1)]
            widths.append(ends[1] - ends[0])
            variants += [{**self._values(vector), parameter.key: end} for end in ends]
            wanted += [touched[place]] * 2
        found = self._twin.predict(variants, wanted)
        slopes = np.zeros((2 * count + len(self._parameters), len(self._parameters)))
        for place, rows in enumerate(touched):
            measured = [self._twin.rows[row] for row in rows]
            below, above = (residuals(measured, found[2 * place + side]) for side in (0, 1))
            slope = (above - below) / widths[place]
            for nth, row in enumerate(rows):
                slopes[2 * row : 2 * row + 2, place] = slope[2 * nth : 2 * nth + 2]
            slopes[2 * count + place, place] = 1 / self._spreads[place]
        if self._touched is None:
            answers = np.abs(slopes[: 2 * count]).reshape(count, 2, -1).max(axis=1)
            self._touched = [np.flatnonzero(answers[:, place]).tolist() for place in range(len(self._parameters))]
        return slopes

    def _estimates(self, vector: Vector, slopes: Vector, left: Residuals) -> list[Estimate]:
        count = 2 * len(self._twin.rows)
        weights = np.sqrt(1 / np.sqrt(1 + (left / _ROBUST_FROM) ** 2))
        weighted = slopes.copy()
        weighted[:count] *= weights[:, None]
        covariance = np.linalg.inv(weighted.T @ weighted)
        freedom = max(int(np.count_nonzero(left)) - len(self._parameters), 1)
        unit = max(1.0, float(np.sqrt(np.sum((left * weights) ** 2) / freedom)))
        believed = np.sqrt(np.diag(covariance)) / self._spreads
        answers = np.abs(slopes[:count]).reshape(-1, 2, len(self._parameters)).max(axis=1)
        estimates = []
        for place, parameter in enumerate(self._parameters):
            telling = [int(row) for row in np.argsort(-answers[:, place], kind="stable")[:_ROWS_NAMED]]
            estimates.append(
                Estimate(
                    parameter,
                    parameter.rounded(float(vector[place])),
                    float(_STANDARD_95 * unit * believed[place] * self._spreads[place]),
                    tuple(row for row in telling if answers[row, place] > 0),
                    bool(believed[place] < _TOLD_BELOW),
                )
            )
        return estimates
