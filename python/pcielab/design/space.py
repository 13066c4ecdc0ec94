"""The space of a design: every combination of the values of its free keys, with costs and directions.

The values of a key with a direction are in order, from the weakest to the strongest. A combination is its indices
in the keys' order. Directions are those that the reference of profiles states for each key (`x-relief` of the
schemas): more tags never lower a rate.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from pcielab import _core
from pcielab._core import read_sizes
from pcielab.design.spec import Better, FreeTable
from pcielab.errors import refusal
from pcielab.wording import named, shown

MOST_POINTS = 200_000
"""Most combinations of a space: its tables are kept whole in memory."""
Point = tuple[int, ...]
Grid = npt.NDArray[Any]
_SEPARATE = {"link.mps_bytes", "link.mrrs_bytes", "link.rcb_bytes"}
"""Keys that help rates and may lengthen latencies: larger TLPs wait longer for their end."""


@dataclass(frozen=True)
class Axis:
    """A free key.

    Attributes:
        keys: Its dotted keys, which take the same value.
        values: Its values, from the weakest to the strongest if it has a direction.
        costs: The cost of each value.
        better: Its direction; `either` if none is known.
    """

    keys: tuple[str, ...]
    values: tuple[Any, ...]
    costs: tuple[float, ...]
    better: Better

    @property
    def name(self) -> str:
        """The key that stands for it."""
        return self.keys[0]

    def helps(self, *, latency: bool) -> bool:
        """Whether a stronger value never worsens a rate, or a latency."""
        if self.better == "either":
            return False
        return not latency or not any(
            key in _SEPARATE or key.startswith(("nic.", "message.")) for key in self.keys
        )


@dataclass(frozen=True)
class Space:
    """All combinations of the free keys."""

    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Values of each key."""
        return tuple(len(axis.values) for axis in self.axes)

    @property
    def count(self) -> int:
        """Number of combinations."""
        return int(np.prod(self.shape))

    def costs(self) -> Grid:
        """The cost of every combination: the sum of its keys' costs."""
        total = np.zeros(self.shape)
        for number, axis in enumerate(self.axes):
            along = [1] * len(self.axes)
            along[number] = len(axis.values)
            total = total + np.reshape(np.array(axis.costs), along)
        # Sums of decimal costs stay decimal.
        return np.round(total, 9)

    def values(self, point: Point) -> dict[str, Any]:
        """The value of every key at a combination."""
        return {key: axis.values[index] for axis, index in zip(self.axes, point, strict=True) for key in axis.keys}

    def named(self, point: Point) -> dict[str, Any]:
        """The value of every free key at a combination, by the key that stands for it."""
        return {axis.name: axis.values[index] for axis, index in zip(self.axes, point, strict=True)}

    def below(self, point: Point, *, latency: bool) -> tuple[slice, ...]:
        """The combinations that are nowhere stronger than one, and differ only in keys with a direction."""
        return tuple(
            slice(0, index + 1) if axis.helps(latency=latency) else slice(index, index + 1)
            for axis, index in zip(self.axes, point, strict=True)
        )

    def above(self, point: Point, *, latency: bool) -> tuple[slice, ...]:
        """The combinations that are nowhere weaker than one, and differ only in keys with a direction."""
        return tuple(
            slice(index, None) if axis.helps(latency=latency) else slice(index, index + 1)
            for axis, index in zip(self.axes, point, strict=True)
        )


def space_of(tables: Sequence[FreeTable]) -> Space:
    """The space of free keys.

    Raises:
        InputError: A list is empty, a value is given twice, or there are too many combinations.
    """
    axes = tuple(_axis(f"free.{number}", table) for number, table in enumerate(tables))
    twice = [key for number, axis in enumerate(axes) for key in axis.keys if _is_in(key, axes[:number])]
    if twice:
        raise refusal("conflict", f"{named(twice[0])}: is free twice: give one list of its values")
    space = Space(axes)
    if space.count > MOST_POINTS:
        raise refusal(
            "too-large",
            f"{space.count} combinations: give {MOST_POINTS} at most: shorter lists, or fewer free keys",
        )
    return space


def _is_in(key: str, axes: Sequence[Axis]) -> bool:
    return any(key in axis.keys for axis in axes)


def _axis(where: str, table: FreeTable) -> Axis:
    values = read_sizes(table.values, f"{where}.values") if isinstance(table.values, str) else table.values
    if not values:
        raise refusal("missing", f"{where}.values: an empty list: give the values to choose from")
    if isinstance(table.cost, list):
        costs = table.cost
        if len(costs) != len(values):
            raise refusal(
                "wrong-value", f"{where}.cost: {len(costs)} costs for {len(values)} values: give one each"
            )
    elif table.cost and not all(isinstance(value, int | float) for value in values):
        raise refusal("wrong-type", f"{where}.cost is {table.cost:g}: the values are words: give a list of costs")
    else:
        costs = [table.cost * value for value in values] if table.cost else [0.0] * len(values)
    if len({json.dumps(value) for value in values}) < len(values):
        raise refusal("conflict", f"{where}.values: {shown(list(values))}: a value is there twice: give it once")
    better, order = _ordered(table, values)
    return Axis(
        tuple(table.all_keys),
        tuple(values[index] for index in order),
        tuple(float(costs[index]) for index in order),
        better,
    )


def _ordered(table: FreeTable, values: Sequence[Any]) -> tuple[Better, list[int]]:
    """The direction of a key, and the order of its values from the weakest to the strongest."""
    plain = list(range(len(values)))
    if table.better == "either":
        return "either", plain
    rules = [_relief(key) for key in table.all_keys]
    words = rules[0].get("words") if rules[0] else None
    if table.better is None and words and all(value in words for value in values):
        return "more", sorted(plain, key=lambda index: words.index(values[index]))
    better: Better = table.better or _common([rule.get("better") for rule in rules])
    if better == "either" or not all(isinstance(value, int | float) for value in values):
        return "either", plain
    return better, sorted(plain, key=lambda index: values[index], reverse=better == "less")


def _common(directions: Sequence[str | None]) -> Better:
    only = set(directions)
    if only == {"more"}:
        return "more"
    return "less" if only == {"less"} else "either"


@cache
def _relief(key: str) -> Mapping[str, Any]:
    """The direction that the schema of a key states: `better`, or `words` from the worst to the best."""
    head, _, rest = key.partition(".")
    if head in ("link", "host", "device"):
        schema, path = json.loads(_core.System.schema()), key
    elif head == "nic":
        schema, path = json.loads(_core.profile_schema("nic")), rest
    elif head == "message":
        schema, path = json.loads(_core.profile_schema("messages")), rest
    else:
        return {}
    step = _at(schema, path.split(".")).get("x-relief", {}).get("step")
    if isinstance(step, dict) and "better" in step:
        return {"words": step["better"]}
    return {"better": {"more": "more", "next": "more", "less": "less", "off": "less"}.get(str(step))}


def _at(schema: Mapping[str, Any], path: Sequence[str]) -> Mapping[str, Any]:
    """The schema of a value at a path; empty if the schema has none."""
    here: Mapping[str, Any] = schema
    for step in path:
        table = _resolved(schema, here)
        inner = table.get("items") if step.isdigit() else table.get("properties", {}).get(step)
        if not isinstance(inner, Mapping):
            return {}
        here = inner
    return here if "x-relief" in here else _resolved(schema, here)


def _resolved(schema: Mapping[str, Any], here: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema without its reference, and without the alternative of null."""
    while True:
        if "$ref" in here:
            here = schema["$defs"][str(here["$ref"]).rsplit("/", 1)[-1]]
        elif "anyOf" in here or "oneOf" in here:
            options = [one for one in here.get("anyOf", here.get("oneOf", [])) if one.get("type") != "null"]
            if len(options) != 1:
                return here
            here = options[0]
        else:
            return here
