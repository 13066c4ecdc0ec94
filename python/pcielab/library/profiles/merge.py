"""Merge a system into one table: its file over its bases, its parts, `[set]`, `--set`.

The compiled half does it (`crates/pcie-profile`), for pages in a browser, too. The table is complete but
unchecked, except that unknown keys of changes are refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pcielab import _core
from pcielab.library.profiles.files import Kind
from pcielab.library.profiles.nested import Table
from pcielab.library.profiles.read import opened


class Layer(NamedTuple):
    """The table of a file, merged over its bases."""

    table: Table
    path: Path
    """Its file."""
    is_file: bool = True
    """Whether it is a whole file, not a part within the file of a system."""


@dataclass(frozen=True)
class Merged:
    """A system as one table, with the files that it was merged from."""

    table: Table
    """The system with all changes."""
    layers: dict[Kind, Layer]
    """The system and each part over its base, without changes."""
    own_changes: dict[str, Any]
    """The system's own `[set]`."""
    changes: dict[str, Any]
    """The caller's changes, without exchanged parts."""


def merge(system: str | Table, changes: Mapping[str, object], label: str = "") -> Merged:
    """A system and its parts as one table, with the caller's changes.

    Args:
        system: A name, a path, or the content of a file that came without its folder.
        changes: By dotted key; `link`, `host` and `device` take another profile.
        label: The name of the content's file, for messages.

    Raises:
        InputError: A file is missing or not TOML, bases form a circle, or a change has an unknown key or an index
            beyond its list.
    """
    table, files, own_changes, others = _core.merge_profile(system, label, dict(changes), opened)
    layers = {kind: Layer(content, Path(path), is_file) for kind, content, path, is_file in files}
    return Merged(table, layers, own_changes, others)


def over_its_bases(kind: Kind, reference: str) -> Layer:
    """A file, by its name or path, merged over its bases; it keeps its own name and title."""
    table, path = _core.merge_bases(kind, reference, opened)
    return Layer(table, Path(path))


def values_of(kind: Kind, content: Table) -> Table:
    """The values of a link, host or device, without the keys that only files have."""
    return _core.profile_values(kind, content)
