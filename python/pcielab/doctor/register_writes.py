"""Finished `setpci` lines for fixes that are one register write.

A mask keeps the other bits of the register. Every line is risky: a write may hang the machine, a driver may
undo it, and the next reset does. Fixes that need a second end or a second write (MPS, 10-bit tags, target
speed) have no line. Registers are those of the PCI Express capability (PCIe 6.0, section 7.5.3).
"""

from collections.abc import Sequence

from pcielab.doctor.tree import PAYLOADS, Function, Payload

_DEVICE_CONTROL, _LINK_CONTROL, _DEVICE_CONTROL_2 = 0x08, 0x10, 0x28


def set_mrrs(function: Function, mrrs_bytes: Payload) -> str:
    """Set the maximum read request size: DevCtl 14:12."""
    return _write([function], _DEVICE_CONTROL, PAYLOADS.index(mrrs_bytes) << 12, 7 << 12)


def set_relaxed_ordering(functions: Sequence[Function], *, on: bool) -> str:
    """Switch relaxed ordering on or off: DevCtl 4."""
    return _write(functions, _DEVICE_CONTROL, on << 4, 1 << 4)


def set_extended_tags(function: Function) -> str:
    """Switch 8-bit tags on: DevCtl 8. The device must have no read in flight: unload its driver first."""
    return _write([function], _DEVICE_CONTROL, 1 << 8, 1 << 8)


def switch_aspm_off(device: Function) -> str:
    """Switch ASPM off at the lower end, which has to come first (section 5.4.1.4): LnkCtl 1:0."""
    return _write([device], _LINK_CONTROL, 0, 3)


def enable_link(port: Function) -> str:
    """Clear Link Disable of a port: LnkCtl 4."""
    return _write([port], _LINK_CONTROL, 0, 1 << 4)


def switch_completion_timeout_on(function: Function) -> str:
    """Clear Completion Timeout Disable: DevCtl2 4."""
    return _write([function], _DEVICE_CONTROL_2, 0, 1 << 4)


def _write(functions: Sequence[Function], offset: int, bits: int, mask: int) -> str:
    write = f"CAP_EXP+{offset:x}.w={bits:04x}:{mask:04x}"
    return " ".join(["sudo setpci", *(f"-s {function.slot} {write}" for function in functions)])
