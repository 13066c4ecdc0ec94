"""Published loads, stores and doorbells, each with its source and with the access that it measured.

`profiles/published/accesses.csv` has one figure a row. Keys of the access say what the source says: by which
instruction, how wide, by how many cores; processor, link and device are in the words of the source.
"""

import csv
from dataclasses import dataclass
from functools import cache
from typing import Any

from pcielab._core import UNITS
from pcielab.library import shipped
from pcielab.library.input_files import read_text

_FILE = "published/accesses.csv"
_WHOLE = ("access_bytes", "width_bytes", "cores")
_FLAGS = ("remote", "fenced", "first_touch", "window_set")


@dataclass(frozen=True, kw_only=True)
class PublishedAccess:
    """One published number."""

    id: str
    """M or X and a number; the same as in `figures.csv`."""
    quantity: str
    """What was measured, in words."""
    value: float
    """The number, in `unit`."""
    unit: str
    """Its unit; GB is 10^9 bytes."""
    size_bytes: str
    """Bytes, as the source has them."""
    link: str
    """The device's link, as the source has it."""
    cpu: str
    """Processor of the host."""
    device: str
    """The device."""
    confidence: str
    """high: method and machine described; medium: one of them missing."""
    note: str
    """Remarks."""
    source_key: str
    """Key of the source: rows of one source count as one."""
    source_title: str
    """Title of the source."""
    source_year: str
    """Its year, after its kind."""
    source_ref: str
    """Its address."""
    instruction: str
    """A word of `pcielab.model.Instruction`."""
    access_bytes: int
    """Bytes of one access."""
    width_bytes: int | None
    """Bytes of one load or store; None: the usual ones."""
    cores: int
    """Cores that did the same at once."""
    remote: bool
    """Whether the device is at the other socket."""
    fenced: bool
    """Whether a call with a fence ends it."""
    first_touch: bool
    """Whether it touches its page for the first time."""
    window_set: bool
    """Whether a register of the device is set and read back before."""
    question_link: str
    """The link in a word, `gen5x16`."""

    @property
    def is_time(self) -> bool:
        """Whether the value is a time."""
        return self.unit in UNITS["time"]

    @property
    def plain(self) -> float:
        """In ns, or in GB/s."""
        return self.value * UNITS["time" if self.is_time else "rate"][self.unit]


@cache
def published_accesses() -> list[PublishedAccess]:
    """Every published load, store and doorbell."""
    path = shipped.directory("profiles") / _FILE
    return [_row(cells) for cells in csv.DictReader(read_text(path).splitlines())]


def _row(cells: dict[str, str]) -> PublishedAccess:
    values: dict[str, Any] = dict(cells)
    values["value"] = float(cells["value"])
    values |= {key: int(cells[key]) if cells[key] else None for key in _WHOLE}
    values["cores"] = values["cores"] or 1
    values |= {key: cells[key] == "yes" for key in _FLAGS}
    return PublishedAccess(**values)
