"""Finding and reading profile files: by name or by path, with the files they start from merged in.

What comes out is still the raw content, complete but unchecked; `resolve` checks it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from pcielab.errors import InputError
from pcielab.library import shipped
from pcielab.library.input_files import given_path, is_there, read_toml
from pcielab.library.profiles.files import Kind
from pcielab.library.shipped import ProfileKind
from pcielab.library.validation import closest, explain, suggestion
from pcielab.wording import shown

Table: TypeAlias = dict[str, Any]
_IDENTITY = ("aliases", "name", "title")
_BASES_MOST = 8
_SAID: dict[ProfileKind, str] = {"messages": "message", "nic": "NIC"}
"""Kinds that are called otherwise in sentences."""
_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True)
class Raw:
    """The content of a file and where it came from."""

    path: Path
    content: Table


def names(kind: ProfileKind) -> list[str]:
    """The shipped profiles of a kind."""
    return list(shipped.profile_files(kind))


def locate(kind: ProfileKind, reference: str, beside: Path | None = None) -> Path:
    """The file that a reference means: a path (with `.toml` or a slash) from `beside`, or a shipped name."""
    if reference.endswith(".toml") or "/" in reference:
        path = given_path(reference, beside)
        if not is_there(path):
            raise InputError(f"{path}: no such {_SAID.get(kind, kind)} profile")
        return path
    found = shipped.profile_files(kind).get(reference) or _known_otherwise(kind, reference)
    if found is None:
        alias = closest(reference, shipped.aliases(kind))
        remedy = f"did you mean {alias}?" if alias is not None else suggestion(reference, names(kind))
        said = _SAID.get(kind, kind)
        raise InputError(
            f"no {said} profile is named {shown(reference)}: {remedy}; a file is given by its path (*.toml)"
        )
    return found


def _known_otherwise(kind: ProfileKind, reference: str) -> Path | None:
    """The shipped file that goes by this name too, or is called so in other letters."""
    wanted = reference.casefold()
    called = {**{name: name for name in names(kind)}, **shipped.aliases(kind)}
    found = next((name for alias, name in called.items() if alias.casefold() == wanted), None)
    return shipped.profile_files(kind)[found] if found is not None else None


def load(kind: Kind, reference: str, beside: Path | None = None) -> Raw:
    """A file with everything that it starts from."""
    path = locate(kind, reference, beside)
    return Raw(path, with_base(kind, read_toml(path), path))


def checked(kind: ProfileKind, reference: str, model: type[_Model]) -> tuple[_Model, Path]:
    """A file of a kind that starts from no other, as its model, and where it is.

    Raises:
        InputError: There is no such file, or a problem in it; the message names file, key, value and remedy.
    """
    path = locate(kind, reference)
    try:
        return model.model_validate(read_toml(path)), path
    except ValidationError as error:
        raise explain(error, model, str(path)) from None


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
    base_path = locate(kind, reference, path.parent)
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
