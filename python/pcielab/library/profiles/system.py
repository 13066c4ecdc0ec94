"""The finished system: read, merged, validated, and handed to the simulator, which refuses what it cannot do."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcielab import _core
from pcielab.errors import found_in
from pcielab.library.profiles.files import PARTS, Document, Kind
from pcielab.library.profiles.keys import html_of, keys_of
from pcielab.library.profiles.merge import flattened, merge
from pcielab.library.profiles.nested import key_of
from pcielab.library.profiles.part import Part
from pcielab.library.profiles.parts import Card, Host, Link, System
from pcielab.library.profiles.provenance import Provenance
from pcielab.library.profiles.read import parse_sets, read_parts, read_profile
from pcielab.library.profiles.validate import document, validate


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
        return html_of(self.title, self.overrides, keys_of(self.system, self.source_of))

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
        for kind in PARTS:
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
    file = check_file("host", name_or_path)
    return Host.model_validate(file.model_dump(include=set(Host.model_fields), exclude_unset=True))


def resolve(name_or_path: str, sets: Mapping[str, object] | Sequence[str] = ()) -> ResolvedSystem:
    """The system of that name (or in that file, `*.toml`), with changes made to single values.

    Args:
        name_or_path: A shipped system, such as `hsw2620`, or the path of a file.
        sets: Changes, as `{"host.iommu.walk_ns": 300}` or `["host.iommu.walk_ns=300"]`. `link`, `host` and
            `device` take another profile as a whole.

    Raises:
        InputError: Something is unknown, missing, of the wrong type or out of range; the message says where.
    """
    overrides = parse_sets(sets)
    layers = read_profile("system", name_or_path)
    merged = merge(layers, read_parts(layers, overrides), overrides)
    system, provenance = validate(merged)
    files = {kind: layer.path for kind, layer in merged.layers.items()}
    resolved = ResolvedSystem(system, overrides, merged.own_changes, provenance, files)
    with found_in(f"{files['system']}" + (" with --set" if overrides else "")):
        _core.check_system(resolved.to_json())
    return resolved


def check_file(kind: Kind, name_or_path: str | Path) -> Document:
    """A profile file of any kind, checked by itself."""
    return document(kind, flattened(read_profile(kind, str(name_or_path))))


def _differences(new: Any, old: Any, key: str) -> Iterator[tuple[str, object]]:
    """The values in which two parts differ, by dotted key."""
    if isinstance(new, dict) and isinstance(old, dict):
        for name in new:
            yield from _differences(new[name], old.get(name), f"{key}.{name}")
    elif new != old:
        yield key, new


def changed_title(name: str, title: str, overrides: Mapping[str, Any]) -> str:
    """One line for people about a system whose values were changed, which its own title says nothing of.

    Args:
        name: of the system.
        title: of the system as its file has it.
        overrides: what was changed, by dotted key; the title stands as it is where nothing was.
    """
    return f"{changed_name(name, overrides)}, which was: {title}" if overrides else title


def changed_name(name: str, overrides: Mapping[str, Any]) -> str:
    """The name of a system, and what was changed in it."""
    changes = ", ".join(f"{key}={value}" for key, value in overrides.items())
    return f"{name} changed ({changes})" if changes else name
