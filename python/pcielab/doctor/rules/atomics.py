"""Rules about atomic operations: whether they reach the host's memory."""

from collections.abc import Iterator

from pcielab.doctor.finding import Observation, Severity, Sureness, Symptom
from pcielab.doctor.hardware import vendor_of
from pcielab.doctor.real_links import real_cards
from pcielab.doctor.rules.rule import judged, rule, value
from pcielab.doctor.slots import short
from pcielab.doctor.tree import Function, Tree

_ATI = 0x1002
_USERS = (0x03, 0x12)
"""Classes whose software uses atomic operations on the host's memory: displays and accelerators."""
_NEEDED = ("32bit", "64bit")


@rule(
    "atomics",
    Symptom.PEER_TO_PEER,
    Symptom.MISSING,
    confirm="dmesg of amdgpu says `PCIE atomic ops is not supported`, or kfd skips the device",
)
def atomics_not_routed(tree: Tree) -> Iterator[Observation]:
    """Atomic operations need every switch port on the path to route them, and the root to complete them.

    PCIe 6.0, sections 6.15 and 7.5.3.15. Fires on displays and accelerators where a switch port on the path has
    Routing-, a port has EgressBlck+, or the root port completes neither 32 nor 64 bits. A warning for AMD's
    devices, whose compute software needs them; a note for the others.
    """
    for link, _ in real_cards(tree):
        device = next((one for one in link.functions if one.base_class in _USERS), None)
        if device is None or device.control is None or not device.control.atomics_completed:
            continue
        blockers = [(one, reason) for one in tree.path(device)[1:] if (reason := _blocks(one))]
        if not blockers:
            continue
        first, reason = blockers[-1]
        others = len(blockers) - 1
        yield Observation(
            **judged(
                Severity.WARNING if vendor_of(device) == _ATI else Severity.NOTE, Sureness.CERTAIN, device, first
            ),
            what=f"atomic operations of the device do not reach the host's memory: {short(first.slot)} {reason}"
            + (f", and {others} more on the path do not either" if others else ""),
            values=(
                value(device, "AtomicOpsCap", " ".join(f"{name}+" for name in device.control.atomics_completed)),
                *(value(one, "AtomicOpsCap", why) for one, why in blockers),
            ),
            remedy="use a slot of the processor whose root port completes them; ports of chipsets and many older "
            "switches do not route them",
        )


def _blocks(port: Function) -> str | None:
    """Why a port on the path stops atomic operations to the host; None if it does not, or does not say."""
    control = port.control
    if control is None:
        return None
    if port.kind in ("upstream-port", "downstream-port") and control.atomics_routed is False:
        return "does not route them (Routing-)"
    if control.atomics_blocked:
        return "blocks them (EgressBlck+)"
    completed = control.atomics_completed
    if port.kind == "root-port" and completed is not None and not set(_NEEDED) & set(completed):
        return "does not complete them (32bit- 64bit-)"
    return None
