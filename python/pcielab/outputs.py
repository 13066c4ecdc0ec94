"""Write output files and folders atomically.

An output is made in a hidden folder beside its path, synced, and then renamed (`crates/pcie-output`, which stores
use, too). Only regular files are replaced, and a store only by another store. Links are followed; a terminal, a
device or a pipe is written to, and `-` is stdout. Leftovers of a killed command are removed by the next one that
writes there.

A command checks its outputs before it starts to work.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from pcielab import _core
from pcielab.errors import InputError, refusal, with_message

_PICTURES = (".pdf", ".png", ".svg")
_PAGES = ("", ".htm", ".html", ".xhtml")


def check_file(path: Path, *, overwrite: bool) -> None:
    """Check that a file can be written at a path, by trying.

    Raises:
        InputError: It exists and `overwrite` is not given, it is a store or not a regular file, or nothing can be
            created there.
    """
    _core.check_file(path, overwrite=overwrite)


def check_page(path: Path, *, overwrite: bool) -> None:
    """Check that an HTML page can be written at a path, as `check_file`, and that it ends like a page.

    Raises:
        InputError: As `check_file`, or the ending is not that of a page.
    """
    check_file(path, overwrite=overwrite)
    ending = path.suffix.lower()
    if ending not in _PAGES:
        printed = ", and print it from a browser for a PDF" if ending in _PICTURES else ""
        raise refusal(
            "unsupported", f"{path}: {ending} is no format of a page: give {path.with_suffix('.html')}{printed}"
        )


def check_folder(path: Path, *, overwrite: bool, mark: str) -> None:
    """Check that a folder can be written at a path, by trying; see `write_folder`.

    Raises:
        InputError: It exists and must be kept, or nothing can be created there.
    """
    _core.check_folder(path, overwrite=overwrite, mark=mark)


def check_new_store(path: Path, *, overwrite: bool) -> None:
    """Check that a store can be written at a path, by trying.

    Raises:
        InputError: It exists and `overwrite` is not given, it is not a store, or nothing can be created there.
    """
    _core.check_new_store(path, overwrite=overwrite)


def check_name(name: str, label: str, source: Path) -> None:
    """Check that a name from an untrusted file is safe as the name of a file.

    Args:
        name: The name.
        label: The kind of its bearer: `attachment`.
        source: The file that it was read from.

    Raises:
        InputError: It leads into another folder, is invalid, or is the name of a device.
    """
    try:
        _core.check_name(name)
    except InputError as error:
        raise with_message(error, f"{source}: {label} {error}") from None


def write_file(path: Path, content: bytes, *, overwrite: bool) -> None:
    """Write a file.

    Raises:
        InputError: As `check_file`.
        RunError: Writing failed, for example on a full disk; an existing file is unchanged.
    """
    sys.stdout.flush()
    _core.write_file(path, content, overwrite=overwrite)


def write_folder(path: Path, files: Mapping[str, bytes], *, overwrite: bool, mark: str) -> None:
    """Write a folder of files; an existing folder is replaced as a whole.

    Args:
        path: The folder to create.
        files: Contents by name.
        overwrite: Replace an existing folder, if it is empty or holds `mark`.
        mark: The file that identifies folders written by pcielab.

    Raises:
        InputError: It exists and must be kept, it cannot be written, or a name is not a plain file name.
        RunError: Writing failed, for example on a full disk; an existing folder is unchanged.
    """
    _core.write_folder(path, files, overwrite=overwrite, mark=mark)
