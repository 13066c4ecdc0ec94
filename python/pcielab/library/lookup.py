"""Find the file of a profile or suite by name or path, for every kind.

A reference that ends in `.toml` or has a slash is a path. Any other is the name or alias of a shipped file, in
upper or lower case.
"""

from collections.abc import Mapping
from pathlib import Path

from pcielab.errors import InputError
from pcielab.library import shipped
from pcielab.library.input_files import given_path, is_there
from pcielab.library.shipped import ProfileKind, SuiteKind
from pcielab.wording import shown

_PROFILES: dict[ProfileKind, str] = {
    "system": "system profile",
    "host": "host profile",
    "device": "device profile",
    "link": "link profile",
    "nic": "NIC",
    "messages": "profile of messages",
    "fabric": "fabric",
}
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


def existing(path: Path, label: str) -> Path:
    """The path, if there is something to read."""
    if is_there(path):
        return path
    error = InputError(f"{path}: {label} not found")
    error.subject = str(path)
    raise error


def unknown(label: str, name: str, known: Mapping[str, str]) -> InputError:
    """The error of an unknown name.

    Args:
        label: The kind in messages: `NIC`.
        name: The name.
        known: The known names and aliases, each with the name that it stands for.
    """
    # Imported here because it loads pydantic, which known names do not need.
    from pcielab.library.validation import closest, suggestion

    other = closest(name, [alias for alias, of in known.items() if alias != of])
    remedy = f"did you mean {other}?" if other is not None else suggestion(name, dict.fromkeys(known.values()))
    remedy = f"{remedy}; for a file give its path (*.toml)"
    error = InputError(f"no {label} is named {shown(name)}: {remedy}")
    error.value, error.remedy = name, remedy
    return error


def _found(
    label: str,
    reference: str,
    files: Mapping[str, Path],
    beside: Path | None = None,
    kind: ProfileKind | None = None,
) -> Path:
    if is_path(reference):
        return existing(given_path(reference, beside), label)
    name = _called(reference, files, kind)
    if name is None:
        raise unknown(label, reference, {name: name for name in files} | (shipped.aliases(kind) if kind else {}))
    return files[name]


def _called(reference: str, files: Mapping[str, Path], kind: ProfileKind | None = None) -> str | None:
    """The name of the file that a name or alias refers to; None if there is none."""
    if reference in files:
        return reference
    wanted = reference.casefold()
    called = {name: name for name in files} | (shipped.aliases(kind) if kind else {})
    return next((name for other, name in called.items() if other.casefold() == wanted), None)
