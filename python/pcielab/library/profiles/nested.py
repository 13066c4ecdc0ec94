"""Nested tables by dotted key, such as `host.iommu.walk_ns`: which keys there are, and replacing values."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from pydantic import BaseModel

from pcielab.errors import InputError
from pcielab.library.validation import submodel
from pcielab.wording import named, shown

Table: TypeAlias = dict[str, Any]
"""A table of a TOML file."""
_MOST_DIGITS = 9
"""Digits of an index, so that no text of thousands of them is taken for a number."""


def known_keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Every dotted key that a part of a profile has."""
    for name, field in model.model_fields.items():
        inner = submodel(field.annotation)
        yield prefix + name
        if inner is not None:
            yield from known_keys(inner, f"{prefix}{name}.")


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
