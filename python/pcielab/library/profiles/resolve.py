"""From the name of a system to the complete description that the simulator takes."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from pcielab import _core
from pcielab.errors import found_in
from pcielab.library.profiles import changes, read
from pcielab.library.profiles.files import FILE_MODELS, PARTS, Document, Kind
from pcielab.library.profiles.naming import key_of
from pcielab.library.profiles.nested import Table
from pcielab.library.profiles.part import Part
from pcielab.library.profiles.parts import Card, Host, Link, System
from pcielab.library.profiles.provenance import Provenance
from pcielab.library.profiles.titles import changed_title
from pcielab.library.validation import explain, place_of

_PART_KINDS: tuple[Kind, ...] = ("link", "host", "device")
_FILE_ONLY = ("aliases", "base", "provenance", "set")

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True, repr=False)
class ResolvedSystem:
    """A complete, checked system, and what it was made from; never changed, as `with_` makes another one."""

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

    @property
    def link(self) -> Link:
        """The negotiated link."""
        return self.system.link

    @property
    def host(self) -> Host:
        """The host; its values are attributes, such as `host.llc.ddio_ways`."""
        return self.system.host

    @property
    def device(self) -> Card:
        """The card."""
        return self.system.device

    def with_(
        self, changes_by_key: Mapping[str, object] | None = None, /, **changes_by_name: object
    ) -> "ResolvedSystem":
        """This system with changes, which come on top of those that it has already.

        Args:
            changes_by_key: By dotted key, such as `{"host.llc.ddio_ways": 4}`.
            changes_by_name: By any end of a key that only one key has, such as `llc_ddio_ways=4`; `link`, `host`
                and `device` take the name of a profile, or another system's part.

        Raises:
            InputError: No key is called so, several are, or the value cannot be.
        """
        named = {key_of(name, System): value for name, value in changes_by_name.items()}
        asked = {**(changes_by_key or {}), **named}
        single = {key: value for key, value in asked.items() if not isinstance(value, Part)}
        parts = {
            changed: new
            for key, value in asked.items()
            if isinstance(value, Part)
            for changed, new in _differences(value.model_dump(), self.system.model_dump()[key], key)
        }
        return resolve(str(self.files["system"]), {**self.overrides, **parts, **single})

    def __repr__(self) -> str:
        return f"<System {self.title}>"

    def _repr_html_(self) -> str:
        # Loaded here because only notebooks ask for it.
        from pcielab.library.profiles.display import html_of

        return html_of(self)

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


def load_system(name_or_path: str) -> ResolvedSystem:
    """The system of that name, such as `hsw2620`, or in that file (`*.toml`); `with_` makes others of it.

    Raises:
        InputError: There is no such system, or something in it is wrong.
    """
    return resolve(name_or_path)


def load_host(name_or_path: str) -> Host:
    """The host of that name, such as `snb-e5-2630`, or in that file; `with_` makes others of it, for systems.

    Raises:
        InputError: There is no such host, or something in it is wrong.
    """
    content, path, _ = _part("host", name_or_path, Path())
    return _validated(Host, content, path, "host.")


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


def _differences(new: Any, old: Any, key: str) -> Iterator[tuple[str, object]]:
    """The values in which two parts differ, by dotted key."""
    if isinstance(new, dict) and isinstance(old, dict):
        for name in new:
            yield from _differences(new[name], old.get(name), f"{key}.{name}")
    elif new != old:
        yield key, new


def _check(resolved: ResolvedSystem) -> None:
    """Refuse what can be said but not be simulated."""
    with found_in(f"{resolved.files['system']}" + (" with --set" if resolved.overrides else "")):
        _core.check_system(resolved.to_json())


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
        wrong = {".".join(str(step) for step in place_of(detail)) for detail in error.errors()}
        where = str(path)
        if changed:
            where = "--set" if wrong <= set(changed) else f"{path} with --set"
        raise explain(error, model, where, prefix) from None
