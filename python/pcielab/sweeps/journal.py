"""The points of a folder that are done: one line for each, appended as it comes, so that a kill loses none.

A line is the address of a point and its result. A line that a kill cut off is no line.
"""

import fcntl
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pcielab.errors import InputError

NAME = "points.jsonl"
"""The journal's file; it tells a folder of a sweep from others."""


class Journal:
    """What is known of points in a folder; a context manager, as it holds the folder while it is open.

    Attributes:
        known: Results, by the address of their point.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._file = self._path.open("a+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise InputError(f"{folder}: another sweep is writing there: wait for its end") from None
        self.known = dict(self._read())

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_exception: object) -> None:
        self._file.close()

    def add(self, found: Iterable[tuple[str, str]]) -> None:
        """Keep results: addresses and what was found."""
        lines = "".join(json.dumps([address, result]) + "\n" for address, result in found)
        self._file.write(lines.encode())
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self) -> Iterable[tuple[str, str]]:
        self._file.seek(0)
        whole = 0
        for line in self._file:
            found = _entry(line)
            if found is None:
                break
            whole += len(line)
            yield found
        # What a kill or a damage left behind is written over.
        self._file.truncate(whole)
        self._file.seek(whole)


def _entry(line: bytes) -> tuple[str, str] | None:
    try:
        entry: Any = json.loads(line)
        address, result = entry
        whole = line.endswith(b"\n") and isinstance(json.loads(result), dict) and isinstance(address, str)
    except (ValueError, TypeError):
        return None
    return (address, result) if whole else None
