"""Tests in Python (`pcielab.library.suites.parameters`) and in the reference of stores."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from generate.models import schemas
from generate.schema import documentation, flowing, is_optional, literal, plain_type, reference, source, words
from pcielab.library.suites.parameter import PARAMETERS, Parameter

_HEAD = '''\
"""A test: its parameters and their words.

Written by `make generate` from `crates/pcie-workload/src/test.rs`: change the type there.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias
'''
_ALIASES = {"CacheState": "Cache"}
START, END = "<!-- parameters -->", "<!-- end of parameters -->"


def module() -> str:
    """The module."""
    kinds = schemas("test")
    aliases = [
        f"{_ALIASES.get(name, name)}: TypeAlias = {literal(words(kind))}\n{documentation(kind['description'], '')}"
        for name, kind in kinds.items()
        if words(kind)
    ]
    return "\n".join([_HEAD, *aliases, "\n", _record(kinds["Test"])])


def _alias(described: Mapping[str, Any]) -> str:
    name = reference(described)
    return _ALIASES.get(name, name)


def page() -> str:
    """The page of stores, with its table of parameters."""
    page = Path("docs/reference/store.md").read_text(encoding="utf-8")
    rows = [f"| `{one.key}` | {_values(one)}{one.meaning.rstrip('.')} |" for one in PARAMETERS]
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return before + "\n".join([START, "", "| key | values |", "|---|---|", *rows, "", END]) + after


def _values(parameter: Parameter) -> str:
    words = ", ".join(f"`{word}`" for word in parameter.choices)
    return f"{words}: " if words else ""


def _record(schema: Mapping[str, Any]) -> str:
    lines = [
        "@dataclass(frozen=True, kw_only=True)",
        "class Parameters:",
        documentation(flowing(schema["description"]).partition(". ")[0] + "."),
        "",
    ]
    for key in (one.key for one in PARAMETERS):
        described = schema["properties"][key]
        annotation = _alias(described) or {"boolean": "bool", "integer": "int"}[plain_type(described)]
        if is_optional(described):
            annotation += " | None"
        has_default = "default" in described or is_optional(described)
        default = f" = {source(described.get('default'))}" if has_default else ""
        lines += [f"    {key}: {annotation}{default}", documentation(described["description"])]
    return "\n".join(lines) + "\n"
