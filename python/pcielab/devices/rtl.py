"""`rtl`: the FPGA core of `rtl/` in simulation, plugged into the host and the link of a simulated system.

The core runs in a process of its own, `pcielab-rtl`, which `make rtl` builds. Its numbers are those of the RTL on
a simulated host: not of a board.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pcielab import _core
from pcielab.devices.kind import OF_TRANSFERS, Asked, Carrier, Takes
from pcielab.devices.sim import described, system_of
from pcielab.errors import InputError
from pcielab.wording import named
from pcielab.work.options import WorkKind

if TYPE_CHECKING:
    from pcielab.library.suites import Suite

CARD = "pcielab-fpga"
"""The simulated card with the core's constants, which says what the core's port is like."""
PORT = "device.uplink_"
"""Keys of the port between the core and the link, which the RTL does not have."""
TITLE = "The FPGA core in RTL, on the host of a system: pcielab run --device rtl --profile SYSTEM"
PROGRAM = "PCIELAB_RTL"
"""Environment variable with the path of another `pcielab-rtl` than the one that `make rtl` builds."""


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


def _transfers(asked: Asked, suite: "Suite") -> Carrier:
    """Transfers on the core in the place of a system's card; it uses the link's tags, as far as it has them."""
    _check_changes(asked.sets)
    system = system_of(asked, f"device={CARD}")
    backend = _core.Backend.rtl(system.to_json(), program())
    title, name = f"The FPGA core on {system.system.title}, suite {suite.name}", system.system.name
    on = f"the FPGA core on {name}"
    return Carrier(backend, suite.to_json(), title, on, on, described(system))


TAKES: dict[WorkKind, Takes] = {"transfers": Takes(_transfers, OF_TRANSFERS)}


def _check_changes(sets: Sequence[str]) -> None:
    """Refuse changes to what the RTL decides."""
    for one in sets:
        key = one.partition("=")[0].strip()
        if key == "device":
            raise InputError(f"--set {named(one)}: with --device rtl the core is the device: leave it out")
        if key.startswith("device.") and not key.startswith(PORT):
            raise InputError(
                f"--set {named(key)}: with --device rtl the RTL decides it: change link.*, host.* or {PORT}*, or "
                f"simulate the card: --set device={CARD} --set {named(key)}=..., without --device rtl"
            )
