"""What is known of the scores of all combinations: bounds in closed form, simulations, and what follows from them.

A simulation says something of other combinations where keys have a direction: one that is nowhere weaker scores at
least as much, within `SLACK`, because a simulated value varies with its draws.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from pcielab.design.measuring import Measured, Pair
from pcielab.design.problem import Problem
from pcielab.design.space import Grid, Point
from pcielab.sweeps.run import Progress, no_progress

SLACK = 0.01
"""A stronger combination may score less by this share; a weaker one more."""
_USUAL_RATIO = 0.97
"""Simulated rate over its bound, before anything is simulated: it orders the search and decides nothing."""
Needs: TypeAlias = Sequence[float | None]
"""The needed score of every target; None for one that does not count."""


class Knowledge:
    """Bounds and simulations of every host with every target.

    Attributes:
        simulated: Every simulation, by combination, host and target.
    """

    def __init__(self, problem: Problem, progress: Progress = no_progress) -> None:
        self.problem = problem
        shape = (len(problem.hosts), len(problem.targets), *problem.space.shape)
        self.bound = np.full(shape, np.inf)
        if problem.is_simulated:
            self.bound = np.stack([self._bounds(host, progress) for host in range(len(problem.hosts))])
        self.simulated: dict[tuple[Point, Pair], Measured] = {}
        self._known = np.full(self.bound.shape, np.nan)
        self._upper = self.bound.copy()
        self._lower = np.zeros(self.bound.shape)
        self._slack = SLACK if problem.is_simulated else 0.0
        self._ratio = np.full(self.bound.shape[:2], _USUAL_RATIO)

    def learn(self, point: Point, pair: Pair, measured: Measured) -> None:
        """Keep what a combination gave, and what follows for weaker and stronger ones."""
        self.simulated[point, pair] = measured
        self._known[(*pair, *point)] = measured.score
        space, latency = self.problem.space, self.problem.targets[pair[1]].is_latency
        upper = self._upper[pair][space.below(point, latency=latency)]
        np.minimum(upper, measured.score * (1 + self._slack), out=upper)
        lower = self._lower[pair][space.above(point, latency=latency)]
        np.maximum(lower, measured.score * (1 - self._slack), out=lower)
        bound = self.bound[(*pair, *point)]
        if 0 < bound < np.inf:
            self._ratio[pair] = measured.score / bound

    def fails(self, needs: Needs) -> Grid:
        """Of every combination whether it is known to miss a target on a host."""
        return self._any(needs, self._fails)

    def fails_by_bounds(self, needs: Needs) -> Grid:
        """The same from the closed form alone."""
        return self._any(needs, lambda pair, need: self.bound[pair] < need)

    def missing(self, point: Point, needs: Needs, *, inferred: bool) -> list[Pair]:
        """Hosts and targets that a combination was not simulated for, the least certain first.

        Args:
            point: The combination.
            needs: The needed scores.
            inferred: Whether to leave out targets that it meets because a weaker one does.
        """
        found = []
        for pair in self.problem.pairs:
            need = needs[pair[1]]
            if need is None or not np.isnan(self._known[(*pair, *point)]):
                continue
            if inferred and self._lower[(*pair, *point)] >= need:
                continue
            found.append((self._expected(pair, need)[point], pair))
        return [pair for _, pair in sorted(found)]

    def meets(self, point: Point, needs: Needs) -> bool:
        """Whether simulations say that a combination meets all targets, or a weaker one that does."""
        return not self.missing(point, needs, inferred=True) and not self.fails(needs)[point]

    def chance(self, needs: Needs) -> Grid:
        """Of every combination a guess of the chance that it meets all targets; it only orders the search."""
        found = np.ones(self.problem.space.shape)
        for pair in self.problem.pairs:
            need = needs[pair[1]]
            if need is not None:
                met = np.clip(0.5 + 5 * (self._expected(pair, need) - 1), 0.05, 0.95)
                found = np.minimum(found, np.where(self._lower[pair] >= need, 1.0, met))
        return found

    def _bounds(self, host: int, progress: Progress) -> Grid:
        count, name = self.problem.space.count, self.problem.hosts[host].name
        return self.problem.bounds(host, lambda done: progress(done, count, f"bounds on {name}"))

    def _expected(self, pair: Pair, need: float) -> Grid:
        """A guess of every combination's score over the needed one."""
        bound = np.where(np.isfinite(self.bound[pair]), self.bound[pair] * self._ratio[pair], need)
        found: Grid = np.clip(bound, self._lower[pair], np.maximum(self._upper[pair], self._lower[pair])) / need
        return found

    def _fails(self, pair: Pair, need: float) -> Grid:
        known = self._known[pair]
        fails: Grid = np.where(np.isnan(known), self._upper[pair] < need, known < need)
        return fails

    def _any(self, needs: Needs, fails: Callable[[Pair, float], Grid]) -> Grid:
        found = np.zeros(self.problem.space.shape, dtype=bool)
        for pair in self.problem.pairs:
            need = needs[pair[1]]
            if need is not None:
                found |= fails(pair, need)
        return found
