"""The files that suites are kept in, and how a group of one unfolds into tests."""

import re
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from string import Formatter
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from pcielab.errors import InputError
from pcielab.profiles.part import Count, Name, Part, Size, Title
from pcielab.profiles.provenance import Provenance
from pcielab.quantities import MOST_SIZES, parse_range
from pcielab.suites.benchmark import (
    BENCHMARKS,
    Cache,
    Parameters,
    Pattern,
    Test,
    impossible,
    published_transactions,
)
from pcielab.validation import suggestion
from pcielab.wording import shown

Axis: TypeAlias = Literal["test", "size", "window", "cache", "pattern", "stride", "outstanding", "offset"]
AXES: tuple[Axis, ...] = ("test", "size", "window", "cache", "pattern", "stride", "outstanding", "offset")
MOST_TESTS = 100_000
"""Most tests of a suite: forty times those of the published one."""
_WIDTH = re.compile(r"0?\d{0,2}", re.ASCII)
"""How a size in a family may be written out: `{size:02}`."""


def _known_test(value: object) -> object:
    if isinstance(value, str) and value not in BENCHMARKS:
        raise PydanticCustomError(
            "unknown_test", "unknown test: {remedy}", {"remedy": suggestion(value, BENCHMARKS)}
        )
    return value


def _ranges(value: object) -> object:
    """Sizes with the ranges among them (`"240:271"`) spelled out."""
    if not isinstance(value, list):
        return value
    sizes: list[object] = []
    for item in value:
        sizes.extend(_spelled_out(item) if isinstance(item, str) and ":" in item else [item])
        if len(sizes) > MOST_SIZES:
            raise PydanticCustomError("range", "more than {most} sizes: give a step", {"most": MOST_SIZES})
    return sizes


def _spelled_out(text: str) -> list[int]:
    try:
        return parse_range(text, "range")
    except InputError:
        remedy = "give first:last or first:last:step, first <= last, {most} sizes at most"
        raise PydanticCustomError("range", remedy, {"most": MOST_SIZES}) from None


def _check_family(text: str) -> None:
    """Refuse a family in which anything but `{direction}` and `{size}`, with a width, stands for something."""
    try:
        fields = [part[1:] for part in Formatter().parse(text) if part[1] is not None]
    except ValueError as error:
        raise ValueError(f"family = {shown(text)}: {error}") from None
    for name, width, conversion in fields:
        if name not in ("direction", "size") or conversion:
            raise ValueError(f"family = {shown(text)}: only {{direction}} and {{size}} can stand for something")
        if width and (name != "size" or not _WIDTH.fullmatch(width)):
            raise ValueError(
                f"family = {shown(text)}: give a width of two digits at most, and to sizes: {{size:02}}"
            )


def check_count(tests: int) -> None:
    """Refuse a suite of too many tests before it is written out.

    Raises:
        ValueError: There are more than `MOST_TESTS`.
    """
    if tests > MOST_TESTS:
        raise ValueError(
            f"{tests} tests: give {MOST_TESTS} at most: fewer entries in the lists, or several suites"
        )


def check_loop(loop: Sequence[str], axes: dict[Any, list[Any]]) -> None:
    """Refuse a loop that names a list twice, or leaves out one with several entries; and too many tests.

    Raises:
        ValueError: Says which.
    """
    if len(set(loop)) < len(loop):
        raise ValueError(f"loop = {shown(loop)}: each entry once")
    unnamed = [axis for axis, values in axes.items() if len(values) > 1 and axis not in loop]
    if unnamed:
        raise ValueError(f"loop = {shown(loop)}: add {', '.join(unnamed)}, of which there is more than one")
    check_count(count(axes))


def count(axes: dict[Any, list[Any]]) -> int:
    """The tests of a group whose lists are these."""
    return prod(len(values) for values in axes.values())


TestName = Annotated[str, BeforeValidator(_known_test)]
Sizes = Annotated[
    list[Size], BeforeValidator(_ranges, json_schema_input_type=list[int | str]), Field(min_length=1)
]
Offset = Annotated[int, Field(ge=0, le=4095)]


class Group(Part):
    """Tests that share a family (a file of the published format), as lists that are combined with each other."""

    family: Name
    """File that the results belong to. `{direction}` stands for the test's `rd`, `wr`, `rw` or `wrrd`, `{size}`
    for its size, `{size:02}` with two digits."""
    loop: list[Axis] = Field(default=[])
    """What varies, outermost first: every list with more than one entry must be named."""
    tests: list[TestName] = Field(min_length=1)
    """Published names of the micro-benchmarks."""
    sizes: Sizes
    """Transfer sizes: bytes, `"4K"`, or a range such as `"240:271"`, both ends included."""
    windows: Sizes
    """Windows: bytes, `"4K"`, or a range."""
    caches: list[Cache] = Field(min_length=1)
    """Cache states."""
    patterns: list[Pattern] = Field(min_length=1)
    """Access patterns."""
    host_offsets: list[Offset] = Field(default=[])
    """Offsets from a cache line on the host, the card's being 0."""
    device_offsets: list[Offset] = Field(default=[])
    """Offsets on the card, the host's being 0; they come after the host offsets."""
    strides: list[Count] = Field(default=[1], min_length=1)
    """Units between two accesses of a strided pattern."""
    outstanding: list[Count] = Field(default=[])
    """Limits on requests in flight; without any, the card's own."""
    transactions: Count | None = None
    """Transactions of each test; absent: as many as the published suite has for its operation."""
    details: bool = False
    """Whether the full distribution is part of the result."""

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
                key, value, remedy = problem
                raise ValueError(f"{test.name} with {key} = {value}: {remedy}")
        return self

    def unfold(self) -> Iterator[Test]:
        """The tests of the group, in the order in which they run."""
        axes = self._axes()
        order = [*self.loop, *(axis for axis in AXES if axis not in self.loop)]
        for values in product(*(axes[axis] for axis in order)):
            yield self._test(dict(zip(order, values, strict=True)))

    @property
    def count(self) -> int:
        """How many tests the group has."""
        return count(self._axes())

    def _axes(self) -> dict[Axis, list[Any]]:
        offsets = [(offset, 0) for offset in self.host_offsets] + [(0, offset) for offset in self.device_offsets]
        return {
            "test": list(self.tests),
            "size": list(self.sizes),
            "window": list(self.windows),
            "cache": list(self.caches),
            "pattern": list(self.patterns),
            "stride": list(self.strides),
            "outstanding": list(self.outstanding) or [None],
            "offset": offsets or [(0, 0)],
        }

    def _test(self, at: dict[Axis, Any]) -> Test:
        name, size, (host_offset, device_offset) = at["test"], at["size"], at["offset"]
        operation, path = BENCHMARKS[name]
        parameters = Parameters(
            operation=operation,
            path=path,
            pattern=at["pattern"],
            cache=at["cache"],
            size_bytes=size,
            window_bytes=at["window"],
            host_offset_bytes=host_offset,
            device_offset_bytes=device_offset,
            stride_units=at["stride"],
            outstanding=at["outstanding"],
            transactions=self.transactions or published_transactions(operation, self.details),
            details=self.details,
        )
        direction = name.rpartition("_")[2].lower()
        return Test(self.family.format(direction=direction, size=size), name, parameters)


class SuiteFile(Part):
    """A file under `suites`."""

    name: Name
    """Short name."""
    title: Title
    """One line for people."""
    provenance: Provenance
    """Where the list of tests comes from."""
    group: list[Group] = Field(min_length=1)
    """Groups of tests, in run order."""

    @model_validator(mode="after")
    def _is_short_enough(self) -> Self:
        check_count(sum(group.count for group in self.group))
        return self
