"""Rules about faults that stopped something: uncorrectable errors, containment, devices off the bus."""

from collections.abc import Iterator
from typing import Any

from pcielab.doctor.finding import Observation, Severity, Sureness, Symptom, Value
from pcielab.doctor.real_links import not_judged
from pcielab.doctor.rules.rule import judged, rule, value
from pcielab.doctor.slots import short
from pcielab.doctor.tree import Function, LogEvent, Tree

_HARMLESS = ("UnsupReq", "ACSViol", "UnxCmplt", "CmpltAbrt")
"""Errors that scanning for devices and drivers that probe leave behind on healthy machines."""
_REMOVAL = ("SDES",)
"""Surprise down: what pulling a device, or switching its slot off, leaves behind."""
_MESSAGES = ("UERcvd", "NonFatalMsg", "FatalMsg")
_MEANINGS = {
    "DLP": "data link protocol error",
    "SDES": "surprise link down",
    "TLP": "poisoned TLP",
    "FCP": "flow control protocol error",
    "CmpltTO": "completion time-out",
    "CmpltAbrt": "completer abort",
    "UnxCmplt": "unexpected completion",
    "RxOF": "receiver overflow",
    "MalfTLP": "malformed TLP",
    "ECRC": "ECRC error",
    "UnsupReq": "unsupported request",
    "ACSViol": "ACS violation",
    "UncorrIntErr": "internal error",
}


@rule(
    "off-bus",
    Symptom.MISSING,
    Symptom.HANG,
    confirm="setpci -s SLOT 0.l prints ffffffff, and the kernel's log says when the device was lost",
)
def device_off_bus(tree: Tree) -> Iterator[Observation]:
    """A device that does not answer reads as ones everywhere: its link is down, or it hangs (PCIe 6.0, 2.3.2).

    A device in D3cold reads the same; the kernel's files tell D3cold apart, a text of lspci does not.
    """
    lost = {event.slot: event for event in tree.log if event.kind == "off-bus"}
    for function in tree.functions:
        if function.answers is not False or function.power_state == "D3cold":
            continue
        event = lost.pop(function.slot, None)
        yield Observation(
            **judged(
                Severity.ERROR, Sureness.CERTAIN if event else Sureness.LIKELY, function, tree.parent(function)
            ),
            what="the device is off the bus: every register reads as ones",
            values=(value(function, "all registers", "ff"), *_said(event)),
            remedy="search the kernel's log for its slot: after a crash or a lost link only a reset or a power "
            "cycle of the slot brings it back; check its power and temperature; a device asleep in D3cold reads "
            "the same: wake it",
        )
    for slot, event in lost.items():
        yield Observation(
            **_at(event, tree.function(slot) if slot else None),
            what="the kernel's log says that the device is lost",
            values=_said(event),
            remedy="check the power, the temperature and the seat of the device; then look for errors on its "
            "link before it was lost",
        )


@rule(
    "uncorrectable",
    Symptom.ERRORS,
    Symptom.HANG,
    confirm="clear the bits (write ones to UESta), repeat the load, and see which end sets them first",
)
def uncorrectable_errors(tree: Tree) -> Iterator[Observation]:
    """A function keeps the uncorrectable errors that it saw, a root port the messages (PCIe 6.0, 6.2, 7.8.4).

    One finding names what each end of a link saw and what the root port received. Silent on errors that a scan for
    devices leaves behind (unsupported request, completer abort, unexpected completion, ACS violation) unless the
    root port received a message, on masked ones, and on surprise down at a port without a device. Surprise down
    alone is a warning: a device that slept or was replaced leaves it behind.
    """
    reported = set[str]()
    for function in tree.functions:
        if function.slot in reported or not _serious(tree, function):
            continue
        link = next((one for one in tree.links if function in (one.port, *one.functions)), None)
        ends = [function] if link is None else [one for one in (link.port, *link.functions) if one is not None]
        reported |= {one.slot for one in ends}
        if link is not None and not_judged(tree, link):
            continue
        roots = [one for one in tree.path(ends[-1]) if _messages(one)]
        seen = [f"{short(one.slot)} saw {_named(_bits(one))}" for one in ends if _bits(one)]
        received = [f"{short(one.slot)} received {' '.join(_messages(one))}" for one in roots]
        first = next((one for one in ends if _serious(tree, one)), function)
        only_removal = not roots and all(set(_bits(one)) <= {*_HARMLESS, *_REMOVAL} for one in ends)
        severity = Severity.WARNING if only_removal else Severity.ERROR
        yield Observation(
            **judged(severity, Sureness.CERTAIN, first, None if first is ends[0] else ends[0]),
            what=f"uncorrectable errors were signalled: {'; '.join([*seen, *received])}",
            values=tuple(shown for one in dict.fromkeys([*ends, *roots]) for shown in _values(one)),
            remedy="search the kernel's log for AER and these slots; malformed TLPs point at the MPS of the "
            "path, protocol errors and surprise down at the link, completion time-outs at a device that stopped "
            "or sleeps; the bits stay set until they are cleared",
        )


@rule("uncorrectable", Symptom.ERRORS, Symptom.HANG)
def errors_in_log(tree: Tree) -> Iterator[Observation]:
    """The kernel logs uncorrectable errors with the function that reported them (Linux, `pcie/aer.c`)."""
    for event in tree.log:
        function = tree.function(event.slot) if event.slot else None
        if event.kind == "uncorrected-error" and not (function and _serious(tree, function)):
            yield Observation(
                **_at(event, function),
                what=f"the kernel's log has {event.count} uncorrectable error{'' if event.count == 1 else 's'}",
                values=_said(event),
                remedy="read the lines after it in the log: they name the error and the end that saw it; then "
                "look at the link and at the MPS of its path",
            )


@rule(
    "containment",
    Symptom.ERRORS,
    Symptom.MISSING,
    Symptom.HANG,
    confirm="the kernel's log has a line `DPC: containment event` with the status and the source",
)
def containment_triggered(tree: Tree) -> Iterator[Observation]:
    """Downstream port containment takes a link down on an uncorrectable error (DPC: PCIe 6.0, section 6.2.11)."""
    logged = {event.slot: event for event in tree.log if event.kind == "contained"}
    for function in tree.functions:
        event = logged.pop(function.slot, None)
        if function.contained is None and event is None:
            continue
        reason = function.contained or "an error that the log names"
        yield Observation(
            **judged(Severity.ERROR, Sureness.CERTAIN, function),
            what=f"containment triggered and took the link down: {reason}",
            values=(value(function, "DpcSta Trigger", "+" if function.contained else "cleared"), *_said(event)),
            remedy="search the kernel's log for DPC and AER at this port: they name the error and its source; "
            "the link stays down until the trigger status is cleared, which the kernel does after it handled "
            "the error",
        )
    for left in logged.values():
        yield Observation(
            **_at(left, None),
            what="containment took the link down, by the kernel's log",
            values=_said(left),
            remedy="read the lines around it in the log: they name the error and its source",
        )


def _serious(tree: Tree, function: Function) -> bool:
    """Whether a function saw an error that a scan does not leave behind, or received a message about one."""
    if function.is_virtual_function or function.answers is False:
        return False
    masked = (function.errors.uncorrectable_masked if function.errors else None) or ()
    is_empty = function.is_port and not tree.children(function)
    ignored = {*_HARMLESS, *masked, *(_REMOVAL if is_empty else ())}
    return bool(set(_bits(function)) - ignored) or bool(_messages(function))


def _bits(function: Function) -> tuple[str, ...]:
    return (function.errors.uncorrectable_status if function.errors else None) or ()


def _messages(function: Function) -> tuple[str, ...]:
    received = (function.errors.root_status if function.errors else None) or ()
    return tuple(name for name in _MESSAGES if name in received)


def _named(bits: tuple[str, ...]) -> str:
    return ", ".join(f"{_MEANINGS.get(bit, bit)} ({bit})" for bit in bits)


def _values(function: Function) -> Iterator[Value]:
    if _bits(function):
        yield value(function, "UESta", " ".join(f"{name}+" for name in _bits(function)))
    if _messages(function):
        yield value(function, "RootSta", " ".join(f"{name}+" for name in _messages(function)))


def _said(event: LogEvent | None) -> tuple[Value, ...]:
    return () if event is None else (value(None, f"log, line {event.line}", event.text),)


def _at(event: LogEvent, function: Function | None) -> dict[str, Any]:
    """The first fields of an observation on the function that a line of the log names."""
    fields = judged(Severity.ERROR, Sureness.CERTAIN, function)
    return fields | {"device": event.slot}
