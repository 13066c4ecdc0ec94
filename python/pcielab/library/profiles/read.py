"""Reading profile files, with the files they start from merged in.

What comes out is still the raw content, complete but unchecked; `resolve` checks it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from pcielab.errors import InputError
from pcielab.library import shipped
from pcielab.library.finding import profile_file
from pcielab.library.input_files import read_toml
from pcielab.library.profiles.files import Kind
from pcielab.wording import shown

Table: TypeAlias = dict[str, Any]
_IDENTITY = ("aliases", "name", "title")
_BASES_MOST = 8


@dataclass(frozen=True)
class Raw:
    """The content of a file and where it came from."""

    path: Path
    content: Table


def names(kind: Kind) -> list[str]:
    """The shipped profiles of a kind."""
    return list(shipped.profile_files(kind))


def load(kind: Kind, reference: str, beside: Path | None = None) -> Raw:
    """A file with everything that it starts from."""
    path = profile_file(kind, reference, beside)
    return Raw(path, with_base(kind, read_toml(path), path))


def with_base(kind: Kind, own: Table, path: Path, inline: bool = False, depth: int = 0) -> Table:
    """`own` laid over the file that it names as its base; the name and title of a base are its own.

    An inline table keeps the name of its base, as it is no file of its own.
    """
    reference = own.get("base")
    if not isinstance(reference, str):
        return own
    if depth == _BASES_MOST:
        raise InputError(
            f"{path}: base = {shown(reference)}: more than {_BASES_MOST} files start from each other, or in a "
            "circle"
        )
    base_path = profile_file(kind, reference, path.parent)
    base = with_base(kind, read_toml(base_path), base_path, depth=depth + 1)
    kept = {key: value for key, value in base.items() if inline or key not in _IDENTITY}
    if isinstance(base.get("set"), dict):
        kept["set"] = settings_left(base["set"], own)
    return _with_both_sources(merged(kept, own), own, base, reference)


def settings_left(settings: Table, own: Table) -> Table:
    """Settings of a base, without those of parts or values that a file lays over it has of its own."""

    def replaced(key: str) -> bool:
        over: Any = own
        for name in key.split("."):
            if not isinstance(over, dict) or (isinstance(over.get("base"), str) and over is not own):
                return True
            if name not in over:
                return False
            over = over[name]
        return True

    return {key: value for key, value in settings.items() if not replaced(key)}


def _with_both_sources(result: Table, own: Table, base: Table, name: str) -> Table:
    """Values of both files are in the result, so that its source names both."""
    sources = [
        table.get("provenance", {}).get("source") if isinstance(table.get("provenance"), dict) else None
        for table in (own, base)
    ]
    if not all(isinstance(source, str) for source in sources):
        return result
    return merged(result, {"provenance": {"source": f"{sources[0]}. From {name}: {sources[1]}"}})


def merged(under: Table, over: Table) -> Table:
    """Two tables as one: `over` wins, tables in both are merged key by key."""
    result = dict(under)
    for key, value in over.items():
        below = result.get(key)
        result[key] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result
