"""The models of suite files, and the unfolding of their groups into tests."""

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import product
from math import prod
from string import Formatter
from typing import Annotated, Any, Self, TypeAlias

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from pcielab.errors import InputError, wrong_value
from pcielab.library.alike import suggestion
from pcielab.library.profiles.part import Name, Part, Title
from pcielab.library.profiles.provenance import Provenance
from pcielab.library.profiles.quantity_types import Count
from pcielab.library.suites.benchmark import BENCHMARKS, Test, impossible, published_transactions
from pcielab.library.suites.lists import AXES, LISTS, Axis, Lists
from pcielab.library.suites.parameter import Parameter
from pcielab.library.suites.parameters import PARAMETERS, Parameters
from pcielab.wording import shown

Values: TypeAlias = dict[str, Any]
"""Values of parameters that vary together."""
MOST_TESTS = 100_000
"""Most tests of a suite: forty times those of the published one."""
_WIDTH = re.compile(r"0?\d{0,2}", re.ASCII)
"""Allowed formats of a size in a family: `{size:02}`."""


def _known_test(value: object) -> object:
    if isinstance(value, str) and value not in BENCHMARKS:
        raise PydanticCustomError(
            "unknown_test", "unknown test: {remedy}", {"remedy": suggestion(value, BENCHMARKS)}
        )
    return value


def _check_family(text: str) -> None:
    """Refuse a family with placeholders other than `{direction}` and `{size}`; only the size may have a width."""
    try:
        fields = [part[1:] for part in Formatter().parse(text) if part[1] is not None]
    except ValueError as error:
        raise ValueError(f"family is {shown(text)}: {error}") from None
    for name, width, conversion in fields:
        if name not in ("direction", "size") or conversion:
            raise ValueError(f"family is {shown(text)}: only {{direction}} and {{size}} are placeholders")
        if width and (name != "size" or not _WIDTH.fullmatch(width)):
            raise ValueError(f"family is {shown(text)}: give a width of at most two digits, to sizes: {{size:02}}")


def families_called(families: Sequence[str], known: Iterable[str], suite: str) -> set[str]:
    """The families of a suite that match patterns with `*` and `?`."""
    names = list(dict.fromkeys(known))
    for family in families:
        if not any(fnmatchcase(name, family) for name in names):
            raise InputError(f"suite {suite} has no family {shown(family)}: {suggestion(family, names)}")
    return {name for name in names if any(fnmatchcase(name, family) for family in families)}


def check_count(tests: int) -> None:
    """Refuse a suite of too many tests before it is unfolded."""
    if tests > MOST_TESTS:
        raise ValueError(
            f"{tests} tests: give {MOST_TESTS} at most: fewer entries in the lists, or several suites"
        )


def check_loop(loop: Sequence[str], axes: dict[Any, list[Any]]) -> None:
    """Refuse a loop that repeats an axis or lacks one with several entries, and too many tests."""
    if len(set(loop)) < len(loop):
        raise wrong_value("loop", shown(loop), "each entry once")
    unnamed = [axis for axis, values in axes.items() if len(values) > 1 and axis not in loop]
    if unnamed:
        raise wrong_value("loop", shown(loop), f"add {', '.join(unnamed)}, which has several entries")
    check_count(count(axes))


def count(axes: dict[Any, list[Any]]) -> int:
    """Number of tests of a group with these lists."""
    return prod(len(values) for values in axes.values())


TestName = Annotated[str, BeforeValidator(_known_test)]


class Group(Lists):
    """Tests that share a family (a file of the published format): all combinations of some lists."""

    family: Name
    """File of the results. `{direction}` stands for the test's `rd`, `wr`, `rw` or `wrrd`, `{size}` for its size,
    `{size:02}` with two digits."""
    loop: list[Axis] = Field(default=[])
    """Order of the nested loops, outermost first: every list with more than one entry must be named."""
    tests: list[TestName] = Field(min_length=1)
    """Published names of the micro-benchmarks."""
    transactions: Count | None = None
    """Transactions of each test; absent: the published suite's number for its operation."""
    details: bool = False
    """Whether the result includes the full distribution."""

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        _check_family(self.family)
        check_loop(self.loop, self._axes())
        return self

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        for test in self.unfold():
            problem = impossible(test.parameters)
            if problem is not None:
                raise ValueError(f"{test.name} where {problem.key} is {problem.value}: {problem.remedy}")
        return self

    def unfold(self) -> Iterator[Test]:
        """The tests of the group, in run order."""
        axes = self._axes()
        order = [*self.loop, *(axis for axis in AXES if axis not in self.loop)]
        for values in product(*(axes[axis] for axis in order)):
            yield self._test({key: value for varied in values for key, value in varied.items()})

    @property
    def count(self) -> int:
        """Number of tests of the group."""
        return count(self._axes())

    def _axes(self) -> dict[Axis, list[Values]]:
        lists = {
            axis: [parameter for parameter in PARAMETERS if parameter.axis == axis and parameter.key in LISTS]
            for axis in AXES
        }
        return {axis: self._values(varied) for axis, varied in lists.items() if varied} | {
            "test": [{"name": name} for name in self.tests]
        }

    def _values(self, varied: Sequence[Parameter]) -> list[Values]:
        """The values of an axis: those of each of its parameters, the others at their defaults."""
        plain = {parameter.key: parameter.default for parameter in varied}
        listed = [
            plain | {parameter.key: value} for parameter in varied for value in getattr(self, LISTS[parameter.key])
        ]
        return listed or [plain]

    def _test(self, at: Values) -> Test:
        name = at.pop("name")
        operation, path = BENCHMARKS[name]
        parameters = Parameters(
            operation=operation,
            path=path,
            transactions=self.transactions or published_transactions(operation, self.details),
            details=self.details,
            **at,
        )
        direction = name.rpartition("_")[2].lower()
        return Test(self.family.format(direction=direction, size=parameters.size_bytes), name, parameters)


class SuiteFile(Part):
    """A file under `suites`."""

    name: Name
    """Short name."""
    title: Title
    """One line for people."""
    provenance: Provenance
    """Source of the list of tests."""
    group: list[Group] = Field(min_length=1)
    """Groups of tests, in run order."""

    @model_validator(mode="after")
    def _is_short_enough(self) -> Self:
        check_count(sum(group.count for group in self.group))
        return self
