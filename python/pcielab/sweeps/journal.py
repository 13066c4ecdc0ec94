"""The journal of a folder: one line per finished point, appended at once, so that a kill loses none.

A line is a JSON list: the address of a point, its result, and the SHA-256 of both. A line that differs from its
digest is skipped and its point is simulated again; complete lines are never removed. A kill or a full disk may
leave the last line incomplete; the next sweep overwrites it.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pcielab.errors import RunError, refusal

NAME = "points.jsonl"
"""The journal's file, which identifies the folder of a sweep."""
_LINE_MOST = 1 << 20
"""Most bytes of a line; a point takes about a thousand."""


class Journal:
    """The results in a folder; a context manager that locks the folder.

    Attributes:
        known: Results by the address of their point.
        damaged: Number of skipped lines: incomplete, or different from their digest.

    Raises:
        InputError: The file is not a regular file, or another sweep has locked it.
        RunError: It cannot be read or written.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        if self._path.exists() and not self._path.is_file():
            raise refusal("wrong-value", f"{self._path}: is not a regular file: give another folder")
        with self._failing("opened"):
            self._file = self._path.open("a+b", buffering=0)
        try:
            self._hold()
            self.known: dict[str, str] = {}
            self.damaged = 0
            with self._failing("read"):
                self._read()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_exception: object) -> None:
        self._file.close()

    def add(self, found: Iterable[tuple[str, str]]) -> None:
        """Append addresses with their results.

        Raises:
            RunError: The disk is full or broken; earlier lines are kept.
        """
        left = memoryview("".join(_line(address, result) for address, result in found).encode())
        with self._failing("written"):
            while left:
                left = left[self._file.write(left) or 0 :]
            os.fsync(self._file.fileno())

    def _hold(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"{self._path.parent}: another sweep is writing there: wait for its end"
            raise refusal("in-use", message) from None

    def _read(self) -> None:
        whole = 0
        with open(self._file.fileno(), "rb", closefd=False) as lines:
            lines.seek(0)
            while line := lines.readline(_LINE_MOST):
                if line.endswith(b"\n"):
                    whole = lines.tell()
                entry = _entry(line)
                if entry is None:
                    self.damaged += 1
                else:
                    self.known.update([entry])
        self._file.truncate(whole)

    @contextmanager
    def _failing(self, action: str) -> Iterator[None]:
        try:
            yield
        except PermissionError as error:
            message = f"{self._path}: could not be {action}: {error.strerror}: give another folder"
            raise refusal("not-allowed", message) from None
        except OSError as error:
            remedy = "fix this, then pass --resume: finished points are kept"
            raise RunError(f"{self._path}: could not be {action}: {error.strerror}: {remedy}") from None


def _line(address: str, result: str) -> str:
    return json.dumps([address, result, _digest(address, result)]) + "\n"


def _digest(address: str, result: str) -> str:
    return hashlib.sha256(f"{address}\n{result}".encode(errors="surrogatepass")).hexdigest()


def _entry(line: bytes) -> tuple[str, str] | None:
    """The address and the result of a line; None if it is damaged."""
    if not line.endswith(b"\n"):
        return None
    try:
        entry: Any = json.loads(line)
        address, result, digest = entry
        if not isinstance(address, str) or not isinstance(result, str) or digest != _digest(address, result):
            return None
        return (address, result) if _is_result(json.loads(result)) else None
    except (ValueError, TypeError, RecursionError):
        return None


def _is_result(result: Any) -> bool:
    """Whether it has the shape of `Point.result`: a forged line may have a right digest."""
    if not isinstance(result, dict) or result.keys() != {"status", "message", "numbers"}:
        return False
    numbers, message = result["numbers"], result["message"]
    return (
        isinstance(result["status"], str)
        and (message is None or isinstance(message, str))
        and isinstance(numbers, dict)
        and all(_is_number(name, value) for name, value in numbers.items())
    )


def _is_number(name: str, value: Any) -> bool:
    return "|" in name and isinstance(value, int | float) and not isinstance(value, bool)
