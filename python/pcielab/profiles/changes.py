"""Changes to single values by dotted key: the `[set]` table of a system file, and `--set KEY=VALUE`."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from pcielab.errors import InputError
from pcielab.profiles.read import Table
from pcielab.profiles.system import System
from pcielab.validation import closest, submodel, suggestion


def parse_sets(sets: Mapping[str, object] | Sequence[str]) -> dict[str, object]:
    """Changes as a mapping of key to value; texts are read as TOML values where they are one, else as they are."""
    if isinstance(sets, Mapping):
        return {key: _value(value) for key, value in sets.items()}
    changes: dict[str, object] = {}
    for text in sets:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--set {text}: give KEY=VALUE, such as host.iommu.walk_ns=300")
        changes[key.strip()] = _value(value.strip())
    return changes


def apply(raw: Table, changes: Mapping[str, object], where: str) -> Table:
    """A copy of the raw system with each change made; a key that no system has is refused, naming the closest."""
    for key, value in changes.items():
        steps = key.split(".")
        _check(key, steps, where)
        raw = _with(raw, steps, value, key, where)
    return raw


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
        return tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value


def _check(key: str, steps: Sequence[str], where: str) -> None:
    named = ".".join(step for step in steps if not step.isdigit())
    known = list(known_keys())
    if named in known:
        return
    parent, _, last = named.rpartition(".")
    siblings = [other.rpartition(".")[2] for other in known if other.rpartition(".")[0] == parent]
    elsewhere = [other for other in known if other.rpartition(".")[2] == last]
    if elsewhere:
        remedy = f"did you mean {' or '.join(elsewhere)}?"
    elif siblings and closest(last, siblings):
        remedy = suggestion(last, siblings)
    else:
        nearest = closest(named, known)
        remedy = f"did you mean {nearest}?" if nearest else suggestion(last, siblings or list(System.model_fields))
    raise InputError(f"{where}{key}: no such key: {remedy}")


def _with(table: Any, steps: Sequence[str], value: object, key: str, where: str) -> Any:
    """A copy of a nested table or list with one value replaced."""
    step, rest = steps[0], steps[1:]
    if isinstance(table, list):
        if not step.isdigit() or int(step) >= len(table):
            raise InputError(f"{where}{key}: {step!r} is not an index of a list of {len(table)}")
        new = _with(table[int(step)], rest, value, key, where) if rest else value
        return [*table[: int(step)], new, *table[int(step) + 1 :]]
    if not isinstance(table, dict):
        table = {}
    return {**table, step: _with(table.get(step), rest, value, key, where) if rest else value}
