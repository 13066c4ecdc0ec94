"""Files that appear whole or not at all: written beside their place under a temporary name, then renamed."""

import os
import tempfile
from pathlib import Path

from pcielab.errors import InputError


def check_output(path: Path, *, overwrite: bool) -> None:
    """Refuse a place that cannot be written, before the work is done.

    Raises:
        InputError: the file exists and may not be replaced, or its folder is missing or not writable.
    """
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give the name of a file")
    if path.exists() and not overwrite:
        raise InputError(f"{path}: exists already; give --overwrite to replace it, or another name")
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"{path}: there is no folder {folder}; make it first, or give another name")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{path}: the folder {folder} cannot be written")


def write_file(path: Path, content: str | bytes, *, overwrite: bool) -> None:
    """Write the file in one step.

    Raises:
        InputError: as `check_output`, or the file system refuses.
    """
    check_output(path, overwrite=overwrite)
    data = content.encode() if isinstance(content, str) else content
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(temporary).chmod(0o666 & ~_umask())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error


def _umask() -> int:
    """The process's umask; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
