"""Stores: the file of a run, read as data frames.

`docs/reference/store.md` documents the file, which the compiled half writes. `open_store` opens a store; `table`
makes one frame of it, `flows` and `connections` those of fabrics and of a mux; `setup` describes the machine of a
run, and `identity` matches tests of two runs.
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
