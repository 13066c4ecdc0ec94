"""Names of the package, loaded at first use: `pcielab.on_demand` reads this file."""

from pcielab.store.frames import METRICS as METRICS
from pcielab.store.kinds import RunKind as RunKind
from pcielab.store.table import Store as Store, damaged_tests as damaged_tests, open_store as open_store
