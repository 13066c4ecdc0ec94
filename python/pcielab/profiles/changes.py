"""Changes to single values by dotted key: the `[set]` table of a system file, and `--set KEY=VALUE`."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel

from pcielab.errors import InputError
from pcielab.input_files import parse_toml
from pcielab.profiles.read import Table
from pcielab.profiles.system import System
from pcielab.validation import closest, submodel, suggestion
from pcielab.wording import named, shown

_MOST_LETTERS = 200
"""Twice as many as the longest key has."""


def parse_sets(sets: Mapping[str, object] | Sequence[str]) -> dict[str, object]:
    """Changes as a mapping of key to value; texts are read as TOML values where they are one, else as they are.

    Raises:
        InputError: A text is no change, or changes what another one changes too.
    """
    if isinstance(sets, Mapping):
        return {key: _value(value) for key, value in sets.items()}
    changes: dict[str, object] = {}
    for text in sets:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key:
            raise InputError(f"--set {named(text)}: give KEY=VALUE, such as host.iommu.walk_ns=300")
        if key in changes:
            raise InputError(f"--set {named(key)}: given twice: give one value for a key")
        changes[key] = _value(value)
    return changes


def apply(raw: Table, changes: Mapping[str, object], where: str) -> Table:
    """A copy of the raw system with each change made; a key that no system has is refused, naming the closest."""
    for key, value in changes.items():
        steps = key.split(".")
        _check(key, steps, where)
        raw = _with(raw, steps, value, key, where)
    return raw


def replaced(table: Table, key: str, value: object) -> Table:
    """A copy of nested tables with the value of a dotted key replaced."""
    changed: Table = _with(table, key.split("."), value, key, "")
    return changed


def known_keys(model: type[BaseModel] = System, prefix: str = "") -> Iterator[str]:
    """Every dotted key that a system has."""
    for name, field in model.model_fields.items():
        inner = submodel(field.annotation)
        yield prefix + name
        if inner is not None:
            yield from known_keys(inner, f"{prefix}{name}.")


def _value(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value == "none":
        return None
    try:
        read = parse_toml(f"value = {value}")
    except ValueError:
        return value
    return read["value"] if len(read) == 1 else value


@cache
def _known() -> list[str]:
    return list(known_keys())


def _check(key: str, steps: Sequence[str], where: str) -> None:
    if len(key) > _MOST_LETTERS:
        raise InputError(
            f"{where}{named(key)}: no such key: the longest ones have fewer than {_MOST_LETTERS} letters"
        )
    wanted = ".".join(step for step in steps if not _is_index(step))
    known = _known()
    if wanted in known:
        return
    parent, _, last = wanted.rpartition(".")
    siblings = [other.rpartition(".")[2] for other in known if other.rpartition(".")[0] == parent]
    elsewhere = [other for other in known if other.rpartition(".")[2] == last]
    if elsewhere:
        remedy = f"did you mean {' or '.join(elsewhere)}?"
    elif siblings and closest(last, siblings):
        remedy = suggestion(last, siblings)
    else:
        nearest = closest(wanted, known)
        remedy = f"did you mean {nearest}?" if nearest else suggestion(last, siblings or list(System.model_fields))
    raise InputError(f"{where}{named(key)}: no such key: {remedy}")


def _with(table: Any, steps: Sequence[str], value: object, key: str, where: str) -> Any:
    """A copy of a nested table or list with one value replaced."""
    step, rest = steps[0], steps[1:]
    if isinstance(table, list):
        if not _is_index(step) or int(step) >= len(table):
            raise InputError(f"{where}{named(key)}: {shown(step)} is not an index of a list of {len(table)}")
        new = _with(table[int(step)], rest, value, key, where) if rest else value
        return [*table[: int(step)], new, *table[int(step) + 1 :]]
    if not isinstance(table, dict):
        table = {}
    return {**table, step: _with(table.get(step), rest, value, key, where) if rest else value}


def _is_index(step: str) -> bool:
    """Whether a part of a key counts the entries of a list."""
    return step.isascii() and step.isdigit()
