"""Finished `setpci` lines for fixes that are one register write.

A mask keeps the other bits of the register. Every line is risky: a write may hang the machine, a driver may
undo it, and the next reset does. A fix that needs both ends of a link, or several writes, has a line for each, in
the order in which they are safe. Registers are those of the PCI Express capability (PCIe 6.0, section 7.5.3).
"""

from collections.abc import Sequence

from pcielab.doctor.tree import PAYLOADS, SPEEDS, Function, Payload, Speed

_DEVICE_CONTROL, _LINK_CONTROL, _DEVICE_CONTROL_2, _LINK_CONTROL_2 = 0x08, 0x10, 0x28, 0x30
_RETRAIN = 1 << 5


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


def switch_aspm_off_at_both_ends(port: Function, devices: Sequence[Function]) -> tuple[str, ...]:
    """Switch ASPM off at the lower end, then at the upper one (section 5.4.1.4)."""
    return _write(devices, _LINK_CONTROL, 0, 3), _write([port], _LINK_CONTROL, 0, 3)


def set_mps(path: Sequence[Function], mps_bytes: Payload) -> tuple[str, ...]:
    """Set the maximum payload size of a path: DevCtl 7:5.

    Args:
        path: The device and the ports above it, the device first.
        mps_bytes: The size. What sends less than before comes first; what accepts more comes first.
    """
    code = PAYLOADS.index(mps_bytes)
    return tuple(_write([one], _DEVICE_CONTROL, code << 5, 7 << 5) for one in path)


def retrain(port: Function, speed_gtps: Speed) -> tuple[str, ...]:
    """Raise the target speed of a port and retrain its link: LnkCtl2 3:0, LnkCtl 5."""
    code = SPEEDS.index(speed_gtps) + 1
    return _write([port], _LINK_CONTROL_2, code, 0xF), _write([port], _LINK_CONTROL, _RETRAIN, _RETRAIN)


def enable_link(port: Function) -> str:
    """Clear Link Disable of a port: LnkCtl 4."""
    return _write([port], _LINK_CONTROL, 0, 1 << 4)


def switch_completion_timeout_on(function: Function) -> str:
    """Clear Completion Timeout Disable: DevCtl2 4."""
    return _write([function], _DEVICE_CONTROL_2, 0, 1 << 4)


def clear_redirection(port: Function) -> str:
    """Clear P2P Request Redirect and P2P Completion Redirect: ACS control 2 and 3 (section 7.7.11.3)."""
    return f"sudo setpci -s {port.slot} ECAP_ACS+6.w=0000:000c"


def _write(functions: Sequence[Function], offset: int, bits: int, mask: int) -> str:
    write = f"CAP_EXP+{offset:x}.w={bits:04x}:{mask:04x}"
    return " ".join(["sudo setpci", *(f"-s {function.slot} {write}" for function in functions)])
