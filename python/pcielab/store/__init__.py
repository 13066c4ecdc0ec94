"""Stores: the file of a run, read as data frames.

`docs/reference/store.md` documents the file, which the compiled half writes. `open_store` opens a store; `table`
makes one frame of it, `flows` and `connections` those of fabrics and of a mux; `setup` describes the machine of a
run, and `identity` matches tests of two runs.
"""

from pcielab.on_demand import names_on_demand

__getattr__, __dir__ = names_on_demand(__name__, __file__)
