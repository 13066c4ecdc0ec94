"""Files of systems and their parts: their kinds, and their JSON Schemas.

A file has a name, a title and a provenance. It may start from another one of its kind (`base`) and have only the
differences. A system names its link, host and device, or holds them as tables.
"""

import json
import re
from typing import Any, Literal, TypeAlias

from pcielab import _core
from pcielab.library.profiles.parts import Card, Host, Link
from pcielab.library.profiles.values import Part

Kind: TypeAlias = Literal["system", "host", "device", "link"]
DescribedKind: TypeAlias = Literal[Kind, "nic", "engine", "expander", "core", "bar", "messages"]
"""Kinds of files that the compiled half reads."""
KINDS: tuple[Kind, ...] = ("system", "host", "device", "link")
PARTS: dict[Kind, type[Part]] = {"link": Link, "host": Host, "device": Card}
_TITLES = {
    "system": "SystemFile",
    "host": "HostFile",
    "device": "CardFile",
    "link": "LinkFile",
    "nic": "NicProfile",
    "engine": "EngineProfile",
    "expander": "ExpanderProfile",
    "core": "CoreProfile",
    "bar": "BarProfile",
    "messages": "MessageProfile",
}
_REFERENCE = re.compile(r"\[(`[^`\]]+`)\]")
"""A link of rustdoc."""
_SIZES = ("Quantum", "Size", "Size32", "SizeOrNone")
"""Quantities that a file may write as "4K"."""
_NAMED = ("properties", "$defs")
"""Keywords whose values are schemas by name."""


def json_schema(kind: DescribedKind) -> dict[str, Any]:
    """The JSON Schema of a kind of file, for editors and generators."""
    return compiled(_core.profile_schema(kind), _TITLES[kind])


def compiled(schema: str, title: str) -> dict[str, Any]:
    """A schema of the compiled half, for editors and generators."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
    return {**head, **plain(json.loads(schema))}


def system_schema() -> dict[str, Any]:
    """The JSON Schema of a complete system."""
    return compiled(_core.System.schema(), "System")


def plain(schema: Any, key: str = "") -> Any:
    """A schema of the compiled half in the words of JSON Schema alone; sizes may be texts."""
    if isinstance(schema, list):
        return [plain(one) for one in schema]
    if not isinstance(schema, dict):
        return int(schema) if isinstance(schema, float) and schema == int(schema) else schema
    kept = {
        name: {one: plain(below, one) for one, below in inner.items()} if name in _NAMED else plain(inner)
        for name, inner in schema.items()
        if not name.startswith("x-") and name not in ("format", "default")
    }
    if "description" in kept:
        kept["description"] = _REFERENCE.sub(r"\1", " ".join(str(kept["description"]).split()))
    if "default" in schema:
        kept["default"] = schema["default"]
    types = kept.get("type")
    if "enum" in kept:
        return {name: one for name, one in kept.items() if name != "minimum"}
    is_size = "_bytes" in key or schema.get("x-quantity") in _SIZES
    if is_size and "integer" in (types if isinstance(types, list) else [types]):
        number = {name: kept.pop(name) for name in ("type", "minimum", "maximum", "multipleOf") if name in kept}
        return {"anyOf": [number, {"type": "string"}], **kept}
    return kept
