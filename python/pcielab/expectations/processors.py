"""The family of a machine's processors: how its root complex forwards, and which figures are comparable.

A family is what shares an I/O die or a mesh, not a brand: a Threadripper PRO 7000 has the I/O die of an EPYC 9004.
`profiles/published/processors.csv` has the names and the IDs of root ports by family, each with its source.
"""

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from pcielab.doctor import Tree
from pcielab.library import shipped
from pcielab.library.input_files import read_text

_FILE = "published/processors.csv"


@dataclass(frozen=True)
class Family:
    """A family of processors.

    Attributes:
        name: Its name in this project.
        lineage: Families whose root complex is built alike: figures of one may stand for another.
        generation: Of its root ports.
        title: For people.
    """

    name: str
    lineage: str
    generation: int
    title: str


@dataclass(frozen=True)
class _Sign:
    """A name or an ID that belongs to a family."""

    kind: str
    pattern: str
    family: Family
    source: str


@cache
def _signs() -> tuple[_Sign, ...]:
    rows = csv.DictReader(read_text(shipped.directory("profiles") / _FILE).splitlines())
    return tuple(_Sign(row["sign"], row["pattern"], _family(row), row["source"]) for row in rows)


def _family(row: dict[str, str]) -> Family:
    return Family(row["family"], row["lineage"], int(row["generation"]), row["title"])


@cache
def families() -> dict[str, Family]:
    """All families by name."""
    return {sign.family.name: sign.family for sign in _signs()}


def family_of_name(processor: str) -> Family | None:
    """The family of a processor by its name, `EPYC 9575F`, or the family's own name; None if none is known."""
    if processor in families():
        return families()[processor]
    named = (sign for sign in _signs() if sign.kind == "name")
    return next((sign.family for sign in named if re.search(sign.pattern, processor, re.IGNORECASE)), None)


def family_of_tree(tree: Tree) -> Family | None:
    """The family of a machine by its root ports and host bridges; None if none is known, or several are."""
    ids = ((one.vendor_id, one.device_id) for one in tree.functions)
    return family_of_ids(f"{vendor:04x}:{device:04x}" for vendor, device in ids if vendor and device)


def family_of_ids(ids: Iterable[str]) -> Family | None:
    """The family that the IDs `vendor:device` of root ports belong to; None if none does, or several do."""
    present = set(ids)
    found = {sign.family for sign in _signs() if sign.kind == "id" and sign.pattern in present}
    return found.pop() if len(found) == 1 else None
