"""Every key of a system with its value, range and meaning, for forms, tables, sliders and notebooks.

All of it comes from the models.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import groupby
from typing import Any, TypeAlias

from pydantic import BaseModel

from pcielab.library.profiles.parts import System
from pcielab.library.validation import submodel

Value: TypeAlias = str | int | float | bool | None

_UNITS = {"ns": "ns", "bytes": "B", "share": "of 1", "gbps": "Gb/s", "ghz": "GHz", "bits": "bits", "s": "s"}
_WORDS: Mapping[str, Sequence[Value]] = {"boolean": (False, True)}


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
    values = system.model_dump(mode="json")
    return [_key(key, described, value, source_of(key)) for key, described, value in _leaves(System, values, "")]


def _leaves(model: type[BaseModel], values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any, Value]]:
    """Dotted key, schema and value of every key below a table, absent tables excluded."""
    properties = _properties(model)
    for name, field in model.model_fields.items():
        value, key = values.get(name), f"{prefix}{name}"
        inner = submodel(field.annotation)
        if inner is None:
            if not isinstance(value, list):
                yield key, properties[name], value
        elif isinstance(value, list):
            for index, entry in enumerate(value):
                yield from _leaves(inner, entry, f"{key}.{index}.")
        elif isinstance(value, dict):
            yield from _leaves(inner, value, f"{key}.")


@cache
def _properties(model: type[BaseModel]) -> dict[str, Any]:
    found: dict[str, Any] = model.model_json_schema()["properties"]
    return found


def _key(key: str, described: Mapping[str, Any], value: Value, source: str) -> Key:
    options = [described, *described.get("anyOf", ())]
    choices = [choice for option in options for choice in _choices(option)]
    numbers = [option for option in options if option.get("type") in ("integer", "number")]
    limits = numbers[0] if numbers else {}
    return Key(
        key=key,
        value=value,
        kind=_kind(value, choices, numbers),
        unit=_UNITS.get(key.rpartition("_")[2], ""),
        meaning=described.get("description", "").replace("\n", " "),
        source=source,
        least=limits.get("minimum", limits.get("exclusiveMinimum")),
        most=limits.get("maximum"),
        choices=tuple(choices),
    )


def _choices(option: Mapping[str, Any]) -> Sequence[Value]:
    if "const" in option:
        return [option["const"]]
    found: Sequence[Value] = option.get("enum") or _WORDS.get(str(option.get("type")), ())
    return found


def _kind(value: Value, choices: Sequence[Value], numbers: Sequence[Mapping[str, Any]]) -> str:
    if numbers:
        return "number" if any(option["type"] == "number" for option in numbers) else "whole"
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
