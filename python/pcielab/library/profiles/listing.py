"""Profiles as rows: every value with its source."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pcielab.errors import refusal
from pcielab.library.profiles.files import Kind
from pcielab.library.profiles.provenance import Provenance
from pcielab.library.profiles.system import check_file, resolve


@dataclass(frozen=True)
class Listing:
    """A profile as rows."""

    title: str
    sources: list[dict[str, str]]
    """The source of each part: part, source, notes."""
    values: list[dict[str, str]]
    """Every value: key, value, source."""


def listing(kind: Kind, name: str, sets: Mapping[str, object] | Sequence[str] = ()) -> Listing:
    """Every value of a profile with its source; a system includes its link, host and device."""
    if kind == "system":
        resolved = resolve(name, sets)
        sources = [_source(part, found) for part, found in resolved.provenance.items()]
        flat = _flat(resolved.system.dump())
        values = [_value(*item, resolved.source_of(item[0])) for item in flat]
        return Listing(resolved.system.title, sources, values)
    if sets:
        raise refusal("conflict", "--set: changes only values of a system, its link, host and device")
    file = check_file(kind, name)
    return document_listing(kind, file.title, file.provenance, file.values)


def document_listing(kind: str, title: str, provenance: Provenance, content: Mapping[str, Any]) -> Listing:
    """The values of a single file (nested tables) with their sources."""
    values = [_value(*item, provenance.of(item[0])) for item in _flat(dict(content))]
    return Listing(title, [_source(kind, provenance)], values)


def _source(part: str, provenance: Provenance) -> dict[str, str]:
    experimental = f"EXPERIMENTAL: {provenance.experimental} " if provenance.experimental else ""
    return {"part": part, "source": provenance.source, "notes": experimental + provenance.notes}


def _value(key: str, text: str, source: str) -> dict[str, str]:
    return {"key": key, "value": text, "source": source}


def _flat(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Dotted key and text of every value in nested tables, as `--set` takes them."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(inner, f"{key}.{name}" if key else name)
    elif isinstance(value, list) and key.endswith("addresses"):
        yield key, " ".join(f"{address:#x}" for address in value)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _flat(inner, f"{key}.{index}")
    elif value is None:
        yield key, "none"
    else:
        yield key, str(value).lower() if isinstance(value, bool) else str(value)
