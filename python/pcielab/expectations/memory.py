"""What the memory of a machine's sockets carries for its devices, for `pcielab fabric from`."""

import math
from typing import Literal

from pcielab.doctor import Tree
from pcielab.expectations.edges import facets_of_socket
from pcielab.expectations.machine import Direction
from pcielab.expectations.processors import family_of_tree
from pcielab.expectations.tables import shipped_ranges
from pcielab.fabric.from_machine import Memory, MemoryRate

_WAYS: tuple[tuple[Literal["read", "write"], Direction], ...] = (("read", "down"), ("write", "up"))
_SHOWN_ROWS = 4


def memory_of_tree(tree: Tree) -> Memory:
    """What memory carries for reads and writes of devices, by the family of the processors that a source shows.

    A direction is absent where nobody measured processors of that kind, or the source does not show the kind.
    """
    family = family_of_tree(tree)
    found: dict[Literal["read", "write"], MemoryRate] = {}
    if family is None:
        return found
    for operation, data in _WAYS:
        chain = facets_of_socket("memory", family.name, family.lineage, data)
        # What memory takes says nothing of what it gives.
        known = shipped_ranges().of([facets for facets in chain if "data" in facets])
        if known is None:
            continue
        rows = " ".join(known.rows[:_SHOWN_ROWS])
        of = f"{known.sureness} on {family.name}" if known.sureness == "measured" else f"of {family.lineage}"
        if math.isfinite(known.upper):
            found[operation] = MemoryRate(
                known.middle, f"{of}, {known.lower:.1f} to {known.upper:.1f} GB/s ({rows})"
            )
        else:
            found[operation] = MemoryRate(None, f"{of}, at least {known.lower:.1f} GB/s ({rows})")
    return found
