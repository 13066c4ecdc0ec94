"""Changes to single values by dotted key: the `[set]` table of a system file, and `--set KEY=VALUE`."""

from collections.abc import Mapping, Sequence
from functools import cache

from pcielab.errors import InputError
from pcielab.library.input_files import parse_toml
from pcielab.library.profiles.nested import Table, is_index, known_keys, replaced
from pcielab.library.profiles.parts import System
from pcielab.library.validation import closest, suggestion
from pcielab.wording import named

_MOST_LETTERS = 200
"""Twice as many as the longest key has."""


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


def apply(raw: Table, changes: Mapping[str, object], where: str) -> Table:
    """A copy of the raw system with each change made; a key that no system has is refused, naming the closest."""
    for key, value in changes.items():
        steps = key.split(".")
        _check(key, steps, where)
        raw = replaced(raw, key, value, where)
    return raw


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


@cache
def _known() -> list[str]:
    return list(known_keys(System))


def _check(key: str, steps: Sequence[str], where: str) -> None:
    if len(key) > _MOST_LETTERS:
        raise InputError(
            f"{where}{named(key)}: no such key: the longest ones have fewer than {_MOST_LETTERS} letters"
        )
    wanted = ".".join(step for step in steps if not is_index(step))
    known = _known()
    if wanted in known:
        return
    parent, _, last = wanted.rpartition(".")
    siblings = [other.rpartition(".")[2] for other in known if other.rpartition(".")[0] == parent]
    elsewhere = [other for other in known if other.rpartition(".")[2] == last]
    if elsewhere:
        remedy = f"did you mean {' or '.join(elsewhere)}?"
    elif siblings and closest(last, siblings):
        remedy = suggestion(last, siblings)
    else:
        nearest = closest(wanted, known)
        remedy = f"did you mean {nearest}?" if nearest else suggestion(last, siblings or list(System.model_fields))
    raise InputError(f"{where}{named(key)}: no such key: {remedy}")
