"""Read a system: by the compiled half, which merges, checks, and knows the file of every value."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.library.profiles.files import PARTS, Kind
from pcielab.library.profiles.keys import html_of, keys_of
from pcielab.library.profiles.parts import Card, Host, Link, System
from pcielab.library.profiles.provenance import Provenance
from pcielab.library.profiles.read import opened, parse_sets
from pcielab.library.profiles.values import Part, key_of

LOADED_CORES = "host.load.cores"
"""Key of the number of busy cores."""


@dataclass(frozen=True, repr=False)
class ResolvedSystem:
    """A complete, checked, immutable system with its sources; `with_` makes a changed one."""

    handle: _core.System
    """The system of the compiled half."""
    overrides: dict[str, Any]
    """The caller's changes (`--set`)."""

    @cached_property
    def system(self) -> System:
        """Its values: `system.host.llc.ddio_ways`."""
        return System(self.handle, self._described[0])

    @cached_property
    def own_changes(self) -> dict[str, Any]:
        """The file's own `[set]`."""
        return self._described[1]

    @cached_property
    def provenance(self) -> dict[Kind, Provenance]:
        """The sources of each part's values; under `system` those of the system file."""
        found: Any = self._described[3]
        return {kind: Provenance(**sources) for kind, sources in found.items()}

    @cached_property
    def files(self) -> dict[Kind, Path]:
        """The file of each part."""
        found: Any = self._described[2]
        return {kind: Path(path) for kind, path in found.items()}

    @property
    def unmeasured(self) -> Mapping[str, str]:
        """The keys that nobody measured: `borrowed`, `assumed`, or `unidentified` by its rows."""
        return self._described[4]

    @property
    def borrowed(self) -> Mapping[str, str]:
        """The borrowed keys, and the profile that each comes from."""
        return self._described[5]

    @cached_property
    def _described(
        self,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, str], dict[str, Any], dict[str, str], dict[str, str]]:
        return self.handle.described()

    @property
    def title(self) -> str:
        """One line for people, with the changes of a changed system."""
        own = self.overrides.get("title")
        return str(own) if own else changed_title(self.system.title, self.overrides)

    @property
    def fitted_to(self) -> str:
        """The rows that values were fitted to although nobody measured them: `simulated rows`; mostly empty."""
        origins = {sources.origin for sources in self.provenance.values()} - {"measured"}
        return f"{' and '.join(sorted(origins))} rows" if origins else ""

    @property
    def extrapolated(self) -> list[str]:
        """Sentences on its values that lie outside the ranges that measurements cover; mostly empty."""
        load = self.system.host.load
        return [beyond] if load and (beyond := self.beyond_fitted(LOADED_CORES, load.cores)) else []

    def beyond_fitted(self, key: str, value: float) -> str:
        """A sentence on a value outside the range of a key that measurements cover; empty for one inside."""
        fitted = self.fitted_range(key)
        if fitted is None or fitted[0] <= value <= fitted[1]:
            return ""
        return f"the law of {key} was fitted to measurements of {fitted[0]:g} to {fitted[1]:g} cores"

    def fitted_range(self, key: str) -> tuple[float, float] | None:
        """The range of a dotted key that measurements cover; None if none is known."""
        for kind, sources in self.provenance.items():
            within = key.removeprefix("" if kind == "system" else f"{kind}.")
            if within in sources.fitted:
                least, most = sources.fitted[within]
                return least, most
        return None

    @property
    def link(self) -> Link:
        """The negotiated link."""
        return self.system.link

    @property
    def host(self) -> Host:
        """The host; its values are attributes: `host.llc.ddio_ways`."""
        return self.system.host

    @property
    def device(self) -> Card:
        """The device."""
        return self.system.device

    def with_(
        self, changes_by_key: Mapping[str, object] | None = None, /, **changes_by_name: object
    ) -> "ResolvedSystem":
        """This system with further changes.

        Args:
            changes_by_key: By dotted key: `{"host.llc.ddio_ways": 4}`.
            changes_by_name: By any unambiguous end of a key: `llc_ddio_ways=4`; `link`, `host` and `device` take
                the name of a profile, or another system's part.

        Raises:
            InputError: A name is unknown or ambiguous, or a value is wrong.
        """
        named = {key_of(name, System): value for name, value in changes_by_name.items()}
        asked = {**(changes_by_key or {}), **named}
        single = {key: value for key, value in asked.items() if not isinstance(value, Part)}
        parts = {
            changed: new
            for key, value in asked.items()
            if isinstance(value, Part)
            for changed, new in _differences(value.dump(), self.system.dump()[key], key)
        }
        return resolve(str(self.files["system"]), {**self.overrides, **parts, **single})

    def __repr__(self) -> str:
        return f"<System {self.title}>"

    def _repr_html_(self) -> str:
        return html_of(self.title, self.overrides, keys_of(self.system, self.source_of))

    def to_json(self) -> str:
        """The resolved system as canonical JSON: keys sorted, no spaces, every key present."""
        return self.handle.json()

    def source_of(self, key: str) -> str:
        """The source of the value of a dotted key; empty if unknown."""
        if key in self.overrides:
            return "changed with --set"
        own = self.provenance["system"].of(key)
        if own or key in self.own_changes:
            return own or "set by the system file"
        for kind in PARTS:
            if key.startswith(f"{kind}.") and kind in self.provenance:
                return self.provenance[kind].of(key.removeprefix(f"{kind}."))
        return ""


@refuses_wrong_types
def load_system(name_or_path: str) -> ResolvedSystem:
    """The system of a name (`hsw2620`) or file (`*.toml`).

    Raises:
        InputError: The system is missing or wrong.
    """
    return resolve(name_or_path)


@refuses_wrong_types
def load_host(name_or_path: str) -> Host:
    """The host of a name (`snb-e5-2630`) or file, for `ResolvedSystem.with_`.

    Raises:
        InputError: The host is missing or wrong.
    """
    return Host(check_file("host", name_or_path).values)


@refuses_wrong_types
def resolve(name_or_path: str, sets: Mapping[str, object] | Sequence[str] = ()) -> ResolvedSystem:
    """The system of a name or file, with changes.

    Args:
        name_or_path: A shipped system (`hsw2620`), or the path of a file (`*.toml`).
        sets: Changes, as `{"host.iommu.walk_ns": 300}` or `["host.iommu.walk_ns=300"]`. `link`, `host` and
            `device` take another profile as a whole.

    Raises:
        InputError: A key is unknown or missing, or a value wrong; the message names the file that gave it.
    """
    overrides = parse_sets(sets)
    return ResolvedSystem(_core.System.read(name_or_path, overrides, opened), overrides)


def resolve_alone(text: str, label: str, sets: Mapping[str, object] = MappingProxyType({})) -> ResolvedSystem:
    """The system of a file that came without its folder, with changes.

    Args:
        text: The file's text. It may name shipped profiles, but no files.
        label: The file's name, for messages.
        sets: Changes by dotted key.

    Raises:
        InputError: As `resolve`, or the text names a file.
    """
    overrides = parse_sets(sets)
    return ResolvedSystem(_core.System.read_text(text, label, overrides, opened), overrides)


@dataclass(frozen=True)
class File:
    """A file by itself, over its bases, checked."""

    values: dict[str, Any]
    """The values of a part, with every key; of a system, its table without its head."""
    table: dict[str, Any]
    """The table as written, over those of its bases."""
    provenance: Provenance
    """Sources of its values."""
    path: Path

    @property
    def title(self) -> str:
        """One line for people."""
        return str(self.table["title"])


def check_file(kind: Kind, name_or_path: str | Path) -> File:
    """A profile file of any kind, checked by itself."""
    values, table, provenance, path = _core.read_profile(kind, str(name_or_path), opened)
    return File(values, table, Provenance(**provenance), Path(path))


def _differences(new: Any, old: Any, key: str) -> Iterator[tuple[str, object]]:
    """The values in which two parts differ, by dotted key."""
    if isinstance(new, dict) and isinstance(old, dict):
        for name in new:
            yield from _differences(new[name], old.get(name), f"{key}.{name}")
    elif new != old:
        yield key, new


def changed_title(title: str, overrides: Mapping[str, Any]) -> str:
    """The title of a system with its changes.

    Args:
        title: The title in its file.
        overrides: The changes, by dotted key.
    """
    return f"{title}, with {_listed(overrides)}" if overrides else title


def changed_name(name: str, overrides: Mapping[str, Any]) -> str:
    """The name of a system with its changes."""
    return f"{name} changed ({_listed(overrides)})" if overrides else name


def _listed(overrides: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in overrides.items())
