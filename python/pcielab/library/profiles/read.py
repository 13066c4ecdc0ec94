"""Read profiles: a file, the files that it starts from, those of the parts that a system names, and `--set`.

Every table is kept as its file has it, with its path; `merge` lays them over each other.
"""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from pcielab.errors import InputError
from pcielab.library import shipped
from pcielab.library.finding import profile_file
from pcielab.library.input_files import parse_toml, read_toml
from pcielab.library.profiles.files import PARTS, Kind
from pcielab.library.profiles.nested import Table
from pcielab.wording import named, shown

_BASES_MOST = 8


class Layer(NamedTuple):
    """A table as somebody wrote it, which goes over the one that it starts from."""

    table: Table
    path: Path
    """The file that it is in."""
    is_file: bool = True
    """Whether it is a whole file, and not a part in the file of a system."""


def names(kind: Kind) -> list[str]:
    """The shipped profiles of a kind."""
    return list(shipped.profile_files(kind))


def parse_sets(sets: Mapping[str, object] | Sequence[str]) -> dict[str, object]:
    """Changes as a mapping of key to value; texts are read as TOML values where they are one, else as they are.

    Raises:
        InputError: A text is no change, or changes what another one changes too.
    """
    if isinstance(sets, Mapping):
        return {key: _value(value) for key, value in sets.items()}
    changes: dict[str, object] = {}
    for text in sets:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key:
            raise InputError(f"--set {named(text)}: give KEY=VALUE, such as host.iommu.walk_ns=300")
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
    """A file and those that it starts from, each over the next.

    Args:
        kind: Of profile.
        reference: A name or a path; what is neither has no layers.
        beside: The folder that paths start from; absent: where the command was called.
        over: How many layers there are over the file.

    Raises:
        InputError: A file is not there or is not TOML, or files start from each other in a circle.
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
    """The layers of a system's link, host and device, or of those that they are exchanged for.

    Raises:
        InputError: As `read_profile`.
    """
    parts = {}
    for kind in PARTS:
        said = [layer.table[kind] for layer in system if kind in layer.table]
        parts[kind] = _part(kind, [exchanged[kind]] if kind in exchanged else said, system[0].path)
    return parts


def _part(kind: Kind, said: Sequence[Any], path: Path) -> list[Layer]:
    """A part by what a system's layers say of it: a name, or tables; none where it is something else."""
    if said and isinstance(said[0], str):
        return read_profile(kind, said[0], path.parent)
    tables = list(takewhile(lambda one: isinstance(one, dict), said))
    base = next((table["base"] for table in tables if "base" in table), None)
    return [*(Layer(table, path, False) for table in tables), *read_profile(kind, base, path.parent, over=1)]
