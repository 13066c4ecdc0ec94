"""Every key of a system with its value, range and meaning, for forms, tables, sliders and notebooks.

All of it comes from the schema of the types that the simulator takes.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import groupby
from typing import Any, TypeAlias

from pcielab.library.profiles.files import system_schema
from pcielab.library.profiles.parts import System
from pcielab.library.profiles.values import keys_of_table

Value: TypeAlias = str | int | float | bool | None

_UNITS = {"ns": "ns", "bytes": "B", "share": "of 1", "gbps": "Gb/s", "ghz": "GHz", "bits": "bits", "s": "s"}


@dataclass(frozen=True)
class Key:
    """A key of a system.

    Attributes:
        key: Dotted key, as `--set` takes it.
        value: Its value in this system.
        kind: Kind of its values: `number`, `whole`, `choice` or `text`.
        unit: Its unit; empty if it has none.
        meaning: Its description.
        source: Source of its value; empty if unknown.
        least: The smallest number allowed; None without a limit.
        most: The largest number allowed; None without a limit.
        choices: The values of a choice.
    """

    key: str
    value: Value
    kind: str
    unit: str
    meaning: str
    source: str
    least: float | None
    most: float | None
    choices: tuple[Value, ...]

    @property
    def group(self) -> str:
        """Its table: `host.llc`; empty for the system's own keys."""
        return self.key.rpartition(".")[0]


def keys_of(system: System, source_of: Callable[[str], str]) -> list[Key]:
    """Every key of a system with a single value, in the order of the reference; `source_of` gives its source."""
    described = leaves(schema_of_values(), system.dump())
    return [_key(key, one, value, source_of(key)) for key, one, value in described]


@cache
def schema_of_values() -> dict[str, Any]:
    """The schema of a system, with its keys in their order there."""
    schema = system_schema()
    return {**schema, "properties": {name: schema["properties"][name] for name in keys_of_table(System)}}


def leaves(
    schema: Mapping[str, Any], values: Mapping[str, Any] | None, prefix: str = "", all_: Any = None
) -> Iterator[tuple[str, Mapping[str, Any], Value]]:
    """Dotted key, schema and value of every key below a table.

    Args:
        schema: The schema of the table.
        values: Its values, whose absent tables are left out; None: no values, and every table.
        prefix: Precedes each key.
        all_: The definitions of tables; None: those of the schema.
    """
    definitions = schema.get("$defs", {}) if all_ is None else all_
    for name, described in schema["properties"].items():
        key, value = f"{prefix}{name}", None if values is None else values.get(name)
        inner = _table_of(described, definitions)
        if inner is None:
            if values is None or not isinstance(value, list):
                is_required = name in schema.get("required", ())
                yield key, {**_resolved(described, definitions), "required": is_required}, value
        elif isinstance(value, list):
            for index, entry in enumerate(value):
                yield from leaves(inner, entry, f"{key}.{index}.", definitions)
        elif isinstance(value, dict) or values is None:
            yield from leaves(inner, value, f"{key}.", definitions)


def _table_of(described: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema of the table that a key holds, alone or in a list; None for other keys."""
    options = [described, *described.get("anyOf", ()), described.get("items", {})]
    named = (definitions.get(str(one.get("$ref", "")).rpartition("/")[2], one) for one in options)
    return next((one for one in named if "properties" in one), None)


def _resolved(described: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a value, with the choices of its words."""
    options = [described, *described.get("anyOf", ())]
    kinds = (definitions.get(str(one.get("$ref", "")).rpartition("/")[2], {}) for one in options)
    words = [word for kind in kinds for word in kind.get("oneOf", [kind])]
    return {**described, "anyOf": [*described.get("anyOf", ()), *words]}


def _key(key: str, described: Mapping[str, Any], value: Value, source: str) -> Key:
    options = [described, *described.get("anyOf", ())]
    choices = [choice for option in options for choice in _choices(option)]
    numbers = [option for option in options if _types(option) & {"integer", "number"}]
    limits = numbers[0] if numbers and "enum" not in described else {}
    return Key(
        key=key,
        value=value,
        kind=_kind(choices, numbers),
        unit=_UNITS.get(key.rpartition("_")[2], ""),
        meaning=described.get("description", ""),
        source=source,
        least=limits.get("minimum", limits.get("exclusiveMinimum")),
        most=limits.get("maximum"),
        choices=tuple(choices),
    )


def _types(option: Mapping[str, Any]) -> set[str]:
    types = option.get("type", ())
    return {types} if isinstance(types, str) else set(types)


def _choices(option: Mapping[str, Any]) -> Sequence[Value]:
    if "const" in option:
        return [option["const"]]
    if "boolean" in _types(option):
        return (False, True)
    found: Sequence[Value] = option.get("enum") or ()
    return [choice for choice in found if choice is not None]


def _kind(choices: Sequence[Value], numbers: Sequence[Mapping[str, Any]]) -> str:
    if numbers:
        return "number" if any("number" in _types(option) for option in numbers) else "whole"
    return "choice" if choices else "text"


def text_of(value: Value) -> str:
    """A value as `--set` and TOML files take it."""
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)


def html_of(title: str, overrides: Mapping[str, object], keys: Iterable[Key]) -> str:
    """A system as HTML: the changes, and a collapsed table for each part."""
    changes = "".join(
        f"<li><code>{escape(key)} = {escape(str(value))}</code></li>" for key, value in overrides.items()
    )
    parts = "".join(
        f"<details><summary>{escape(part or 'placement')}</summary>{_table(some)}</details>"
        for part, some in groupby(keys, key=lambda key: key.group)
    )
    changed = f"<ul>{changes}</ul>" if changes else ""
    return f"<div><strong>{escape(title)}</strong>{changed}{parts}</div>"


def _table(keys: Iterable[Key]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(one.key)}</code></td><td>{escape(text_of(one.value))} {escape(one.unit)}</td>"
        f"<td>{escape(one.meaning)}</td><td>{escape(one.source)}</td></tr>"
        for one in keys
    )
    return f"<table><tr><th>key</th><th>value</th><th>meaning</th><th>source</th></tr>{rows}</table>"
