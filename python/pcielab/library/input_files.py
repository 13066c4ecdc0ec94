"""Files that people give: found by the path they wrote, and read up to a size, as text or as TOML.

Whatever such a file holds, an `InputError` is the worst that comes of reading it, be it an endless device, a
number of thousands of digits, or brackets without end. What the content means is checked by who asked for it.
"""

import tomllib
from pathlib import Path
from typing import Any

from pcielab.errors import InputError
from pcielab.wording import shown

MOST_BYTES = 64 << 20
"""Longest text that is read: twenty times the longest file of a published run."""
_MOST_TOML_BYTES = 16 << 20
_MOST_PATH = 4096


def given_path(reference: str, beside: Path | None = None) -> Path:
    """The path that someone wrote, from `beside`, with `~` and `~user` replaced.

    Raises:
        InputError: It cannot be a path, or there is no such user.
    """
    if "\0" in reference or len(reference) > _MOST_PATH:
        raise InputError(
            f"{shown(reference)}: is no path: give one of at most {_MOST_PATH} characters, without NUL"
        )
    try:
        return (beside or Path()) / Path(reference).expanduser()
    except RuntimeError:
        raise InputError(f"{reference}: there is no such user: write the path of the folder out") from None


def is_there(path: Path) -> bool:
    """Whether there is something to read at a path: a file, a pipe or a device, but no folder."""
    try:
        return path.exists() and not path.is_dir()
    except OSError:  # a part of it is too long, or may not be looked into
        return False


def read_text(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """The content of a file as text; line ends stay as they are.

    Raises:
        InputError: It cannot be read, is longer than `most_bytes`, or is not text in UTF-8.
    """
    try:
        return _read(path, most_bytes).decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}, byte {error.start}: is not text in UTF-8: the file is damaged or foreign"
        ) from None


def read_text_roughly(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """The same of what other programs print, in which what is not UTF-8 does not matter.

    Raises:
        InputError: It cannot be read, or is longer than `most_bytes`.
    """
    return _read(path, most_bytes).decode(errors="replace")


def _read(path: Path, most_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if len(content) > most_bytes:
        raise InputError(f"{path}: is longer than {most_bytes >> 20} MiB: give a shorter file")
    return content


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file.

    Raises:
        InputError: It cannot be read, or is not TOML that can be taken in.
    """
    text = read_text(path, _MOST_TOML_BYTES)
    try:
        return parse_toml(text)
    except ValueError as error:
        raise InputError(f"{path}: not valid TOML: {error}") from None


def parse_toml(text: str) -> dict[str, Any]:
    """A text as TOML.

    Raises:
        ValueError: It is none, or is nested too deeply or has a number too long to be taken in.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("brackets inside brackets, too deep to follow") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # a whole number of thousands of digits
        raise ValueError("a number has too many digits") from None
