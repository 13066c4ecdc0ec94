"""From the name of a system to the complete description that the simulator takes."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from pcielab import _core
from pcielab.errors import InputError
from pcielab.machine import changed_title
from pcielab.profiles import changes, read
from pcielab.profiles.files import FILE_MODELS, PARTS, Document, Kind
from pcielab.profiles.provenance import Provenance
from pcielab.profiles.read import Table
from pcielab.profiles.system import System
from pcielab.validation import explain

_PART_KINDS: tuple[Kind, ...] = ("link", "host", "device")
_FILE_ONLY = ("base", "provenance", "set")

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True)
class ResolvedSystem:
    """A complete, checked system, and what it was made from."""

    system: System
    overrides: dict[str, Any]
    """The changes asked for by the caller (`--set`); those of the file's own `[set]` are part of the system."""
    own_changes: dict[str, Any]
    """The file's own `[set]`."""
    provenance: dict[Kind, Provenance]
    """Where the values of each part come from; `system` has those of the system file."""
    files: dict[Kind, Path]
    """The file that each part was read from."""

    @property
    def title(self) -> str:
        """One line for people that follows the values: a changed system is called changed."""
        own = self.overrides.get("title")
        return str(own) if own else changed_title(self.system.name, self.system.title, self.overrides)

    def to_json(self) -> str:
        """The resolved system as canonical JSON: keys sorted, no spaces, every key present."""
        return json.dumps(self.system.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))

    def source_of(self, key: str) -> str:
        """What is known about where the value of a dotted key comes from; empty where nothing special is."""
        if key in self.overrides:
            return "changed with --set"
        own = self.provenance["system"].of(key)
        if own or key in self.own_changes:
            return own or "set by the system file"
        for kind in _PART_KINDS:
            if key.startswith(f"{kind}.") and kind in self.provenance:
                return self.provenance[kind].of(key.removeprefix(f"{kind}."))
        return ""


def resolve(name_or_path: str, sets: Mapping[str, object] | Sequence[str] = ()) -> ResolvedSystem:
    """The system of that name (or in that file, `*.toml`), with changes made to single values.

    Args:
        name_or_path: A shipped system, such as `hsw2620`, or the path of a file.
        sets: Changes, as `{"host.iommu.walk_ns": 300}` or `["host.iommu.walk_ns=300"]`. `link`, `host` and
            `device` take another profile as a whole.

    Raises:
        InputError: Something is unknown, missing, of the wrong type or out of range; the message says where.
    """
    overrides = changes.parse_sets(sets)
    raw = read.load("system", name_or_path)
    exchanged: dict[str, object] = {kind: overrides[kind] for kind in _PART_KINDS if kind in overrides}
    content = {**raw.content, **exchanged}
    provenance: dict[Kind, Provenance] = {"system": _document("system", content, raw.path).provenance}
    files: dict[Kind, Path] = {"system": raw.path}

    whole = {key: value for key, value in content.items() if key not in _FILE_ONLY}
    for kind in _PART_KINDS:
        whole[kind], files[kind], found = _part(kind, content[kind], raw.path)
        if found is not None:
            provenance[kind] = found

    own_changes = read.settings_left(changes.parse_sets(content.get("set", {})), exchanged)
    single = {key: value for key, value in overrides.items() if key not in exchanged}
    whole = changes.apply(whole, own_changes, f"{raw.path}: [set] ")
    whole = changes.apply(whole, single, "--set ")
    for kind in _PART_KINDS:
        changed = [key.removeprefix(f"{kind}.") for key in single if key.startswith(f"{kind}.")]
        _validated(PARTS[kind], whole[kind], files[kind], f"{kind}.", changed)
    system = _validated(System, whole, raw.path, "", single.keys())
    resolved = ResolvedSystem(system, overrides, own_changes, provenance, files)
    _check(resolved)
    return resolved


def _check(resolved: ResolvedSystem) -> None:
    """Refuse what can be said but not be simulated."""
    try:
        _core.check_system(resolved.to_json())
    except InputError as error:
        where = f"{resolved.files['system']}" + (" with --set" if resolved.overrides else "")
        raise InputError(f"{where}: {error}") from None


def check_file(kind: Kind, path: Path) -> Document:
    """A profile file of any kind, checked by itself."""
    return _document(kind, read.load(kind, str(path)).content, path)


def _document(kind: Kind, content: Table, path: Path) -> Document:
    return _validated(FILE_MODELS[kind], content, path)


def _part(kind: Kind, value: Any, path: Path) -> tuple[Table, Path, Provenance | None]:
    """The raw keys of a part: from the file that is named, or from the table in the system file."""
    provenance = None
    if isinstance(value, str):
        raw = read.load(kind, value, path.parent)
        content, path = raw.content, raw.path
        provenance = _document(kind, content, path).provenance
    else:
        content = read.with_base(kind, value, path, inline=True)
    dropped = {*_FILE_ONLY, "title"} | ({"name"} if "name" not in PARTS[kind].model_fields else set())
    return {key: part for key, part in content.items() if key not in dropped}, path, provenance


def _validated(
    model: type[_Model], content: Table, path: Path, prefix: str = "", changed: Collection[str] = ()
) -> _Model:
    """`content` as a model; what `--set` made wrong is reported as such, as the files themselves were right."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        wrong = {".".join(str(step) for step in detail["loc"]) for detail in error.errors()}
        where = str(path)
        if changed:
            where = "--set" if wrong <= set(changed) else f"{path} with --set"
        raise explain(error, model, where, prefix) from None
