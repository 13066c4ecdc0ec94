"""Read profiles: a file, its bases, the parts that a system names, and `--set`.

Every file's table is kept apart, with its path; `merge` merges them.
"""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from pcielab.errors import InputError
from pcielab.library import shipped
from pcielab.library.input_files import parse_toml, read_toml
from pcielab.library.lookup import profile_file
from pcielab.library.profiles.files import PARTS, Kind
from pcielab.library.profiles.nested import Table
from pcielab.wording import named, shown

_BASES_MOST = 8


class Layer(NamedTuple):
    """The table of a file, to be merged over that of its base."""

    table: Table
    path: Path
    """Its file."""
    is_file: bool = True
    """Whether it is a whole file, not a part within the file of a system."""


def names(kind: Kind) -> list[str]:
    """The shipped profiles of a kind."""
    return list(shipped.profile_files(kind))


def parse_sets(sets: Mapping[str, object] | Sequence[str]) -> dict[str, object]:
    """Changes as a mapping from key to value; texts that are not TOML values stay texts.

    Raises:
        InputError: A text is not KEY=VALUE, or a key is given twice.
    """
    if isinstance(sets, Mapping):
        return {key: _value(value) for key, value in sets.items()}
    changes: dict[str, object] = {}
    for text in sets:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key:
            raise InputError(f"--set {named(text)}: give KEY=VALUE, for example host.iommu.walk_ns=300")
        if key in changes:
            raise InputError(f"--set {named(key)}: given twice: give one value for a key")
        changes[key] = _value(value)
    return changes


def _value(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value == "none":
        return None
    try:
        read = parse_toml(f"value = {value}")
    except ValueError:
        return value
    return read["value"] if len(read) == 1 else value


def read_profile(kind: Kind, reference: object, beside: Path | None = None, over: int = 0) -> list[Layer]:
    """The layers of a file and its bases, each over the next.

    Args:
        kind: Kind of profile.
        reference: A name or a path; anything else has no layers.
        beside: The folder that paths are relative to; absent: the working directory.
        over: Number of layers over the file.

    Raises:
        InputError: A file is missing or not TOML, or bases form a circle.
    """
    layers: list[Layer] = []
    while isinstance(reference, str):
        if len(layers) + over > _BASES_MOST:
            raise InputError(
                f"{layers[-1].path}: base is {shown(reference)}: more than {_BASES_MOST} files start from each "
                "other, or in a circle"
            )
        path = profile_file(kind, reference, beside)
        layers.append(Layer(read_toml(path), path))
        reference, beside = layers[-1].table.get("base"), path.parent
    return layers


def read_parts(system: Sequence[Layer], exchanged: Mapping[str, object]) -> dict[Kind, list[Layer]]:
    """The layers of a system's link, host and device, or of their replacements in `exchanged`."""
    parts = {}
    for kind in PARTS:
        given = [layer.table[kind] for layer in system if kind in layer.table]
        parts[kind] = _part(kind, [exchanged[kind]] if kind in exchanged else given, system[0].path)
    return parts


def _part(kind: Kind, given: Sequence[Any], path: Path) -> list[Layer]:
    """The layers of a part that a system's layers give as a name or as tables; empty for anything else."""
    if given and isinstance(given[0], str):
        return read_profile(kind, given[0], path.parent)
    tables = list(takewhile(lambda one: isinstance(one, dict), given))
    base = next((table["base"] for table in tables if "base" in table), None)
    return [*(Layer(table, path, False) for table in tables), *read_profile(kind, base, path.parent, over=1)]
