"""Rules about lines of a kernel's log that the registers beside them do not show."""

from collections.abc import Iterator

from pcielab.doctor.finding import Observation, Severity, Sureness, Symptom, Value
from pcielab.doctor.rules.rule import judged, rule, value
from pcielab.doctor.tree import LogEvent, LogKind, Tree


@rule(
    "D03",
    Symptom.LOST_RATE,
    Symptom.MISSING,
    confirm="LnkCtl2 of the port has a target speed below LnkCap, and the link comes up after a retrain",
)
def retraining_failed(tree: Tree) -> Iterator[Observation]:
    """Linux retrains a port whose link does not come up at 2.5 GT/s, and may leave it there (`pci/quirks.c`)."""
    for event in _events(tree, "retrain-failed"):
        yield _observed(
            tree,
            event,
            Severity.WARNING,
            "the kernel could not train the link and limited its speed",
            "look at the port's target speed (LnkCtl2) and raise it; if the link does not hold, suspect riser, "
            "cable or the device; later kernels lift the limit again",
        )


@rule("link-down", Symptom.MISSING, Symptom.HANG, confirm="the time of the line against the time of the fault")
def link_went_down(tree: Tree) -> Iterator[Observation]:
    """A hot-plug port logs each loss of its link (Linux, `pciehp`)."""
    for event in _events(tree, "link-down"):
        yield _observed(
            tree,
            event,
            Severity.WARNING,
            f"the kernel's log says that the link went down {_times(event)}",
            "unless somebody pulled the device: look for errors before it in the log, at the device's power, "
            "and at riser and cable",
        )


@rule("D02", Symptom.LOST_RATE, confirm="the link that the line names, in LnkCap and LnkSta of both its ends")
def limited_in_log(tree: Tree) -> Iterator[Observation]:
    """The kernel logs the slowest link above a device that is slower than the device itself.

    Silent where the registers of the device are there, too: they say more.
    """
    for event in _events(tree, "bandwidth-limited"):
        function = tree.function(event.slot) if event.slot else None
        if function is None or function.link is None:
            yield _observed(
                tree,
                event,
                Severity.WARNING,
                "the kernel's log says that a link above limits the device",
                "look at the link that the line names: a slower slot is a limit, a link below both its ends is a "
                "fault",
            )


@rule(
    "D04",
    Symptom.ERRORS,
    Symptom.LOST_RATE,
    confirm="pcielab doctor --watch 30 under load, or the same log with pcie_aspm=off",
)
def corrected_in_log(tree: Tree) -> Iterator[Observation]:
    """The kernel logs corrected errors of a link; the registers may have been cleared since.

    Silent where the registers name the link's errors or its ASPM.
    """
    for event in _events(tree, "corrected-error"):
        function = tree.function(event.slot) if event.slot else None
        if function is None or function.link is None:
            yield _observed(
                tree,
                event,
                Severity.WARNING,
                f"the kernel's log has corrected errors of the link, {_times(event)}",
                "boot once with pcie_aspm=off: if they stop, a link does not wake cleanly; otherwise reseat the "
                "device and try a shorter riser or cable, or one generation lower",
            )


@rule("device-stopped", Symptom.HANG, confirm="the same with pcie_aspm=off, and with the device in another slot")
def device_stopped(tree: Tree) -> Iterator[Observation]:
    """A driver logs that its device stopped answering in time. The log alone does not tell why."""
    for event in _events(tree, "device-stopped"):
        yield _observed(
            tree,
            event,
            Severity.WARNING,
            f"the driver gave the device up, {_times(event)} in the kernel's log",
            "look at the findings on its link first: errors, power saving, uncorrectable errors; then update its "
            "firmware",
        )


@rule(
    "address-fault",
    Symptom.ERRORS,
    Symptom.HANG,
    confirm="the address of the fault against what the driver mapped",
)
def address_faults(tree: Tree) -> Iterator[Observation]:
    """The IOMMU refused an address: the device wrote or read where nothing is mapped for it."""
    for event in _events(tree, "address-fault"):
        yield _observed(
            tree,
            event,
            Severity.ERROR,
            f"the IOMMU refused requests of the device, {_times(event)} in the kernel's log",
            "suspect the driver or the device's firmware; between devices, ACS and the IOMMU must allow "
            "peer-to-peer",
        )


def _events(tree: Tree, kind: LogKind) -> Iterator[LogEvent]:
    return (event for event in tree.log if event.kind == kind)


def _times(event: LogEvent) -> str:
    return "once" if event.count == 1 else f"{event.count} times"


def _observed(tree: Tree, event: LogEvent, severity: Severity, what: str, remedy: str) -> Observation:
    function = tree.function(event.slot) if event.slot else None
    fields = judged(severity, Sureness.CERTAIN, function, tree.parent(function) if function else None)
    return Observation(**fields | {"device": event.slot}, what=what, values=(_said(event),), remedy=remedy)


def _said(event: LogEvent) -> Value:
    return value(None, f"log, line {event.line}", event.text)
