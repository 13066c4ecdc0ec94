"""Output files and folders: what is there is refused, or replaced once its successor exists.

Everything is made in a hidden folder beside its place, synced, and then moved there in one step;
`crates/pcie-output` is the writer behind this and behind the stores. Only regular files are replaced, and a store
only by another store. A link is followed; a terminal, a device or a pipe is written into, and `-` is stdout. What
a killed command left beside an output is removed by the next one that writes there.

A command checks its outputs before the work is done for them, and writes when it is.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from pcielab import _core
from pcielab.errors import InputError, with_message


def check_file(path: Path, *, overwrite: bool) -> None:
    """Refuse a place where no file could be written, by trying to.

    Raises:
        InputError: It exists and `overwrite` is not given, it is a store or no regular file, or nothing can be
            created there.
    """
    _core.check_file(path, overwrite=overwrite)


def check_folder(path: Path, *, overwrite: bool, mark: str) -> None:
    """Refuse a place where no folder could be written, by trying to; see `write_folder`.

    Raises:
        InputError: It exists and may not be replaced, or nothing can be created there.
    """
    _core.check_folder(path, overwrite=overwrite, mark=mark)


def check_new_store(path: Path, *, overwrite: bool) -> None:
    """Refuse a place where no store could be written, by trying to.

    Raises:
        InputError: It exists and `overwrite` is not given, what is there is no store, or nothing can be created
            there.
    """
    _core.check_new_store(path, overwrite=overwrite)


def check_name(name: str, what: str, source: Path) -> None:
    """Refuse a name from a foreign file that is to become the name of a file, unless it is a plain one.

    Args:
        name: The name.
        what: What has it, as `attachment`.
        source: Where it was read.

    Raises:
        InputError: It leads into another folder, no file can have it, or it stands for a device.
    """
    try:
        _core.check_name(name)
    except InputError as error:
        raise with_message(error, f"{source}: {what} {error}") from None


def write_file(path: Path, content: bytes, *, overwrite: bool) -> None:
    """Write a file.

    Raises:
        InputError: As `check_file`.
        RunError: Writing failed, as on a full disk; what was there is as it was.
    """
    sys.stdout.flush()
    _core.write_file(path, content, overwrite=overwrite)


def write_folder(path: Path, files: Mapping[str, bytes], *, overwrite: bool, mark: str) -> None:
    """Write a folder of files. With `overwrite`, a folder is replaced whole, so that nothing old is left in it.

    Args:
        path: The folder to create.
        files: Contents by name.
        overwrite: Replace a folder that is there, if it is empty or holds `mark`.
        mark: The file that tells a folder written by pcielab from one that must not be lost.

    Raises:
        InputError: It exists and may not be replaced, it cannot be written, or a name is not a plain file name.
        RunError: Writing failed, as on a full disk; what was there is as it was.
    """
    _core.write_folder(path, files, overwrite=overwrite, mark=mark)
