"""Parameters of tests in Python (`pcielab.library.suites.parameters`), from `crates/pcie-workload/src/test.rs`.

Each field there, with its word, heading and default, is an option of `pcielab run`, a keyword of `single_test`, an
axis of sweeps and suites, a column of tables, and a row of the reference.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from generate.models import schemas
from generate.schema import documentation, flowing, is_optional, literal, plain_type, reference, source, words

_HEAD = '''\
"""The parameters of a test: their values, names and defaults.

Written by `make generate` from `crates/pcie-workload/src/test.rs`: change the type there.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pcielab.library.suites.parameter import Parameter
'''
_ALIASES = {"CacheState": "Cache"}
START, END = "<!-- parameters -->", "<!-- end of parameters -->"


def module() -> str:
    """The module."""
    kinds = schemas("test")
    schema = kinds["Test"]
    shown = _shown(schema)
    aliases = [
        f"{_ALIASES.get(name, name)}: TypeAlias = {literal(words(kind))}\n{documentation(kind['description'], '')}"
        for name, kind in kinds.items()
        if words(kind)
    ]
    table = ",\n".join(f"    {_entry(key, described, kinds)}" for key, described in shown)
    return "\n".join(
        [
            _HEAD,
            *aliases,
            "\n",
            f"PARAMETERS: tuple[Parameter, ...] = (\n{table},\n)",
            '"""All parameters, in the order of columns."""\n\n',
            _record(schema, shown, kinds),
        ]
    )


def _alias(described: Mapping[str, Any]) -> str:
    name = reference(described)
    return _ALIASES.get(name, name)


def page() -> str:
    """The page of stores, with its table of parameters."""
    page = Path("docs/reference/store.md").read_text(encoding="utf-8")
    kinds = schemas("test")
    rows = [
        f"| `{key}` | {_values(described, kinds)}{flowing(described['description']).rstrip('.')} |"
        for key, described in _shown(kinds["Test"])
    ]
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return before + "\n".join([START, "", "| key | values |", "|---|---|", *rows, "", END]) + after


def _shown(schema: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Parameters in the order of columns."""
    return sorted(schema["properties"].items(), key=lambda item: item[1]["x-column"])


def _values(described: Mapping[str, Any], kinds: Mapping[str, Any]) -> str:
    choices = words(kinds.get(reference(described), {}))
    return ", ".join(f"`{word}`" for word in choices) + ": " if choices else ""


def _kind(key: str, described: Mapping[str, Any], choices: list[str]) -> str:
    if choices:
        return "word"
    if plain_type(described) == "boolean":
        return "switch"
    return "size" if described.get("x-size") else "whole"


def _entry(key: str, described: Mapping[str, Any], kinds: Mapping[str, Any]) -> str:
    choices = words(kinds.get(reference(described), {}))
    given = {
        "key": key,
        "word": described["x-word"],
        "heading": described["x-heading"],
        "axis": described.get("x-axis", ""),
        "kind": _kind(key, described, choices),
        "default": described.get("default"),
        "choices": tuple(choices),
        "least": described.get("minimum"),
        "most": described.get("maximum"),
        "meaning": flowing(described["description"]),
    }
    return "Parameter(" + ", ".join(f"{name}={source(value)}" for name, value in given.items()) + ")"


def _record(
    schema: Mapping[str, Any], shown: list[tuple[str, Mapping[str, Any]]], kinds: Mapping[str, Any]
) -> str:
    lines = [
        "@dataclass(frozen=True, kw_only=True)",
        "class Parameters:",
        documentation(flowing(schema["description"]).partition(". ")[0] + "."),
        "",
    ]
    for key, described in shown:
        annotation = _alias(described) or {"boolean": "bool", "integer": "int"}[plain_type(described)]
        if is_optional(described):
            annotation += " | None"
        has_default = "default" in described or is_optional(described)
        default = f" = {source(described.get('default'))}" if has_default else ""
        lines += [f"    {key}: {annotation}{default}", documentation(described["description"])]
    return "\n".join(lines) + "\n"
