"""Nested tables by dotted key, such as `host.iommu.walk_ns`: which keys there are, and replacing values.

Python can write a key as `llc_ddio_ways` for `host.llc.ddio_ways`: any end of a key that only one key has will do;
what several have is refused, with their names.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel

from pcielab.errors import InputError
from pcielab.library.validation import checked, submodel, suggestion
from pcielab.wording import named, shown

Table: TypeAlias = dict[str, Any]
"""A table of a TOML file."""
_SHOWN = 8
_MOST_DIGITS = 9
"""Digits of an index, so that no text of thousands of them is taken for a number."""

_Part = TypeVar("_Part", bound=BaseModel)


@cache
def known_keys(model: type[BaseModel]) -> list[str]:
    """Every dotted key that a part of a profile has."""
    keys = []
    for name, field in model.model_fields.items():
        inner = submodel(field.annotation)
        keys += [name, *(f"{name}.{key}" for key in known_keys(inner))] if inner else [name]
    return keys


def replaced(table: Table, key: str, value: object, where: str = "") -> Table:
    """A copy of nested tables with the value of a dotted key replaced.

    Args:
        table: The tables.
        key: The key; a number in it is the place in a list.
        value: The new value.
        where: What a message begins with.

    Raises:
        InputError: A list has no such place.
    """
    changed: Table = _with(table, key.split("."), value, key, where)
    return changed


def _with(table: Any, steps: Sequence[str], value: object, key: str, where: str) -> Any:
    """A copy of a nested table or list with one value replaced."""
    step, rest = steps[0], steps[1:]
    if isinstance(table, list):
        if not is_index(step) or int(step) >= len(table):
            raise InputError(f"{where}{named(key)}: {shown(step)} is not an index of a list of {len(table)}")
        new = _with(table[int(step)], rest, value, key, where) if rest else value
        return [*table[: int(step)], new, *table[int(step) + 1 :]]
    if not isinstance(table, dict):
        table = {}
    return {**table, step: _with(table.get(step), rest, value, key, where) if rest else value}


def is_index(step: str) -> bool:
    """Whether a part of a key counts the entries of a list."""
    return step.isascii() and step.isdigit() and len(step) <= _MOST_DIGITS


def key_of(name: str, model: type[BaseModel]) -> str:
    """The dotted key that a name means; one that has dots is taken as it is.

    Args:
        name: The key, or an end of it with underscores for dots.
        model: The part of a profile whose keys are meant.

    Raises:
        InputError: No key ends like this, or several do.
    """
    if "." in name:
        return name
    found = _ending(model).get(name, ())
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(key.replace(".", "_") for key in found[:_SHOWN])
        raise InputError(f"{named(name)}: {len(found)} keys end with it: give a longer end of one: {listed}")
    raise InputError(f"{named(name)}: no key ends with it: {suggestion(name, _ending(model))}")


def part_with(part: _Part, changes: Mapping[str, object]) -> _Part:
    """A part of a profile with changes, by the names of keys in it.

    Raises:
        InputError: No key is called so, several are, or the value cannot be.
    """
    model = type(part)
    content = part.model_dump()
    for name, value in changes.items():
        content = replaced(content, key_of(name, model), value)
    return checked(model, content, model.__name__.lower())


@cache
def _ending(model: type[BaseModel]) -> dict[str, tuple[str, ...]]:
    """The keys that each ending means; a whole key means itself alone."""
    keys = known_keys(model)
    ending: dict[str, tuple[str, ...]] = {}
    for key in keys:
        steps = key.split(".")
        for first in range(len(steps)):
            end = "_".join(steps[first:])
            ending[end] = (*ending.get(end, ()), key)
    return ending | {key.replace(".", "_"): (key,) for key in keys}
