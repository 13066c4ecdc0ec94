"""Search the cheapest combination that meets all targets, and prove that none is cheaper.

A combination that fails excludes the weaker ones, one that meets all targets excludes the dearer ones. The search
asks for the one that is expected to exclude most: it is a bisection where one key is free, and its form in several
dimensions elsewhere. Order never changes the answer: the search ends when each cheaper combination is excluded.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pcielab.design.knowledge import Knowledge, Needs
from pcielab.design.measuring import Measuring, Pair
from pcielab.design.space import Grid, Point

_AT_ONCE = 2
"""Questions that are asked together: all are answered, even if the first one settles the matter."""
Shown = Callable[[int, int, float | None], None]
"""Called with the combinations that are excluded, all of them, and the least cost so far."""


@dataclass(frozen=True)
class Found:
    """The outcome of a search.

    Attributes:
        point: The cheapest combination that meets all targets; None if none does.
        cost: Its cost.
        least_by_bounds: The least cost of a combination that the closed form does not exclude: no directions of
            keys are needed to know that nothing is cheaper. None if it excludes all.
        cheaper: Cheaper combinations.
        by_bounds: Those of them that the closed form excludes.
        by_simulation: Those that were simulated themselves, beyond.
        by_direction: Those that are weaker than one that was simulated, beyond.
    """

    point: Point | None
    cost: float | None
    least_by_bounds: float | None
    cheaper: int
    by_bounds: int
    by_simulation: int
    by_direction: int

    @property
    def gap(self) -> float:
        """The most by which the cost can exceed the optimum if no key had a direction, as a share."""
        if self.cost is None or self.least_by_bounds is None or self.cost <= 0:
            return 0.0
        return max(0.0, 1 - self.least_by_bounds / self.cost)


class Search:
    """Searches of one problem that share what is known."""

    def __init__(self, knowledge: Knowledge, measuring: Measuring, shown: Shown = lambda *_: None) -> None:
        self._knowledge = knowledge
        self._measuring = measuring
        self._shown = shown
        self._space = knowledge.problem.space
        self.costs = self._space.costs()
        order = np.argsort(self.costs.ravel(), kind="stable")
        rank = np.empty(order.size, dtype=np.int64)
        rank[order] = np.arange(order.size)
        self._rank = rank.reshape(self._space.shape)

    def cheapest(self, needs: Needs) -> Found:
        """The cheapest combination with these scores; of several with one cost the first in the keys' order."""
        accepted: set[Point] = set()
        while True:
            fails = self._knowledge.fails(needs)
            best = min((point for point in accepted if not fails[point]), key=self._rank_of, default=None)
            open_ = ~fails if best is None else ~fails & (self._rank < self._rank[best])
            self._show(open_, best)
            if open_.any():
                point = self._most_telling(open_, needs)
                if self._try(point, needs, inferred=True):
                    accepted.add(point)
            elif best is None or self._try(best, needs, inferred=False):
                return self._found(best, needs)

    def _try(self, point: Point, needs: Needs, *, inferred: bool) -> bool:
        """Simulate a combination until it fails or meets all targets."""
        while missing := self._knowledge.missing(point, needs, inferred=inferred):
            some = missing[:_AT_ONCE]
            found = self._measuring.measure(
                self._knowledge.problem, [(point, pair) for pair in some], lambda pair: _need(needs, pair)
            )
            for pair, measured in zip(some, found, strict=True):
                self._knowledge.learn(point, pair, measured)
            if any(one.score < _need(needs, pair) for pair, one in zip(some, found, strict=True)):
                return False
        return True

    def _most_telling(self, open_: Grid, needs: Needs) -> Point:
        """The combination that excludes most, by a guess of the chance that it meets all targets."""
        ranks = np.sort(self._rank[open_])
        dearer = len(ranks) - np.searchsorted(ranks, self._rank)
        weaker = open_.astype(np.int64)
        latency = all(target.is_latency for target in self._knowledge.problem.targets)
        for number, axis in enumerate(self._space.axes):
            if axis.helps(latency=latency):
                weaker = np.cumsum(weaker, axis=number)
        chance = self._knowledge.chance(needs)
        worth = np.where(open_, chance * dearer + (1 - chance) * weaker, -1.0)
        best = np.flatnonzero(worth.ravel() == worth.max())
        flat = best[np.argmin(self._rank.ravel()[best])]
        return tuple(int(index) for index in np.unravel_index(flat, self._space.shape))

    def _rank_of(self, point: Point) -> int:
        return int(self._rank[point])

    def _show(self, open_: Grid, best: Point | None) -> None:
        count = self._space.count
        self._shown(count - int(open_.sum()), count, None if best is None else float(self.costs[best]))

    def _found(self, point: Point | None, needs: Needs) -> Found:
        by_bounds = self._knowledge.fails_by_bounds(needs)
        left = self.costs[~by_bounds]
        least = float(left.min()) if left.size else None
        cheaper = np.ones(self._space.shape, dtype=bool) if point is None else self._rank < self._rank[point]
        simulated = np.zeros(self._space.shape, dtype=bool)
        for (one, pair), measured in self._knowledge.simulated.items():
            need = needs[pair[1]]
            simulated[one] |= need is not None and measured.score < need
        return Found(
            point,
            None if point is None else float(self.costs[point]),
            least,
            int(cheaper.sum()),
            int((cheaper & by_bounds).sum()),
            int((cheaper & ~by_bounds & simulated).sum()),
            int((cheaper & ~by_bounds & ~simulated).sum()),
        )


def _need(needs: Needs, pair: Pair) -> float:
    need = needs[pair[1]]
    assert need is not None, "a target that does not count is not asked for"
    return need
