"""pcielab: model, simulate, measure and explain PCIe performance.

What the command line does, as functions:

    import pcielab

    system = pcielab.resolve("snb", ["host.llc.ddio_ways=4"])
    pcielab.simulate(system, pcielab.load_suite("quick"), "run.db")
    run = pcielab.open_store("run.db")
    run.scalars[["name", "size_bytes", "bandwidth"]]

`pcielab.model` has the closed-form bounds, `pcielab.report` figures and reports, `pcielab.exporters` and
`pcielab.importers` other formats. Names are loaded when they are first used, so that a command that needs no data
frames does not wait for them.
"""

import importlib
from typing import TYPE_CHECKING, Any

from pcielab._core import __version__
from pcielab.errors import InputError, RunError

if TYPE_CHECKING:
    from pcielab.profiles.resolve import ResolvedSystem, resolve
    from pcielab.simulation import simulate
    from pcielab.store import Store, open_store
    from pcielab.suites import Suite, load_suite, single_test

__all__ = [
    "InputError",
    "ResolvedSystem",
    "RunError",
    "Store",
    "Suite",
    "__version__",
    "load_suite",
    "open_store",
    "resolve",
    "simulate",
    "single_test",
]

_HOMES = {
    "ResolvedSystem": "pcielab.profiles",
    "Store": "pcielab.store",
    "Suite": "pcielab.suites",
    "load_suite": "pcielab.suites",
    "open_store": "pcielab.store",
    "resolve": "pcielab.profiles",
    "simulate": "pcielab.simulation",
    "single_test": "pcielab.suites",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pcielab' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
