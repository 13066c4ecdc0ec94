"""The points of a sweep: a grid of lists, times draws from ranges, in a fixed order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, Literal, TypeAlias

from pcielab.errors import refusal
from pcielab.extras import needed
from pcielab.library.profiles import ResolvedSystem, load_system
from pcielab.library.profiles.files import PARTS
from pcielab.library.suites import Suite, single_test
from pcielab.library.suites.parameter import PARAMETERS
from pcielab.sweeps.axes import SYSTEM, TEST_COLUMNS, Axis, Between
from pcielab.wording import shown

Method: TypeAlias = Literal["hypercube", "sobol"]
MOST_POINTS = 1_000_000
"""Most points of a sweep: hours of one core."""
_TEXTS = frozenset(parameter.word for parameter in PARAMETERS if parameter.kind == "word")
_SIZES = frozenset(parameter.word for parameter in PARAMETERS if parameter.kind == "size")
_DEFAULT_TEST = "bw-rd"


@dataclass(frozen=True)
class Draws:
    """Draws from ranges.

    Attributes:
        method: A Latin hypercube, which covers each range evenly; or Saltelli's design for Sobol indices.
        count: Points of a hypercube; for Sobol, the base of the design, a power of two: the design has `count`
            times (ranges + 2) points.
        seed: Seed of the draws.
    """

    method: Method = "hypercube"
    count: int = 64
    seed: int = 1


@dataclass(frozen=True)
class Setting:
    """The values, system and test of one point.

    Attributes:
        values: The value of each axis, by its column.
        system: The system, resolved.
        suite: The test, as a suite of one.
    """

    values: Mapping[str, Any]
    system: ResolvedSystem
    suite: Suite


@dataclass(frozen=True)
class Plan:
    """A sweep before it is simulated.

    Attributes:
        system: The system, unless an axis changes it.
        axes: The axes, in the given order.
        draws: The draws from ranges.
    """

    system: ResolvedSystem
    axes: Sequence[Axis]
    draws: Draws = Draws()

    @property
    def varying(self) -> list[Axis]:
        """The axes with more than one value."""
        return [axis for axis in self.axes if axis.varies]

    @property
    def ranges(self) -> list[Axis]:
        """The axes whose values are drawn."""
        return [axis for axis in self.axes if axis.range is not None]

    @property
    def count(self) -> int:
        """Number of points."""
        return prod(len(axis.values) for axis in self._lists) * self._draws_count

    @property
    def _lists(self) -> list[Axis]:
        return [axis for axis in self.axes if axis.range is None]

    @property
    def _draws_count(self) -> int:
        if not self.ranges:
            return 1
        return self.draws.count * (len(self.ranges) + 2 if self.draws.method == "sobol" else 1)

    def settings(self) -> Iterator[Setting]:
        """The settings of all points: lists vary in the given order, the last one fastest, draws innermost.

        Raises:
            InputError: There are too many points, or one is wrong; the message names it.
        """
        if self.count > MOST_POINTS:
            raise refusal(
                "too-large", f"{self.count} points: give {MOST_POINTS} at most: shorter lists, or fewer draws"
            )
        lists, shares, systems = self._lists, self._shares(), _Systems(self.system)
        for combined in product(*(axis.values for axis in lists)):
            fixed = {axis.key: value for axis, value in zip(lists, combined, strict=True)}
            for row in shares:
                drawn = {
                    axis.key: self._drawn(axis, axis.range, share)
                    for axis, share in zip(self.ranges, row, strict=True)
                    if axis.range is not None
                }
                yield self._setting(fixed | drawn, systems)

    def _shares(self) -> Sequence[Sequence[float]]:
        """The share of each range in every draw; a single empty draw without ranges."""
        if not self.ranges:
            return [()]
        if self.draws.method == "hypercube":
            qmc = needed("scipy.stats", "sweep").qmc
            hypercube = qmc.LatinHypercube(d=len(self.ranges), rng=self.draws.seed)
            return [[float(share) for share in row] for row in hypercube.random(self.draws.count)]
        if self.draws.count & (self.draws.count - 1):
            raise refusal(
                "wrong-value", f"{self.draws.count} draws: give a power of two for sobol, for example 64"
            )
        sample = needed("SALib.sample.sobol", "sweep")
        rows = sample.sample(problem(self), self.draws.count, calc_second_order=False, seed=self.draws.seed)
        return [[float(share) for share in row] for row in rows]

    def _drawn(self, axis: Axis, range_: Between, share: float) -> Any:
        value = range_.at(share)
        return round(value) if self._is_whole(axis) else value

    def _is_whole(self, axis: Axis) -> bool:
        if axis.key in TEST_COLUMNS:
            return axis.key not in _TEXTS
        return isinstance(value_at(self.system.system.dump(), axis.key), int)

    def _setting(self, values: Mapping[str, Any], systems: "_Systems") -> Setting:
        changes = {key: value for key, value in values.items() if key not in TEST_COLUMNS}
        words = {key: _checked(key, value) for key, value in values.items() if key in TEST_COLUMNS}
        system = systems.changed(changes)
        suite = single_test(str(words.pop("test", _DEFAULT_TEST)), **words)
        converted = {axis.column: _converted(axis, values[axis.key], system, suite) for axis in self.axes}
        return Setting(converted, system, suite)


class _Systems:
    """Makes the systems of a sweep, and keeps the last one, which consecutive points often share."""

    def __init__(self, base: ResolvedSystem) -> None:
        self._base = base
        self._last: tuple[Mapping[str, Any], ResolvedSystem] = ({}, base)

    def changed(self, changes: Mapping[str, Any]) -> ResolvedSystem:
        """The system with changes, in addition to those of all points."""
        if changes != self._last[0]:
            single = {key: value for key, value in changes.items() if key != SYSTEM}
            other = SYSTEM in changes
            base = load_system(str(changes[SYSTEM])).with_(self._base.overrides) if other else self._base
            self._last = (changes, base.with_(single))
        return self._last[1]


def _checked(word: str, value: Any) -> Any:
    """Check the type of a word of a test, for the test's own checks."""
    kinds: tuple[type, ...] = (int,)
    wanted = "a whole number"
    if word in _TEXTS:
        kinds, wanted = (str,), "a word"
    elif word in _SIZES:
        kinds, wanted = (int, str), "a size, for example 64 or '4K'"
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise refusal("wrong-value", f"{word} is {shown(value)}: give {wanted}")
    return value


def _converted(axis: Axis, value: Any, system: ResolvedSystem, suite: Suite) -> Any:
    """A value as the simulator takes it: `"4K"` is 4096."""
    if axis.key in TEST_COLUMNS:
        return getattr(suite.entries[0].parameters, axis.column)
    if axis.key == SYSTEM or axis.key in PARTS:
        return value
    return value_at(system.system.dump(), axis.key)


def value_at(values: Any, key: str) -> Any:
    """The value of a dotted key in nested tables and lists; None if there is none."""
    for step in key.split("."):
        if isinstance(values, list):
            values = next((value for number, value in enumerate(values) if str(number) == step), None)
        else:
            values = values.get(step) if isinstance(values, dict) else None
    return values


def problem(plan: Plan) -> dict[str, Any]:
    """The ranges as SALib takes them: shares from 0 to 1, since ranges apply their own scale."""
    names = [axis.column for axis in plan.ranges]
    return {"num_vars": len(names), "names": names, "bounds": [[0.0, 1.0]] * len(names)}
