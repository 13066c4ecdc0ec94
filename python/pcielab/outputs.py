"""Output files and folders: what is there is refused, or replaced once its successor exists.

Everything is written under a temporary name beside its place and then moved there.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from pcielab.errors import InputError


def write_file(path: Path, content: bytes, *, overwrite: bool) -> None:
    """Write a file.

    Raises:
        InputError: It exists and `overwrite` is not given, it is not a regular file, or it cannot be written.
    """
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is not a regular file: choose another name")
    refuse_existing(path, overwrite=overwrite)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as beside:
            fresh = Path(beside) / "fresh"
            fresh.write_bytes(content)
            fresh.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error


def write_folder(path: Path, files: Mapping[str, bytes], *, overwrite: bool, mark: str) -> None:
    """Write a folder of files. With `overwrite`, a folder is replaced whole, so that nothing old is left in it.

    Args:
        path: The folder to create.
        files: Contents by name.
        overwrite: Replace a folder that is there, if it is empty or holds `mark`.
        mark: The file that tells a folder written by pcielab from one that must not be lost.

    Raises:
        InputError: It exists and may not be replaced, or it cannot be written.
    """
    refuse_existing(path, overwrite=overwrite)
    if path.exists() and not _replaceable(path, mark):
        raise InputError(
            f"{path}: is not a folder that pcielab wrote (it holds no {mark}), so it is not overwritten: choose "
            "another name"
        )
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as beside:
            fresh = Path(beside) / "fresh"
            fresh.mkdir()
            for name, content in files.items():
                (fresh / name).write_bytes(content)
            if path.exists():
                path.rename(Path(beside) / "old")
            fresh.rename(path)
    except OSError as error:
        raise _unwritable(path, error) from error


def _replaceable(path: Path, mark: str) -> bool:
    return path.is_dir() and ((path / mark).is_file() or not any(path.iterdir()))


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    """Refuse a path that exists, before work is done for it.

    Raises:
        InputError: It exists and `overwrite` is not given.
    """
    if path.exists() and not overwrite:
        raise InputError(f"{path}: exists already: choose another name, or give --overwrite")


def refuse_store(path: Path, *stores: Path) -> None:
    """Refuse an output that is one of the stores that it is made from, even where overwriting was asked for.

    Raises:
        InputError: It is one of them.
    """
    if path.exists() and any(path.samefile(store) for store in stores):
        raise InputError(f"{path}: is the store itself: choose another name")


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(
        f"{path}: cannot be written ({error.strerror}): choose a path in an existing folder that you may write to"
    )
