"""The shape of the published `.dat` files: all sections in order, whichever of them a store has.

Plots of the published data select sections by index: in a sweep over windows the second is DThrash, the fourth
HWarm. So that a part of the suite keeps these indices, missing sections are filled with the keys of the published
suite and NaN, which gnuplot does not draw. The `.csv` and `.txt` forms are not filled.
"""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from pcielab.formats.exporters.pcie_bench.rows import Row
from pcielab.formats.published import FAMILIES, Timer
from pcielab.store.identity import ASKED

Key: TypeAlias = tuple[Any, ...]
_KEYS = ("name", *ASKED)


@dataclass
class Shape:
    """The published shape of one store's files.

    Attributes:
        store: The store's path.
        timer: Its device's timer.
        filled: By file: the numbers of filled sections and of all.
        other: Files with sections that the published suite lacks; they are not reordered.
    """

    store: Path
    timer: Timer
    filled: dict[str, tuple[int, int]] = field(default_factory=dict)
    other: list[str] = field(default_factory=list)

    def lacking_families(self, families: Collection[str]) -> list[str]:
        """The published families that a store lacks; empty if it has no published family at all."""
        published = [family for family in FAMILIES if family not in families]
        return published if len(published) < len(FAMILIES) else []

    def rows(self, family: str) -> list[Row]:
        """The rows of a published family, without numbers; empty for an unpublished family."""
        return [Row(self.store, test, self.timer, lacking=True) for test in _published().get(family, ())]

    def ordered(self, file: str, found: list[list[Row]], published: list[list[Row]]) -> list[list[Row]]:
        """Sections in the published order, with missing ones filled and noted.

        Args:
            file: The file's name, for the notes.
            found: The store's sections, in suite order.
            published: The sections of the published file.
        """
        by_index = _indexed(found, published)
        if by_index is None:
            if published:
                self.other.append(file)
            return found
        if len(by_index) < len(published):
            self.filled[file] = (len(published) - len(by_index), len(published))
        return [by_index.get(index, section) for index, section in enumerate(published)]

    def notes(self) -> list[str]:
        """Warnings for the reader of the files, a line each."""
        notes = []
        if self.filled:
            count = sum(filled for filled, _ in self.filled.values())
            notes.append(
                f"the store lacks a part of the published suite: {count} sections of {len(self.filled)} .dat "
                "files are filled with NaN, to keep the order of the others; ORIGIN.txt names them"
            )
        if self.other:
            notes.append(
                f"{', '.join(self.other)}: sections that the published suite does not have: plots made for it may "
                "mix them up"
            )
        return notes


def _indexed(found: list[list[Row]], published: list[list[Row]]) -> dict[int, list[Row]] | None:
    """Each found section at the index of the published one it shares most tests with; None if one shares none."""
    keys = [{_key(row) for row in section} for section in published]
    by_index: dict[int, list[Row]] = {}
    first = 0
    for section in found:
        wanted = {_key(row) for row in section}
        shared = [len(wanted & published_keys) for published_keys in keys[first:]]
        if not any(shared):
            return None
        index = first + shared.index(max(shared))
        by_index[index] = section
        first = index + 1
    return by_index


def _key(row: Row) -> Key:
    return tuple(row.test[key] for key in _KEYS)


@lru_cache(maxsize=1)
def _published() -> dict[str, list[dict[str, Any]]]:
    """The tests of the published suite by family, each as a store's row."""
    from pcielab.library.suites import load_suite

    families: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for test in load_suite("paper").tests:
        families[test["family"]].append({"name": test["name"], **test["parameters"]})
    return families
