"""The Python models of profiles (`pcielab.library.profiles.parts`), from the types that the simulator takes.

The words, ranges and defaults are those of `crates/pcie-sim/src/profile`. Where a key says no range its name does:
shares lie from 0 to 1, times of a step below 100 us, counts and sizes fill their 32 bits.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from generate.schema import documentation, is_optional, literal, plain_type, reference, source, words
from pcielab import _core

_HEAD = '''\
"""The parts of a system as the simulator takes them: keys, ranges, defaults and what they mean.

Written by `make generate` from `crates/pcie-sim/src/profile`: change the types there. Rules across keys are in
`pcielab.library.profiles.rules`.
"""

from typing import Literal

from pydantic import Field

from pcielab.library.profiles.part import (
{imports}
)
'''
_ROOT = "System"
_NAMED_PARTS = ("link", "host", "device")
_PLACEMENT = "What a system says itself, besides the link, host and device that it names."


def module() -> str:
    """The module, formatted."""
    schema = json.loads(_core.system_schema())
    kinds: dict[str, Any] = schema["$defs"]
    tables = {name: kind for name, kind in kinds.items() if "properties" in kind}
    used: set[str] = {"Part"}
    classes = [_table(name, tables[name], kinds, used) for name in _in_order(schema, tables)]
    own = {key: value for key, value in schema["properties"].items() if key not in _NAMED_PARTS}
    parts = {key: value for key, value in schema["properties"].items() if key in _NAMED_PARTS}
    classes.append(_table("Placement", {"description": _PLACEMENT, "properties": own}, kinds, used))
    whole = {"description": schema["description"], "properties": parts}
    classes.append(_table(_ROOT, whole, kinds, used, base="Placement"))
    imports = "\n".join(f"    {name}," for name in sorted(used))
    return "\n\n".join([_HEAD.format(imports=imports), *classes])


def _in_order(schema: Mapping[str, Any], tables: Mapping[str, Any]) -> Iterator[str]:
    """Tables after those that they hold."""
    seen: set[str] = set()

    def below(properties: Mapping[str, Any]) -> Iterator[str]:
        for described in properties.values():
            name = reference(described) or reference(described.get("items", {}))
            if name in tables and name not in seen:
                seen.add(name)
                yield from below(tables[name]["properties"])
                yield name

    return below(schema["properties"])


def _table(
    name: str, table: Mapping[str, Any], kinds: Mapping[str, Any], used: set[str], base: str = "Part"
) -> str:
    lines = [f"class {name}({base}):", documentation(table["description"]), ""]
    for key, described in table["properties"].items():
        annotation, field = _annotation(key, described, kinds, used)
        default = described.get("default")
        optional = is_optional(described)
        if optional:
            annotation += " | None"
        if field:
            given = f"default={default!r}, " if default is not None else "default=None, " if optional else ""
            lines.append(f"    {key}: {annotation} = Field({given}{field})")
        elif default is not None or optional:
            lines.append(f"    {key}: {annotation} = {source(default)}")
        else:
            lines.append(f"    {key}: {annotation}")
        lines.append(documentation(described["description"]))
    return "\n".join(lines) + "\n"


def _annotation(
    key: str, described: Mapping[str, Any], kinds: Mapping[str, Any], used: set[str]
) -> tuple[str, str]:
    """The type of a key, and what a `Field` has to say besides."""
    if referred := reference(described):
        return _referred(key, referred, kinds, used), ""
    if "enum" in described:
        return literal(described["enum"]), ""
    kind = plain_type(described)
    if kind == "array":
        return _listed(key, described, kinds, used)
    if kind == "boolean":
        return "bool", ""
    if kind == "string":
        return _known({"name": "Name", "title": "Title"}[key], used), ""
    return _number(key, kind, described, used)


def _known(name: str, used: set[str]) -> str:
    used.add(name)
    return name


def _referred(key: str, name: str, kinds: Mapping[str, Any], used: set[str]) -> str:
    if name == "Credits":
        return _known("DataCredits" if "_data_" in key else "HeaderCredits", used)
    choices = words(kinds[name])
    return literal(choices) if choices else name


def _listed(key: str, described: Mapping[str, Any], kinds: Mapping[str, Any], used: set[str]) -> tuple[str, str]:
    lengths = {"min_length": described.get("minItems"), "max_length": described.get("maxItems")}
    field = ", ".join(f"{name}={length}" for name, length in lengths.items() if length is not None)
    inner = reference(described["items"]) or _known({"chunk_addresses": "Address"}[key], used)
    return f"list[{inner}]", field


def _number(key: str, kind: str, described: Mapping[str, Any], used: set[str]) -> tuple[str, str]:
    least, most = described.get("minimum"), described.get("maximum")
    if "exclusiveMinimum" in described:
        limits = f"gt={described['exclusiveMinimum']:g}" + (f", le={most:g}" if most is not None else "")
        return "float" if kind == "number" else "int", limits
    alias = _alias(key, kind, least, most, described.get("format", ""))
    if alias:
        return _known(alias, used), ""
    plain = "float" if kind == "number" else "int"
    return plain, f"ge={least or 0:g}, le={_grouped(most or 0)}"


def _grouped(number: float) -> str:
    return f"{int(number):_}" if number == int(number) else repr(number)


def _alias(key: str, kind: str, least: int | None, most: int | None, width: str) -> str | None:
    """The type of `pcielab.library.profiles.part` that says a range, by the key where the schema says none."""
    if kind == "number":
        if most is None:
            return "StepTime" if key.endswith("_ns") else "Share"
        return "Nanoseconds" if (least, most) == (0, 10**9) else None
    if most is None:
        if "_bytes" not in key:
            return "Count"
        return "Size" if width == "uint64" else "Size32"
    if (least, most) == (0, 63):
        return "Socket"
    if (least, most) == (1, 4096) and "quantum" in key:
        return "Quantum"
    return "Padding" if (least, most) == (0, 4096) else None
