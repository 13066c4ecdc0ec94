"""Read the user's files, up to a size, as bytes, text or TOML.

Any content raises at worst an `InputError`: an endless device, a number of thousands of digits, or endless
nesting. Callers check the meaning.
"""

import errno
import os
import re
import select
import stat
import time
import tomllib
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from pcielab.errors import refusal
from pcielab.wording import byte_size, shown

MOST_BYTES = 16 << 20
"""Longest text: five times the longest file of a published run."""
_PIPE_SECONDS = 2.0
_PIPE_BYTES = 1 << 16
_MOST_TOML_BYTES = 4 << 20
_MOST_TO_KEEP = 1 << 16
"""Characters of a text whose content is kept after it was parsed."""
_MOST_PATH = 4096

# Limits of a TOML file: the parser's memory grows with the square of the parts of keys.
_MOST_PARTS, _MANY_PARTS = 16, 3
_MOST_KEYS_OF_MANY_PARTS = 20_000
_MOST_TABLES = 50_000
_MOST_VALUES = 300_000
_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\[^\n])*+"?|'[^'\n]*+'?)"""
_TOKEN = re.compile(
    r"\#[^\n]*+"
    r'|"""(?:[^"\\]|\\.|"(?!""))*+"*+'
    r"|'''(?:[^']|'(?!''))*+'*+"
    rf"|(?P<key>{_PART}(?:[ \t]*+\.[ \t]*+{_PART})*+)",
    re.ASCII | re.DOTALL,
)
"""Comments, multi-line strings, and keys: words and strings joined by dots. It never backtracks."""
_TABLE = re.compile(r"^[ \t]*+\[", re.MULTILINE)


def given_path(reference: str, beside: Path | None = None) -> Path:
    """A given path, relative to `beside`, with `~` and `~user` expanded.

    Raises:
        InputError: It is not a path, or the user is unknown.
    """
    if "\0" in reference or len(reference) > _MOST_PATH:
        raise refusal(
            "malformed",
            f"{shown(reference)}: not a path: give one of at most {_MOST_PATH} characters, without NUL",
        )
    try:
        return (beside or Path()) / Path(reference).expanduser()
    except RuntimeError:
        raise refusal("not-found", f"{reference}: unknown user: write out the path of the folder") from None


def is_there(path: Path) -> bool:
    """Whether a path can be read: a file, a pipe or a device, but not a folder."""
    try:
        return path.exists() and not path.is_dir()
    except OSError:  # a component is too long, or access is denied
        return False


def is_folder(path: Path) -> bool:
    """Whether a path is a folder."""
    try:
        return path.is_dir()
    except OSError:  # a component is too long, or access is denied
        return False


def read_text(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """The content of a file as text, with its line ends."""
    try:
        return read_bytes(path, most_bytes).decode()
    except UnicodeDecodeError as error:
        raise refusal(
            "malformed", f"{path}, byte {error.start}: is not text in UTF-8: the file is damaged or foreign"
        ) from None


def read_text_roughly(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """The output of another program as text; bytes that are not UTF-8 are replaced."""
    return read_bytes(path, most_bytes).decode(errors="replace")


def read_bytes(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """The content of a file, or of a pipe that another program writes to.

    Raises:
        InputError: It cannot be read, is longer than `most_bytes`, or is a pipe without a writer.
    """
    try:
        handle = _opened(path)
        with os.fdopen(handle, "rb") as file:
            first = _first_of_pipe(handle, path) if stat.S_ISFIFO(os.fstat(handle).st_mode) else b""
            os.set_blocking(handle, True)
            content = first + file.read(most_bytes + 1 - len(first))
    except OSError as error:
        raise refusal(
            "not-found" if error.errno == errno.ENOENT else "not-allowed",
            f"{path}: cannot be read: {error.strerror}",
        ) from None
    if len(content) > most_bytes:
        raise refusal("too-large", f"{path}: is longer than {byte_size(most_bytes)}: give a shorter file")
    return content


def _opened(path: Path) -> int:
    """A handle for reading that waits for no writer."""
    try:
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except ValueError:
        raise refusal("malformed", f"{shown(str(path))}: a path has no null characters: give another") from None


def _first_of_pipe(handle: int, path: Path) -> bytes:
    """The first bytes of a pipe, after waiting for them; empty if its writer wrote nothing."""
    until, written = time.monotonic() + _PIPE_SECONDS, False
    while True:
        try:
            first = os.read(handle, _PIPE_BYTES)
        except BlockingIOError:  # a writer has it open and may take any time
            written = True
            select.select([handle], [], [])
            continue
        if first or written:
            return first
        if time.monotonic() > until:
            raise refusal("missing", f"{path}: is a pipe without a writer: start the writer first, or give a file")
        time.sleep(_PIPE_SECONDS / 100)


def read_toml_text(path: Path) -> str:
    """The text of a TOML file, which is left to the compiled half to parse."""
    text = read_text(path, _MOST_TOML_BYTES)
    try:
        _refuse_too_much(text)
    except ValueError as error:
        raise refusal("malformed", f"{path}: not valid TOML: {error}") from None
    return text


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file."""
    text = read_text(path, _MOST_TOML_BYTES)
    try:
        return parse_toml(text)
    except ValueError as error:
        raise refusal("malformed", f"{path}: not valid TOML: {error}") from None


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML.

    Raises:
        ValueError: It is invalid, nested too deeply, or has too many or too long keys, values or numbers.
    """
    if len(text) > _MOST_TO_KEEP:
        return _parsed(text)
    content: dict[str, Any] = _copied(_kept(text))
    return content


@lru_cache(maxsize=256)
def _kept(text: str) -> dict[str, Any]:
    """A parsed text; callers get copies. Many systems share their parts, which are parsed once."""
    return _parsed(text)


def _copied(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _copied(inner) for key, inner in content.items()}
    return [_copied(inner) for inner in content] if isinstance(content, list) else content


def _parsed(text: str) -> dict[str, Any]:
    _refuse_too_much(text)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("brackets are nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # a whole number of thousands of digits
        raise ValueError("a number has too many digits") from None


def _refuse_too_much(text: str) -> None:
    """Refuse, before parsing, a text that would take the parser more than seconds or hundreds of megabytes."""
    if sum(map(text.count, ",=[{")) > _MOST_VALUES:
        raise ValueError(f"more than {_MOST_VALUES} values")
    if next(islice(_TABLE.finditer(text), _MOST_TABLES, None), None) is not None:
        raise ValueError(f"more than {_MOST_TABLES} tables")
    many = 0
    for token in _TOKEN.finditer(text):
        key = token["key"]
        if key is None or key.count(".") < _MANY_PARTS - 1:
            continue
        parts = len(re.findall(_PART, key, re.ASCII))
        if parts > _MOST_PARTS:
            raise ValueError(f"a key of {parts} parts: give {_MOST_PARTS} at most")
        many += parts >= _MANY_PARTS
        if many > _MOST_KEYS_OF_MANY_PARTS:
            raise ValueError(f"more than {_MOST_KEYS_OF_MANY_PARTS} keys of {_MANY_PARTS} parts or more")
