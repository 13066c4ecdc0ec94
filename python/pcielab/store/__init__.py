"""Stores: one file for a run, read as data frames, and what the rows of one mean.

`docs/reference/store.md` documents the file, which the compiled half writes. A store is opened by `open_store`;
`table` makes one frame of it, `flows` and `connections` those of fabrics and of a mux; `setup` says which machine
a run is about, and `identity` which of its tests are those of another.
"""

from typing import TYPE_CHECKING

from pcielab.on_demand import names_on_demand

if TYPE_CHECKING:
    from pcielab.store.frames import METRICS, RunKind
    from pcielab.store.table import Store, damaged_tests, open_store

__all__ = ["METRICS", "RunKind", "Store", "damaged_tests", "open_store"]

__getattr__ = names_on_demand(
    __name__,
    {
        "pcielab.store.frames": ["METRICS", "RunKind"],
        "pcielab.store.table": ["Store", "damaged_tests", "open_store"],
    },
)
