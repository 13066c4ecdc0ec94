"""Merge the layers of a system into one table: files over their bases, parts, `[set]`, `--set`.

The table is complete but unchecked, except that unknown keys of changes are refused here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pcielab.errors import InputError
from pcielab.library.alike import alike, either, with_most_parts
from pcielab.library.profiles.files import PARTS, Kind
from pcielab.library.profiles.nested import Table, is_index, known_keys, replaced
from pcielab.library.profiles.parts import System
from pcielab.library.profiles.read import Layer, parse_sets
from pcielab.library.validation import closest, suggestion
from pcielab.wording import named

_IDENTITY = ("aliases", "name", "title")
"""Keys that a file never inherits from its base."""
_FILE_ONLY = ("aliases", "base", "provenance", "set")
_MOST_LETTERS = 200
"""Twice the length of the longest key."""


@dataclass(frozen=True)
class Merged:
    """A system as one table, with the layers that it was merged from."""

    table: Table
    """The system with all changes."""
    layers: dict[Kind, Layer]
    """The system and each part over its base, without changes."""
    own_changes: dict[str, Any]
    """The system's own `[set]`."""
    changes: dict[str, object]
    """The caller's changes, without exchanged parts."""


def merge(
    system: Sequence[Layer], parts: Mapping[Kind, Sequence[Layer]], overrides: Mapping[str, object]
) -> Merged:
    """A system and its parts as one table, with the caller's changes.

    Raises:
        InputError: A change has an unknown key, or an index beyond its list.
    """
    exchanged: Table = {kind: overrides[kind] for kind in PARTS if kind in overrides}
    own = Layer({**flattened(system).table, **exchanged}, system[0].path)
    flat = {kind: flattened(layers) for kind, layers in parts.items() if layers}
    table = {key: value for key, value in own.table.items() if key not in _FILE_ONLY}
    table |= {kind: values_of(kind, part.table) for kind, part in flat.items()}
    settings = own.table.get("set")
    own_changes = _left(parse_sets(settings), exchanged) if isinstance(settings, dict) else {}
    changes = {key: value for key, value in overrides.items() if key not in exchanged}
    for where, changed in ((f"{own.path}: [set] ", own_changes), ("--set ", changes)):
        for key, value in changed.items():
            _refuse_unknown(key, where)
            table = replaced(table, key, value, where)
    return Merged(table, {"system": own, **flat}, own_changes, changes)


def values_of(kind: Kind, content: Table) -> Table:
    """The values of a link, host or device, without the keys that only files have."""
    dropped = {*_FILE_ONLY, "title"} | ({"name"} if "name" not in PARTS[kind].model_fields else set())
    return {key: value for key, value in content.items() if key not in dropped}


def flattened(layers: Sequence[Layer]) -> Layer:
    """Merge layers, the first over the next; a file keeps its own name and title."""
    whole = layers[-1].table
    for over in reversed(layers[:-1]):
        own, base = over.table, whole
        kept = {key: value for key, value in base.items() if key not in _IDENTITY or not over.is_file}
        if isinstance(base.get("set"), dict):
            kept["set"] = _left(base["set"], own)
        whole = _over(kept, own)
        match own, base:
            case {"provenance": {"source": str(first)}}, {"provenance": {"source": str(second)}} if over.is_file:
                whole["provenance"]["source"] = f"{first}. From {own['base']}: {second}"
    return layers[0]._replace(table=whole)


def _over(under: Table, over: Table) -> Table:
    result = dict(under)
    for key, value in over.items():
        below = result.get(key)
        result[key] = _over(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


def _left(settings: Table, own: Table) -> Table:
    """Settings of a base, without those whose parts or values the file over it has itself."""

    def has_its_own(key: str) -> bool:
        over: Any = own
        for name in key.split("."):
            if not isinstance(over, dict) or (isinstance(over.get("base"), str) and over is not own):
                return True
            if name not in over:
                return False
            over = over[name]
        return True

    return {key: value for key, value in settings.items() if not has_its_own(key)}


def _refuse_unknown(key: str, where: str) -> None:
    """Refuse an unknown key, and suggest the closest known one."""
    if len(key) > _MOST_LETTERS:
        raise InputError(f"{where}{named(key)}: unknown key: keys have fewer than {_MOST_LETTERS} letters")
    known = known_keys(System)
    wanted = ".".join(step for step in key.split(".") if not is_index(step))
    if wanted in known:
        return
    parent, _, last = wanted.rpartition(".")
    siblings = [other.rpartition(".")[2] for other in known if other.rpartition(".")[0] == parent]
    elsewhere = [other for other in known if other.rpartition(".")[2] == last]
    with_its_parts = alike(wanted, known) if not parent else []
    if elsewhere:
        remedy = f"did you mean {' or '.join(elsewhere)}?"
    elif with_its_parts:
        remedy = f"did you mean {either(with_its_parts)}?"
    elif siblings and closest(last, siblings):
        remedy = suggestion(last, siblings)
    else:
        nearest = alike(wanted, known) or with_most_parts(wanted, known)
        others = siblings or list(System.model_fields)
        remedy = f"did you mean {either(nearest)}?" if nearest else suggestion(last, others)
    raise InputError(f"{where}{named(key)}: unknown key: {remedy}")
