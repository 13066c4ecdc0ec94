"""The type of exporters: a name, a line of help, and a function."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pcielab.store import Store


class Write(Protocol):
    """Writes a store to a path, or raises InputError and writes nothing."""

    def __call__(self, store: Store, output: Path, *, overwrite: bool) -> Sequence[str] | None:
        """Write `store` to `output`, which may exist only if `overwrite` is given.

        Returns:
            Warnings for the reader of the output, a line each, or None.
        """
        ...


@dataclass(frozen=True)
class Exporter:
    """A format that stores can be written in."""

    name: str
    """Name on the command line."""
    help: str
    """One line of help."""
    write: Write
