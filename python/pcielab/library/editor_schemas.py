"""JSON Schemas of TOML files for editors, which complete keys and mark wrong values as one types.

An editor sees a file alone. A file with `base`, and any table of it, may leave keys to its base. Missing keys are
therefore marked at the top level of files without a base only; `pcielab profiles show FILE` finds the others.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

from pcielab import _core
from pcielab.library.catalog import profile_schema
from pcielab.library.profiles.files import compiled
from pcielab.library.shipped import ProfileKind

FileKind: TypeAlias = ProfileKind | Literal["fabric-device", "suite", "message-suite", "fabric-suite"]
KINDS: tuple[FileKind, ...] = (*get_args(ProfileKind), "fabric-device", "suite", "message-suite", "fabric-suite")
ADDRESS = "https://pcielab.github.io/pcielab/schemas"
"""Folder of the published schemas."""


def editor_schema(kind: FileKind) -> dict[str, Any]:
    """The JSON Schema of a kind of file, for editors."""
    schema = _schema(kind)
    if "base" not in schema["properties"]:
        return schema
    required = schema.get("required", [])
    whole = {"if": {"not": {"required": ["base"]}}, "then": {"required": required}}
    return {**_without_required(schema), **whole}


def schema_line(kind: FileKind) -> str:
    """The first line of a file, which names its schema to editors."""
    return f"#:schema {ADDRESS}/{kind}.json"


def _schema(kind: FileKind) -> dict[str, Any]:
    if kind == "suite" or kind == "message-suite" or kind == "fabric-suite":
        of = {"suite": "transfers", "message-suite": "messages", "fabric-suite": "fabric"}[kind]
        return compiled(_core.Suite.schema(of), f"{of.capitalize()}File")
    if kind == "fabric-device":
        return compiled(_core.Fabric.preset_schema(), "DevicePreset")
    return profile_schema(kind)


def _without_required(schema: Any) -> Any:
    """A schema without its lists of required keys; a property may have that name, too."""
    if isinstance(schema, list):
        return [_without_required(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: _without_required(value)
        for key, value in schema.items()
        if key != "required" or not isinstance(value, list)
    }
