"""What an exporter is: a name, a line of help, and a function."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pcielab.store import Store


class Write(Protocol):
    """Writes a store to a path, or raises InputError and writes nothing."""

    def __call__(self, store: Store, output: Path, *, overwrite: bool) -> None:
        """Write `store` to `output`, which may exist only if `overwrite` is given."""
        ...


@dataclass(frozen=True)
class Exporter:
    """A format that stores can be written in."""

    name: str
    """As on the command line."""
    help: str
    """One line for people: what is written."""
    write: Write
