"""`rtl`: the FPGA core of `rtl/` in simulation, plugged into the host and the link of a simulated system.

The core runs in a process of its own, `pcielab-rtl`, which `make rtl` builds. Its numbers are those of the RTL on
a simulated host: not of a board.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pcielab import _core
from pcielab.errors import InputError
from pcielab.library.profiles import ResolvedSystem, resolve
from pcielab.library.profiles.part import Part
from pcielab.library.suites import Suite
from pcielab.run.running import no_progress, run
from pcielab.wording import named

CARD = "pcielab-fpga"
"""The simulated card with the core's constants, which says what the core's port is like."""
PORT = "device.uplink_"
"""Keys of the port between the core and the link, which the RTL does not have."""
TITLE = "The FPGA core in RTL, on the host of a system: pcielab run --device rtl --profile SYSTEM"
PROGRAM = "PCIELAB_RTL"
"""Environment variable with the path of another `pcielab-rtl` than the one that `make rtl` builds."""


class RtlHost(Part):
    """The host that the core is plugged into."""

    system: str = "hsw2620"
    """A shipped system, such as snb-iommu, or a file of one: its host and link."""


class RtlOptions(Part):
    """What `--device rtl` can be told; `pcielab run` takes the system from `--profile`, and changes to it."""

    host: RtlHost = RtlHost()
    """The host's side."""


def make(options: RtlOptions, address: str | None) -> _core.Backend:
    """The core in simulation, in the place of a system's card."""
    if address is not None:
        raise InputError(f"--device rtl:{address}: there is one core in simulation: give --device rtl")
    return _core.Backend.rtl(_plugged_into(options.host.system, ()).to_json(), program())


def present() -> list[tuple[str, str]]:
    """The core, and what is missing for it here."""
    return [(CARD, missing())]


def program() -> Path:
    """Where `pcielab-rtl` should be."""
    built = Path(__file__).resolve().parents[3] / "target" / "rtl" / "pcielab-rtl"
    return Path(os.environ.get(PROGRAM) or built)


def missing() -> str:
    """What is missing for it here; empty for nothing."""
    return "" if os.access(program(), os.X_OK) else f"{program()}: not there: make rtl"


def run_rtl(
    profile: str, suite: Suite, output: Path | str, *, sets: Sequence[str] = (), **options: Any
) -> ResolvedSystem:
    """Run `suite` on the core, on the host and link of a system, into a new store at `output`; the system.

    Args:
        profile: A shipped system, such as `snb-iommu`, or a file of one. Its card is exchanged for the core, which
            uses the tags that the link has, up to those that it was built with.
        suite: Which tests.
        output: Path of the store.
        sets: Changes to the system, as `host.iommu.walk_ns=300` or `link.tags=64`.
        options: As of `pcielab.devices.run`.

    Raises:
        InputError: The system or suite cannot be run, `pcielab-rtl` is not there, or the output exists.
        RunError: The run was stopped or failed, or the core was lost; what was finished is in the store.
    """
    system = _plugged_into(profile, sets)
    described = {"system": json.loads(system.to_json()), "overrides": system.overrides}
    title = f"The FPGA core on {system.system.title}, suite {suite.name}"
    backend = _core.Backend.rtl(system.to_json(), program())
    run(backend, suite, output, title=title, described=described, **{"progress": no_progress, **options})
    return system


def _plugged_into(profile: str, sets: Sequence[str]) -> ResolvedSystem:
    for one in sets:
        key = one.partition("=")[0].strip()
        if key == "device":
            raise InputError(f"--set {named(one)}: with --device rtl the core is the device: leave it out")
        if key.startswith("device.") and not key.startswith(PORT):
            raise InputError(
                f"--set {named(key)}: with --device rtl the RTL decides it: change link.*, host.* or {PORT}*, or "
                f"simulate the card: --set device={CARD} --set {named(key)}=..., without --device rtl"
            )
    return resolve(profile, [f"device={CARD}", *sets])
