"""Bounded reads of files inside one folder, never outside."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from pcielab.doctor.config_space import Read

_ATTRIBUTE_BYTES = 4096
"""Longest attribute that the kernel shows: a page."""


class Folder:
    """The root of a file system or of a partial copy; nothing outside it is ever read.

    Attributes:
        root: The folder that holds `sys` and `proc`.
        outside: Links that were not followed because they lead out of it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.outside: list[Path] = []

    def inside(self, path: Path) -> Path | None:
        """The path with links resolved; None if it leads out of the folder or nowhere."""
        try:
            real = path.resolve()
        except (OSError, RuntimeError):
            return None
        if not real.is_relative_to(self.root):
            self.outside.append(path)
            return None
        return real

    def text(self, path: Path | str, most_bytes: int = _ATTRIBUTE_BYTES) -> str | None:
        """The text of a small file, stripped; None if it cannot be read."""
        with self.opened(path) as read:
            data = read(0, most_bytes)
        return data.decode("utf-8", "replace").strip() if data else None

    @contextmanager
    def opened(self, path: Path | str) -> Iterator[Read]:
        """A function that reads bytes of a file from an offset; fewer, or none, if they cannot be read."""
        try:
            # A link could lead out of the folder, and a pipe could block or never end.
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        except (OSError, ValueError):
            yield lambda offset, size: b""
            return
        try:
            yield partial(_bytes_of, handle)
        finally:
            os.close(handle)

    def names(self, path: Path) -> list[str]:
        """The sorted names in a folder; empty if it cannot be read."""
        try:
            return sorted(entry.name for entry in path.iterdir())
        except (OSError, ValueError):
            return []


def _bytes_of(handle: int, offset: int, size: int) -> bytes:
    try:
        return os.pread(handle, size, offset)
    except OSError:
        return b""
