"""Profiles as rows: what is shipped, and every value of one with where it comes from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pcielab.errors import InputError
from pcielab.profiles.files import Kind
from pcielab.profiles.read import locate, names
from pcielab.profiles.resolve import check_file, resolve

_HEAD = ("title", "provenance", "base")


def shipped_rows(kinds: Iterable[Kind]) -> list[dict[str, str]]:
    """One row for each shipped profile: kind, name, title."""
    rows = []
    for kind in kinds:
        for name in names(kind):
            rows.append({"kind": kind, "name": name, "title": check_file(kind, locate(kind, name)).title})
    return rows


def profile_rows(
    kind: Kind, name: str, sets: Mapping[str, object] | Sequence[str] = ()
) -> tuple[str, list[dict[str, str]]]:
    """The title of a profile, and a row for each value: key, value, where it comes from.

    The sources of the files come first, under `provenance`; values without a note of their own come from there.
    """
    if kind == "system":
        system = resolve(name, sets)
        head = [_row(f"provenance.{part}", found.source, found.notes) for part, found in system.provenance.items()]
        flat = _flat(system.system.model_dump())
        return system.system.title, head + [_row(key, value, system.source_of(key)) for key, value in flat]
    if sets:
        raise InputError("--set: only a system's values can be changed, with its link, host and device")
    document = check_file(kind, locate(kind, name))
    provenance = document.provenance
    values = _flat(document.model_dump(exclude=set(_HEAD)))
    rows = [_row("provenance", provenance.source, provenance.notes)]
    return document.title, rows + [_row(key, value, provenance.of(key)) for key, value in values]


def _row(key: str, value: object, source: str) -> dict[str, str]:
    return {"key": key, "value": str(value), "source": source}


def _flat(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(inner, f"{key}.{name}" if key else name)
    elif isinstance(value, list) and key.endswith("addresses"):
        yield key, " ".join(f"{address:#x}" for address in value)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _flat(inner, f"{key}.{index}")
    else:
        yield key, "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
