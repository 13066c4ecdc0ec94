"""`rtl`: the FPGA core of `rtl/` in RTL simulation, on the host and the link of a simulated system.

The core runs in a separate process, `pcielab-rtl`, which `make rtl` builds. No number comes from a board.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pcielab import _core
from pcielab.devices.kind import OF_TRANSFERS, Asked, Carrier, Takes
from pcielab.devices.sim import described, system_of
from pcielab.errors import refusal
from pcielab.wording import named
from pcielab.work.options import WorkKind

if TYPE_CHECKING:
    from pcielab.library.suites import Suite

CARD = "pcielab-fpga"
"""The simulated device with the core's constants, whose port the core uses."""
PORT = "device.uplink_"
"""Prefix of the keys of the port between the core and the link, which the RTL lacks."""
TITLE = "The FPGA core in RTL, on the host of a system: pcielab run --device rtl --profile SYSTEM"
PROGRAM = "PCIELAB_RTL"
"""Environment variable that overrides the path of `pcielab-rtl`."""


def present() -> list[tuple[str, str]]:
    """The core, and why it cannot run here; empty if it can."""
    return [(CARD, missing())]


def program() -> Path:
    """The path of `pcielab-rtl`, which need not exist."""
    built = Path(__file__).resolve().parents[3] / "target" / "rtl" / "pcielab-rtl"
    return Path(os.environ.get(PROGRAM) or built)


def missing() -> str:
    """Why the core cannot run here; empty if it can."""
    return "" if os.access(program(), os.X_OK) else f"{program()}: missing: run make rtl"


def _transfers(asked: Asked, suite: "Suite") -> Carrier:
    """Run transfers on the core instead of a system's device; it uses the link's tags, as far as it has them."""
    _check_changes(asked.sets)
    system = system_of(asked, f"device={CARD}")
    backend = _core.Backend.rtl(system.handle, program())
    title, name = f"The FPGA core on {system.system.title}, suite {suite.name}", system.system.name
    on = f"the FPGA core on {name}"
    return Carrier(backend, suite.to_json(), title, on, on, described(system))


TAKES: dict[WorkKind, Takes] = {"transfers": Takes(_transfers, OF_TRANSFERS)}


def _check_changes(sets: Sequence[str]) -> None:
    """Refuse changes to keys that the RTL decides."""
    for one in sets:
        key = one.partition("=")[0].strip()
        if key == "device":
            raise refusal(
                "conflict", f"--set {named(one)}: with --device rtl the core is the device: leave it out"
            )
        if key.startswith("device.") and not key.startswith(PORT):
            raise refusal(
                "conflict",
                f"--set {named(key)}: with --device rtl the RTL decides it: change link.*, host.* or {PORT}*, or "
                f"simulate the device: --set device={CARD} --set {named(key)}=..., without --device rtl",
            )
