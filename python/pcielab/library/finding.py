"""What a name or a path means: the one way in which every kind of profile and suite is found.

What ends in `.toml` or has a slash is a path. All else is the name of something shipped, or another name that it
goes by, in whatever letters.
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
"""What a kind is called in messages."""


def is_path(reference: str) -> bool:
    """Whether someone wrote a path, and not a name."""
    return reference.endswith(".toml") or "/" in reference


def profile_file(kind: ProfileKind, reference: str | Path, beside: Path | None = None) -> Path:
    """The file of a profile.

    Args:
        kind: Which kind is meant.
        reference: A name or a path.
        beside: The folder that paths start from; absent: where the command was called.

    Raises:
        InputError: No profile of this kind is called so, or there is no such file.
    """
    return _found(_PROFILES[kind], str(reference), shipped.profile_files(kind), beside, kind)


def suite_file(kind: SuiteKind, reference: str | Path) -> Path:
    """The file of a suite.

    Args:
        kind: Which kind is meant.
        reference: A name or a path.

    Raises:
        InputError: No suite of this kind is called so, or there is no such file.
    """
    return _found(_SUITES[kind], str(reference), shipped.suite_files(kind))


def profile_kinds(name: str) -> list[ProfileKind]:
    """The kinds that have a profile of this name."""
    exactly = [kind for kind in _PROFILES if name in shipped.profile_files(kind)]
    return exactly or [kind for kind in _PROFILES if _called(name, shipped.profile_files(kind), kind) is not None]


def suite_kinds(name: str) -> list[SuiteKind]:
    """The kinds that have a suite of this name."""
    return [kind for kind in _SUITES if _called(name, shipped.suite_files(kind)) is not None]


def existing(path: Path, what: str) -> Path:
    """The path, if there is something to read.

    Raises:
        InputError: There is nothing, or a folder.
    """
    if is_there(path):
        return path
    error = InputError(f"{path}: no such {what}")
    error.subject = str(path)
    raise error


def unknown(what: str, name: str, known: Mapping[str, str]) -> InputError:
    """Of a name that nothing has.

    Args:
        what: What was meant, as `NIC`.
        name: The name.
        known: The names there are and other names for them, each with the name itself.
    """
    # Loads the library that models of files need; a name that is known waits for none of it.
    from pcielab.library.validation import closest, suggestion

    other = closest(name, [alias for alias, of in known.items() if alias != of])
    remedy = f"did you mean {other}?" if other is not None else suggestion(name, dict.fromkeys(known.values()))
    remedy = f"{remedy}; a file is given by its path (*.toml)"
    error = InputError(f"no {what} is named {shown(name)}: {remedy}")
    error.value, error.remedy = name, remedy
    return error


def _found(
    what: str,
    reference: str,
    files: Mapping[str, Path],
    beside: Path | None = None,
    kind: ProfileKind | None = None,
) -> Path:
    if is_path(reference):
        return existing(given_path(reference, beside), what)
    name = _called(reference, files, kind)
    if name is None:
        raise unknown(what, reference, {name: name for name in files} | (shipped.aliases(kind) if kind else {}))
    return files[name]


def _called(reference: str, files: Mapping[str, Path], kind: ProfileKind | None = None) -> str | None:
    """The name of what goes by a name."""
    if reference in files:
        return reference
    wanted = reference.casefold()
    called = {name: name for name in files} | (shipped.aliases(kind) if kind else {})
    return next((name for other, name in called.items() if other.casefold() == wanted), None)
