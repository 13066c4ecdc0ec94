"""The shape of the published `.dat` files: their sections, in order, whatever a store has of them.

Plots of the published data take a section by its place: in a sweep over windows the second is DThrash, the fourth
HWarm. A store of a part of the suite would put one where the other is looked for. So each section stands at its
place, and what lacks is filled with the keys of the published suite and NaN, which gnuplot draws as nothing. The
forms for programs (`.csv`) and for people (`.txt`) hold what there is, and nothing else.
"""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from pcielab.formats.exporters.pcie_bench.rows import Row
from pcielab.formats.published import FAMILIES, Timer

Key: TypeAlias = tuple[Any, ...]
_KEYS = (
    "name",
    "pattern",
    "cache",
    "host_offset_bytes",
    "device_offset_bytes",
    "window_bytes",
    "size_bytes",
)


@dataclass
class Shape:
    """The published shape of the files of one store, and what of it had to be filled.

    Attributes:
        store: The store's path.
        timer: Of its device.
        filled: By file: how many sections of how many were filled.
        other: Files whose sections are not those of the published suite: they stand as they are.
    """

    store: Path
    timer: Timer
    filled: dict[str, tuple[int, int]] = field(default_factory=dict)
    other: list[str] = field(default_factory=list)

    def lacking_families(self, families: Collection[str]) -> list[str]:
        """The published families that are not among those of a store; none if it has no published one at all."""
        published = [family for family in FAMILIES if family not in families]
        return published if len(published) < len(FAMILIES) else []

    def rows(self, family: str) -> list[Row]:
        """The rows of a published family, without numbers; none of a family that was not published."""
        return [Row(self.store, test, self.timer, lacking=True) for test in _published().get(family, ())]

    def placed(self, file: str, found: list[list[Row]], published: list[list[Row]]) -> list[list[Row]]:
        """Sections at their published places, filled where they lack, which is noted.

        Args:
            file: What to note it under.
            found: The store's sections, in suite order.
            published: Those of the published file.
        """
        at = _places(found, published)
        if at is None:
            if published:
                self.other.append(file)
            return found
        if len(at) < len(published):
            self.filled[file] = (len(published) - len(at), len(published))
        return [at.get(place, section) for place, section in enumerate(published)]

    def notes(self) -> list[str]:
        """What a reader of the files has to know of them, a line each."""
        notes = []
        if self.filled:
            count = sum(filled for filled, _ in self.filled.values())
            notes.append(
                f"the store has not all of the published suite: {count} sections of {len(self.filled)} .dat files "
                "are filled with NaN, so that plots find the others at their places; ORIGIN.txt names them"
            )
        if self.other:
            notes.append(
                f"{', '.join(self.other)}: sections that the published suite does not have: plots made for it may "
                "take one for another"
            )
        return notes


def _places(found: list[list[Row]], published: list[list[Row]]) -> dict[int, list[Row]] | None:
    """Each found section at the place of the published one it shares most tests with; None if one shares none."""
    keys = [{_key(row) for row in section} for section in published]
    at: dict[int, list[Row]] = {}
    first = 0
    for section in found:
        wanted = {_key(row) for row in section}
        shared = [len(wanted & of_place) for of_place in keys[first:]]
        if not any(shared):
            return None
        place = first + shared.index(max(shared))
        at[place] = section
        first = place + 1
    return at


def _key(row: Row) -> Key:
    return tuple(row.test[key] for key in _KEYS)


@lru_cache(maxsize=1)
def _published() -> dict[str, list[dict[str, Any]]]:
    """The tests of the published suite by family, each as the row of a store has it."""
    from pcielab.library.suites import load_suite

    families: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for test in load_suite("paper").tests:
        families[test["family"]].append({"name": test["name"], **test["parameters"]})
    return families
