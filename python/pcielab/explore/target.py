"""The smallest change of a page's values that makes its test meet a target, for the page with sliders.

`pcielab.design` searches: the closed form excludes, the simulator decides. Each step away from a present value
costs one. Few keys, few steps and a limit of simulated tests keep an answer within seconds.

Stands alone: one page asks this.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from pcielab import _core
from pcielab.analysis.why.predicted import no_progress
from pcielab.design.knowledge import Knowledge
from pcielab.design.measuring import Measured, Measuring
from pcielab.design.problem import Host, Problem
from pcielab.design.search import Search
from pcielab.design.space import Axis, Point, Space, space_of
from pcielab.design.spec import Better, DesignFile, FreeTable
from pcielab.design.targets import targets_of
from pcielab.errors import refusal
from pcielab.explore.question import Question, Systems, question_of
from pcielab.library.profiles import ResolvedSystem
from pcielab.library.profiles.keys import Key, keys_of
from pcielab.wording import shown
from pcielab.work.effort import Progress

STEPS = 2
"""Most steps of a key in its direction, away from its present value; one each way if it has no direction."""
MOST_SIMULATED = 64
"""Most tests that are simulated for an answer."""
MOST_SECONDS = 10.0
"""Time limit of a search; the test in progress is completed."""
KEYS = ("link.generation", "link.lanes", "link.mps_bytes", "link.mrrs_bytes", "link.tags")
"""The keys that may change. Of two changes with as many steps, the one of the later key is the answer."""
_OUTSTANDING = "target.outstanding"
_FLIT = {"link.flit": True}
_PAIR = (0, 0)
_MOST_TARGET = 1e12


def answered(asked: Any, systems: Systems, progress: Progress = no_progress) -> dict[str, Any]:
    """What to change so that a test meets a target.

    Args:
        asked: The `question` of a page, the `operation` of its bandwidth or latency, and the `target`: the least
            Gb/s, or the largest median in ns.
        systems: The systems of the server.
        progress: Called before each simulated test.

    Returns:
        `is_met` (None: stopped without an answer), `changes` by dotted key, `outstanding` of the test, and the
        `sentence` for people.

    Raises:
        InputError: A value is refused, or the test is impossible.
    """
    if not isinstance(asked, Mapping):
        raise refusal("wrong-type", "give an object")
    question, operation, limit = question_of(asked.get("question")), asked.get("operation"), asked.get("target")
    if operation not in (question.bandwidth, question.latency):
        raise refusal("wrong-value", "operation: give the question's `bandwidth` or `latency`")
    is_latency = operation == question.latency
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit <= _MOST_TARGET:
        unit = "ns" if is_latency else "Gb/s"
        raise refusal("wrong-value", f"target is {shown(limit)}: give a number of {unit} above 0")
    question.suite(str(operation))
    problem = _problem(question, systems.resolved(question), str(operation), float(limit), is_latency=is_latency)
    return _Answering(problem, question, progress).answer()


@dataclass(frozen=True)
class _PairedSpace(Space):
    """A space in which some generations need flit mode, too."""

    beside: Mapping[Any, Mapping[str, Any]] = field(default_factory=dict)

    def values(self, point: Point) -> dict[str, Any]:
        found = super().values(point)
        return {**found, **self.beside.get(found.get(KEYS[0]), {})}


def _problem(
    question: Question, system: ResolvedSystem, operation: str, limit: float, *, is_latency: bool
) -> Problem:
    """The search as a problem of `pcielab.design`."""
    keys = {key.key: key for key in keys_of(system.system, system.source_of)}
    tables = [_table(name, *_ladder(keys[name])) for name in KEYS if _is_free(keys.get(name))]
    # A test of latency has one transfer in flight.
    if question.outstanding is not None and not is_latency:
        tables.append(_table(_OUTSTANDING, *_doubled(question.outstanding, 1, math.inf), "more"))
    file = DesignFile.model_validate(
        {
            "name": "target",
            "title": system.title,
            "hosts": [question.system],
            "free": [table.model_dump() for table in tables],
            "target": [
                {
                    "name": operation,
                    "test": operation,
                    "with": question.words(),
                    "at_most_median_ns" if is_latency else "at_least_gbps": limit,
                }
            ],
        }
    )
    near = (_near(axis, is_latency=is_latency) for axis in space_of(file.free).axes)
    axes = tuple(axis for axis in near if len(axis.values) > 1)
    generations = next((axis.values for axis in axes if axis.name == KEYS[0]), ())
    space = _PairedSpace(axes, _beside(system.handle, generations))
    host = Host(question.system, system.title, system.handle, question.system, question.sets)
    return Problem(file, (host,), targets_of(file), space)


def _is_free(key: Key | None) -> bool:
    return key is not None and isinstance(key.value, int) and len(_ladder(key)[0]) > 1


def _ladder(key: Key) -> tuple[list[Any], int]:
    """The values of a key near its present one, in order, and the position of that."""
    value = key.value
    assert isinstance(value, int), "only keys with a whole number are free"
    if value not in key.choices:
        return _doubled(value, key.least or 1, math.inf if key.most is None else key.most)
    choices = list(key.choices)
    at = choices.index(value)
    first = max(0, at - STEPS)
    return choices[first : at + STEPS + 1], at - first


def _doubled(value: int, least: float, most: float) -> tuple[list[Any], int]:
    """A value with its halves and doubles, and its position."""
    lower = [value >> step for step in range(STEPS, 0, -1) if value >> step >= least]
    return [*lower, value, *(value << step for step in range(1, STEPS + 1) if value << step <= most)], len(lower)


def _table(key: str, values: list[Any], at: int, better: Better | None = None) -> FreeTable:
    """A free key, with a cost of one for each step from the value at a position."""
    cost = [float(abs(number - at)) for number in range(len(values))]
    return FreeTable(key=key, values=values, cost=cost, better=better)


def _near(axis: Axis, *, is_latency: bool) -> Axis:
    """A free key with its present value and the stronger ones; without a direction, with the next ones."""
    at, count = axis.costs.index(0.0), len(axis.values)
    first, last = (at, count) if axis.helps(latency=is_latency) else (max(0, at - 1), min(count, at + 2))
    return replace(axis, values=axis.values[first:last], costs=axis.costs[first:last])


def _beside(system: _core.System, generations: Sequence[Any]) -> dict[Any, Mapping[str, Any]]:
    """The generations that are possible in flit mode only, with the change to it."""
    alone = system.each_with([{KEYS[0]: value} for value in generations])
    in_flits = system.each_with([{KEYS[0]: value, **_FLIT} for value in generations])
    return {
        value: _FLIT
        for value, one, other in zip(generations, alone, in_flits, strict=True)
        if one is None and other is not None
    }


class _StopError(Exception):
    """The limit of a search is reached."""


class _Answering:
    """The search of one problem and its answer."""

    def __init__(self, problem: Problem, question: Question, progress: Progress) -> None:
        self._problem, self._question, self._progress = problem, question, progress
        [self._target] = problem.targets
        self._knowledge = Knowledge(problem)
        self._ends = time.monotonic() + MOST_SECONDS

    def answer(self) -> dict[str, Any]:
        with Measuring() as measuring:
            search = Search(self._knowledge, measuring, lambda *_: self._go_on(measuring))
            self._learn(measuring, [self._present])
            if self._meets(self._present):
                return self._met(self._present)
            # These exclude most where no combination meets the target, and one of them gives the most.
            self._learn(measuring, self._strongest)
            try:
                point, is_stopped = search.cheapest([1.0]).point, False
            except _StopError:
                point, is_stopped = self._cheapest_met(search), True
            if point is not None:
                return self._met(point, measuring.simulated if is_stopped else None)
            return self._stopped(measuring.simulated) if is_stopped else self._unmet()

    @property
    def _present(self) -> Point:
        return tuple(axis.costs.index(0.0) for axis in self._problem.space.axes)

    @property
    def _strongest(self) -> list[Point]:
        """Each value of keys without a direction, with the last ones of the others."""
        latency = self._target.is_latency
        return list(
            product(
                *(
                    [len(axis.values) - 1] if axis.helps(latency=latency) else range(len(axis.values))
                    for axis in self._problem.space.axes
                )
            )
        )

    def _go_on(self, measuring: Measuring) -> None:
        """Stop a search that has simulated its most, or takes too long."""
        self._progress(measuring.simulated, MOST_SIMULATED)
        if measuring.simulated >= MOST_SIMULATED or time.monotonic() > self._ends:
            raise _StopError

    def _learn(self, measuring: Measuring, points: Sequence[Point]) -> None:
        asked = [(point, _PAIR) for point in points]
        for point, measured in zip(points, measuring.measure(self._problem, asked, lambda _: 1.0), strict=True):
            self._knowledge.learn(point, _PAIR, measured)

    def _meets(self, point: Point) -> bool:
        return self._knowledge.simulated[point, _PAIR].score >= 1

    def _cheapest_met(self, search: Search) -> Point | None:
        """Of the simulated combinations that meet the target, the one with the fewest steps."""
        met = [point for point, _ in self._knowledge.simulated if self._meets(point)]
        return min(met, key=lambda point: (float(search.costs[point]), point), default=None)

    def _met(self, point: Point, stopped_after: int | None = None) -> dict[str, Any]:
        changes = self._changes(point)
        what = _listed(changes) if changes else "No change is needed"
        sentence = f"{what}: {self._value(point)} meets the target, {self._target.in_words}; {self._binds(point)}."
        if stopped_after is not None:
            sentence += f" Stopped after {stopped_after} simulated tests: a smaller change may do."
        return self._found(changes, sentence, is_met=True)

    def _unmet(self) -> dict[str, Any]:
        """The answer if no combination meets the target: the most that was simulated."""
        best: dict[Point, Measured] = {point: one for (point, _), one in self._knowledge.simulated.items()}
        point = max(sorted(best), key=lambda one: best[one].score)
        ranges = ", ".join(
            f"{axis.name.removeprefix('target.')} {axis.values[0]} to {axis.values[-1]}"
            for axis in self._problem.space.axes
        )
        if best[point].value is None:
            impossible = f"No combination of {ranges} can run this test: {best[point].message}."
            return self._found({}, impossible, is_met=False)
        changes = self._changes(point)
        most = "least" if self._target.is_latency else "most"
        how = f"with {_listed(changes)}" if changes else "without a change"
        sentence = (
            f"No combination of {ranges} meets the target, {self._target.in_words}: "
            f"the {most} is {self._value(point)} {how}; {self._binds(point)}."
        )
        return self._found({}, sentence, is_met=False)

    def _stopped(self, simulated: int) -> dict[str, Any]:
        sentence = (
            f"Stopped after {simulated} simulated tests without an answer: give a target nearer to the present "
            "value, or a smaller window or size."
        )
        return self._found({}, sentence, is_met=None)

    def _found(
        self, changes: Mapping[str, tuple[Any, Any]], sentence: str, *, is_met: bool | None
    ) -> dict[str, Any]:
        after = {key: new for key, (_, new) in changes.items()}
        outstanding = after.pop("outstanding", self._question.outstanding)
        return {"is_met": is_met, "changes": after, "outstanding": outstanding, "sentence": sentence}

    def _changes(self, point: Point) -> dict[str, tuple[Any, Any]]:
        """The values of a combination that differ from the present ones, with those."""
        system = self._problem.hosts[0].handle
        found = {}
        for key, new in self._problem.space.values(point).items():
            old = self._question.outstanding if key == _OUTSTANDING else system.get(key)
            if new != old:
                found[key.removeprefix("target.")] = (old, new)
        return found

    def _value(self, point: Point) -> str:
        """What a combination gives."""
        return f"{self._knowledge.simulated[point, _PAIR].value:.4g} {self._target.unit} (simulated)"

    def _binds(self, point: Point) -> str:
        """What binds a combination in closed form."""
        bound = self._problem.bound(point, *_PAIR)
        return "no bound binds a latency" if bound is None else f"the binding bound is {bound[0]}"


def _listed(changes: Mapping[str, tuple[Any, Any]]) -> str:
    return ", ".join(f"{key} {shown(old)} -> {shown(new)}" for key, (old, new) in changes.items())
