"""What the registers, counters and log of a machine show of trouble, apart from its causes.

A finding is ranked by how many of these signs its cause explains: a setting without a sign comes after.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pcielab.doctor.finding import Finding, Symptom
from pcielab.doctor.slots import short
from pcielab.doctor.tree import Function, LogKind, Tree

OF_THE_LINK = ("RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout")
"""Correctable errors of the link itself; the others are about requests."""
_SYMPTOMS: dict[LogKind, tuple[Symptom, ...]] = {
    "corrected-error": (Symptom.ERRORS,),
    "uncorrected-error": (Symptom.ERRORS, Symptom.HANG),
    "contained": (Symptom.ERRORS, Symptom.MISSING),
    "link-down": (Symptom.MISSING, Symptom.HANG),
    "retrain-failed": (Symptom.LOST_RATE, Symptom.MISSING),
    "bandwidth-limited": (Symptom.LOST_RATE,),
    "no-space": (Symptom.MISSING,),
    "no-atomics": (Symptom.PEER_TO_PEER,),
    "off-bus": (Symptom.MISSING, Symptom.HANG),
    "device-stopped": (Symptom.HANG,),
    "address-fault": (Symptom.ERRORS, Symptom.HANG),
}


@dataclass(frozen=True)
class Sign:
    """A sign of trouble.

    Attributes:
        symptoms: What it is a sign of.
        slot: The function that shows it; None where its source names none.
        what: The sign, in words.
    """

    symptoms: tuple[Symptom, ...]
    slot: str | None
    what: str


def signs(tree: Tree) -> list[Sign]:
    """Every sign of a tree."""
    found = [sign for function in tree.functions for sign in _of_function(function)]
    events = (Sign(_SYMPTOMS[event.kind], event.slot, f"log: {event.text}") for event in tree.log)
    return [*found, *events]


def _of_function(function: Function) -> Iterator[Sign]:
    seen = link_errors(function)
    if seen:
        shown = " ".join(seen)
        yield Sign((Symptom.ERRORS, Symptom.LOST_RATE), function.slot, f"{short(function.slot)} saw {shown}")
    if function.errors is not None and function.errors.uncorrectable_status:
        bits = " ".join(function.errors.uncorrectable_status)
        yield Sign((Symptom.ERRORS, Symptom.HANG), function.slot, f"{short(function.slot)} saw {bits}")
    if function.contained is not None:
        yield Sign((Symptom.ERRORS, Symptom.MISSING), function.slot, f"{short(function.slot)} contained an error")
    if function.answers is False:
        yield Sign((Symptom.MISSING, Symptom.HANG), function.slot, f"{short(function.slot)} does not answer")


def link_errors(function: Function) -> tuple[str, ...]:
    """Correctable errors of the link that a function saw: in its register, or in the kernel's counters."""
    if function.errors is None:
        return ()
    status, counted = function.errors.correctable_status or (), function.errors.correctable or {}
    return tuple(name for name in OF_THE_LINK if name in status or counted.get(name))


def explained(finding: Finding, found: list[Sign]) -> tuple[str, ...]:
    """The signs that a finding explains: of its symptoms, and shown by a function that it names."""
    named = {finding.device, finding.port, *(value.function for value in finding.values)} - {None}
    return tuple(
        sign.what
        for sign in found
        if set(sign.symptoms) & set(finding.explains)
        and (sign.slot in named or (sign.slot is None and sign.what.startswith("log:")))
    )
