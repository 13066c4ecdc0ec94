"""Nested tables by dotted key (`host.iommu.walk_ns`): known keys, and changed parts.

In Python, any unambiguous end of a key will do: `llc_ddio_ways` for `host.llc.ddio_ways`.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel

from pcielab import _core
from pcielab.errors import InputError
from pcielab.library.alike import suggestion
from pcielab.library.validation import checked, submodel
from pcielab.wording import named

Table: TypeAlias = dict[str, Any]
"""A table of a TOML file."""
_SHOWN = 8

_Part = TypeVar("_Part", bound=BaseModel)


@cache
def known_keys(model: type[BaseModel]) -> list[str]:
    """Every dotted key of a part of a profile."""
    keys = []
    for name, field in model.model_fields.items():
        inner = submodel(field.annotation)
        keys += [name, *(f"{name}.{key}" for key in known_keys(inner))] if inner else [name]
    return keys


def key_of(name: str, model: type[BaseModel]) -> str:
    """The dotted key of a name; a name with dots is returned unchanged.

    Args:
        name: The key, or an end of it with underscores for dots.
        model: The part of a profile that has the key.

    Raises:
        InputError: No key ends with the name, or several do.
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


def is_ending(name: str, model: type[BaseModel]) -> bool:
    """Whether a name, with underscores for dots, ends a key of a part."""
    return name in _ending(model)


def part_with(part: _Part, changes: Mapping[str, object]) -> _Part:
    """A part of a profile with changes, by names of its keys.

    Raises:
        InputError: A name is unknown or ambiguous, or a value is wrong.
    """
    model = type(part)
    content = part.model_dump()
    for name, value in changes.items():
        content = _core.replaced(content, key_of(name, model), value)
    return checked(model, content, model.__name__.lower())


@cache
def _ending(model: type[BaseModel]) -> dict[str, tuple[str, ...]]:
    """The keys with each ending; a whole key stands for itself only."""
    keys = known_keys(model)
    ending: dict[str, tuple[str, ...]] = {}
    for key in keys:
        steps = key.split(".")
        for first in range(len(steps)):
            end = "_".join(steps[first:])
            ending[end] = (*ending.get(end, ()), key)
    return ending | {key.replace(".", "_"): (key,) for key in keys}
