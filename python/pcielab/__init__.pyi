"""Names of the package, loaded at first use: `pcielab.on_demand` reads this file."""

from pcielab import (
    design as design,
    devices as devices,
    doctor as doctor,
    fabric as fabric,
    formats as formats,
    model as model,
    report as report,
)
from pcielab._core import __version__ as __version__
from pcielab.analysis.normal import normal as normal
from pcielab.analysis.of_runs import (
    calibrate as calibrate,
    compare as compare,
    explain as explain,
    validate as validate,
)
from pcielab.analysis.why import why as why
from pcielab.devices.running import run as run, simulate as simulate
from pcielab.errors import InputError as InputError, RunError as RunError
from pcielab.expectations.expecting import expect as expect
from pcielab.library.profiles.system import (
    ResolvedSystem as ResolvedSystem,
    load_host as load_host,
    load_system as load_system,
    resolve as resolve,
)
from pcielab.library.suites import (
    Suite as Suite,
    load_message_suite as load_message_suite,
    load_suite as load_suite,
    single_test as single_test,
)
from pcielab.store import Store as Store, open_store as open_store
from pcielab.sweeps import Results as Results, between as between, bounds as bounds, sweep as sweep
from pcielab.work.frames import Frames as Frames
from pcielab.work.memory_lines import MemoryLines as MemoryLines
from pcielab.work.options import RunOptions as RunOptions, Work as Work
