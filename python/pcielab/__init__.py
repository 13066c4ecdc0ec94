"""pcielab: model, simulate, measure and explain PCIe performance.

The command line's work as functions:

    import pcielab

    system = pcielab.load_system("snb").with_(llc_ddio_ways=4)
    run = pcielab.simulate(system, "quick")
    run.frame[["name", "size_bytes", "bandwidth_gbps"]]
    pcielab.sweep(system, test="bw-rd", window=["64K", "1M", "16M"], size=[64, 512]).plot()

`pcielab.bounds` and `pcielab.model` compute closed-form bounds, `pcielab.report` draws figures and reports, and
`pcielab.formats` reads and writes other tools' files. Names load on first use, so that commands start fast.
"""

from pcielab.on_demand import names_on_demand

# Not imported from typing, which loads slowly: until `cli.main` runs, Python itself answers Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pcielab import devices, fabric, formats, model, report
    from pcielab._core import __version__
    from pcielab.devices.running import run, simulate
    from pcielab.errors import InputError, RunError
    from pcielab.library.profiles.system import ResolvedSystem, load_host, load_system, resolve
    from pcielab.library.suites import Suite, load_message_suite, load_suite, single_test
    from pcielab.store import Store, open_store
    from pcielab.sweeps import Results, between, bounds, sweep
    from pcielab.work.frames import Frames
    from pcielab.work.options import RunOptions, Work

__all__ = [
    "Frames",
    "InputError",
    "ResolvedSystem",
    "Results",
    "RunError",
    "RunOptions",
    "Store",
    "Suite",
    "Work",
    "__version__",
    "between",
    "bounds",
    "devices",
    "fabric",
    "formats",
    "load_host",
    "load_message_suite",
    "load_suite",
    "load_system",
    "model",
    "open_store",
    "report",
    "resolve",
    "run",
    "simulate",
    "single_test",
    "sweep",
]

__getattr__ = names_on_demand(
    __name__,
    {
        "pcielab._core": ["__version__"],
        "pcielab.errors": ["InputError", "RunError"],
        "pcielab.library.profiles": ["ResolvedSystem", "load_host", "load_system", "resolve"],
        "pcielab.devices.running": ["run", "simulate"],
        "pcielab.work.frames": ["Frames"],
        "pcielab.work.options": ["RunOptions", "Work"],
        "pcielab.store": ["Store", "open_store"],
        "pcielab.library.suites": ["Suite", "load_message_suite", "load_suite", "single_test"],
        "pcielab.sweeps": ["Results", "between", "bounds", "sweep"],
    },
    subpackages=["devices", "fabric", "formats", "model", "report"],
)
