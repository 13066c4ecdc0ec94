"""Find the file of a profile or suite by name or path, for every kind.

A reference that ends in `.toml` or has a slash is a path. Any other is the name or alias of a shipped file, in
upper or lower case.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path

from pcielab.errors import InputError, refusal
from pcielab.library import shipped
from pcielab.library.alike import alike, either, suggestion, with_parts
from pcielab.library.input_files import given_path, is_folder, is_there
from pcielab.library.shipped import ProfileKind, SuiteKind
from pcielab.wording import shown

_PROFILES: dict[ProfileKind, str] = {
    "system": "system profile",
    "host": "host profile",
    "device": "device profile",
    "link": "link profile",
    "nic": "NIC",
    "engine": "engine",
    "expander": "expander",
    "core": "core",
    "bar": "BAR",
    "messages": "profile of messages",
    "fabric": "fabric",
}
_MOST_BESIDE = 1000
_SUITES: dict[SuiteKind, str] = {"transfers": "suite", "messages": "suite of messages", "fabric": "fabric suite"}
"""Names of the kinds in messages."""


def is_path(reference: str) -> bool:
    """Whether a reference is a path and not a name."""
    return reference.endswith(".toml") or "/" in reference


def profile_file(kind: ProfileKind, reference: str | Path, beside: Path | None = None) -> Path:
    """The file of a profile.

    Args:
        kind: Its kind.
        reference: Its name or path.
        beside: The folder that paths are relative to; absent: the working directory.
    """
    return _found(_PROFILES[kind], str(reference), shipped.profile_files(kind), beside, kind)


def suite_file(kind: SuiteKind, reference: str | Path) -> Path:
    """The file of a suite.

    Args:
        kind: Its kind.
        reference: Its name or path.
    """
    return _found(_SUITES[kind], str(reference), shipped.suite_files(kind))


def profile_kinds(name: str) -> list[ProfileKind]:
    """The kinds that have a profile of this name."""
    exactly = [kind for kind in _PROFILES if name in shipped.profile_files(kind)]
    return exactly or [kind for kind in _PROFILES if _called(name, shipped.profile_files(kind), kind) is not None]


def suite_kinds(name: str) -> list[SuiteKind]:
    """The kinds that have a suite of this name."""
    return [kind for kind in _SUITES if _called(name, shipped.suite_files(kind)) is not None]


def existing(path: Path, label: str, names: Iterable[str] = ()) -> Path:
    """The path, if there is something to read.

    Args:
        path: The path.
        label: What it should be, in messages.
        names: Shipped names, of which one may be meant.

    Raises:
        InputError: It is a folder, or there is no such file; the message has files and names that resemble it.
    """
    if is_there(path):
        return path
    why = "it is a folder" if is_folder(path) else "no such file"
    near = files_alike(path) or alike(path.stem, names)
    remedy = f"did you mean {either(near)}?" if near else ""
    error = refusal("not-found", f"{path}: {label} not found: {why}{f': {remedy}' if remedy else ''}")
    error.subject, error.remedy = str(path), remedy or None
    raise error


def files_alike(path: Path) -> list[str]:
    """The files beside a missing one, of its suffix, whose names resemble its own."""
    return [str(path.with_stem(stem)) for stem in alike(path.stem, _beside(path))]


def _beside(path: Path) -> list[str]:
    """The stems of files of the same suffix in a path's folder, as many as are worth a look."""
    try:
        found = (one.stem for one in path.parent.iterdir() if one.suffix == path.suffix and one.is_file())
        return sorted(islice(found, _MOST_BESIDE))
    except OSError:
        return []


def unknown(label: str, name: str, files: Mapping[str, Path], aliases: Iterable[str] = ()) -> InputError:
    """The error of an unknown name.

    Args:
        label: The kind in messages: `NIC`.
        name: The name.
        files: The files by name; their titles are compared too.
        aliases: Other names of the files.
    """
    lower = {file.casefold() for file in files}
    named_alike = alike(name, [*files, *(alias for alias in aliases if alias.casefold() not in lower)])
    if named_alike and set(named_alike) <= set(files):
        remedy = suggestion(name, files)
    else:
        matches = named_alike or _titled_alike(name, files)
        remedy = f"did you mean {either(matches)}?" if matches else suggestion(name, files)
    remedy = f"{remedy}; for a file give its path (*.toml)"
    error = refusal("not-found", f"no {label} is named {shown(name)}: {remedy}")
    error.value, error.remedy = name, remedy
    return error


def _titled_alike(name: str, files: Mapping[str, Path]) -> list[str]:
    """The names of the files whose titles have all parts of a name."""
    titles = {shipped.title(path): name for name, path in files.items()}
    return [titles[title] for title in with_parts(name, titles)]


def _found(
    label: str,
    reference: str,
    files: Mapping[str, Path],
    beside: Path | None = None,
    kind: ProfileKind | None = None,
) -> Path:
    if is_path(reference):
        return existing(given_path(reference, beside), label, files)
    name = _called(reference, files, kind)
    if name is None:
        raise unknown(label, reference, files, shipped.aliases(kind) if kind else ())
    return files[name]


def _called(reference: str, files: Mapping[str, Path], kind: ProfileKind | None = None) -> str | None:
    """The name of the file that a name or alias refers to; None if there is none."""
    if reference in files:
        return reference
    wanted = reference.casefold()
    called = {name: name for name in files} | (shipped.aliases(kind) if kind else {})
    return next((name for other, name in called.items() if other.casefold() == wanted), None)
