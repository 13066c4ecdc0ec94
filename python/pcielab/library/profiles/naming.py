"""Keys of a system as Python can write them: `llc_ddio_ways` for `host.llc.ddio_ways`.

Any end of a key that only one key has will do; what several have is refused, with their names.
"""

from collections.abc import Mapping
from functools import cache
from typing import TypeVar

from pydantic import BaseModel

from pcielab.errors import InputError
from pcielab.library.profiles.nested import known_keys, replaced
from pcielab.library.validation import checked, suggestion
from pcielab.wording import named

_SHOWN = 8

_Part = TypeVar("_Part", bound=BaseModel)


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
        raise InputError(f"{named(name)}: {len(found)} keys end like this: give more of one: {listed}")
    raise InputError(f"{named(name)}: no key ends like this: {suggestion(name, _ending(model))}")


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
    keys = list(known_keys(model))
    ending: dict[str, tuple[str, ...]] = {}
    for key in keys:
        steps = key.split(".")
        for first in range(len(steps)):
            end = "_".join(steps[first:])
            ending[end] = (*ending.get(end, ()), key)
    return ending | {key.replace(".", "_"): (key,) for key in keys}
