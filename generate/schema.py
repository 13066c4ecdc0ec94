"""Reading the JSON Schemas of the Rust types, and writing Python from them."""

import json
import re
import textwrap
from collections.abc import Mapping
from typing import Any

WIDTH = 115


def reference(described: Mapping[str, Any]) -> str:
    """The type that a schema refers to; empty for a plain type."""
    options = [described, *described.get("anyOf", ())]
    found = [option["$ref"] for option in options if "$ref" in option]
    return found[0].rpartition("/")[2] if found else ""


def words(kind: Mapping[str, Any]) -> list[str]:
    """The words of a type; empty if it has none."""
    of_variants = [option.get("const", *option.get("enum", ())) for option in kind.get("oneOf", ())]
    return of_variants or list(kind.get("enum", ()))


def is_optional(described: Mapping[str, Any]) -> bool:
    """Whether it may be null."""
    kinds = described.get("type")
    return (isinstance(kinds, list) and "null" in kinds) or {"type": "null"} in described.get("anyOf", ())


def plain_type(described: Mapping[str, Any]) -> str:
    """The JSON type of a schema without a reference."""
    types = described["type"]
    found: str = next(one for one in (types if isinstance(types, list) else [types]) if one != "null")
    return found


def source(value: Any) -> str:
    """A JSON value as Python source."""
    if isinstance(value, list | tuple):
        inner = ", ".join(map(source, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return json.dumps(value) if isinstance(value, str) else repr(value)


def literal(values: list[Any]) -> str:
    """The type of one of several values."""
    return f"Literal[{', '.join(map(source, values))}]"


def flowing(text: str) -> str:
    """A text without line ends and without links of rustdoc."""
    return re.sub(r"\[(`[^`\]]+`)\]", r"\1", " ".join(text.split()))


def documentation(text: str, indent: str = "    ") -> str:
    """A docstring."""
    wrap = textwrap.TextWrapper(WIDTH, indent, indent, break_long_words=False, break_on_hyphens=False)
    first, *rest = [flowing(paragraph) for paragraph in text.split("\n\n")]
    if not rest:
        return wrap.fill(f'"""{first}"""')
    return "\n\n".join([wrap.fill(f'"""{first}'), *map(wrap.fill, rest)]) + f'\n{indent}"""'
