"""Rules about the content of TLPs: the maximum payload size, and the ECRC."""

from collections.abc import Iterator

from pcielab.doctor.finding import Loss, Observation, Severity, Sureness, Value
from pcielab.doctor.line_rates import carries_all
from pcielab.doctor.loss import loss, use_of
from pcielab.doctor.real_links import cards, real_cards
from pcielab.doctor.rules.rule import judged, rule, value
from pcielab.doctor.tree import Function, Link, Tree

MENTIONED_LOSS_GBPS = 1.0
"""Modelled loss below which a limit is not mentioned."""


@rule("D10")
def mps_below_path(tree: Tree) -> Iterator[Observation]:
    """A payload may be as large as every function on the path supports (PCIe 6.0, section 2.2.2).

    Judged by DevCap of the whole path: a device or path that supports less than the other is a limit, not a wrong
    setting. Silent where a DevCap of the path could not be read. The cost is modelled, so it is never an error;
    it is a note for a network controller that the link carries all the same.
    """
    for link, function, possible in _payloads(tree):
        control, end = function.control, link.device.link
        if control is None or control.mps_bytes is None or control.mps_bytes >= possible or end is None:
            continue
        use = use_of(function, end)
        losses: tuple[Loss, ...] = ()
        if use is not None:
            larger = use.with_mps(possible)
            losses = loss(use, larger, "write"), loss(use, larger, "read")
        content = carries_all(link, end)
        yield Observation(
            **judged(Severity.NOTE if content else Severity.WARNING, Sureness.CERTAIN, function, link.port),
            what=f"maximum payload (MPS) is {control.mps_bytes} B; every device on the path supports {possible} B",
            values=_path_values(tree, function),
            losses=losses,
            remedy="set it in the BIOS, or boot with pci=pcie_bus_perf or pci=pcie_bus_safe; never change one end "
            "alone",
        )


@rule("D10")
def mps_differs(tree: Tree) -> Iterator[Observation]:
    """A TLP larger than the receiver's MPS is malformed and an error (PCIe 6.0, section 2.2.2).

    Fires if a device may send more than a port above it accepts. The reverse is allowed, as long as the port sends
    no more than the device accepts.
    """
    for _, function, _ in _payloads(tree):
        control = function.control
        accepted = [
            (above.control.mps_bytes, above)
            for above in tree.path(function)[1:]
            if above.control and above.control.mps_bytes
        ]
        if control is None or control.mps_bytes is None or not accepted:
            continue
        least, above = min(accepted, key=lambda pair: pair[0])
        if control.mps_bytes > least:
            yield Observation(
                **judged(Severity.ERROR, Sureness.CERTAIN, function, above),
                what=f"the device may send payloads of {control.mps_bytes} B, but a port above accepts only "
                f"{least} B",
                values=_path_values(tree, function),
                remedy="set both to the smaller value: the port refuses larger writes as malformed TLPs",
            )


@rule("D10")
def mps_limited(tree: Tree) -> Iterator[Observation]:
    """The ports above support less than the device: a property of the machine, noted where it costs bandwidth."""
    for link, function, possible in _payloads(tree):
        control, end = function.control, link.device.link
        if control is None or control.max_payload_bytes is None or end is None:
            continue
        if control.mps_bytes != possible or possible >= control.max_payload_bytes:
            continue
        use = use_of(function, end)
        losses = (loss(use, use.with_mps(control.max_payload_bytes), "write"),) if use else ()
        if not losses or losses[0].lost_gbps < MENTIONED_LOSS_GBPS:
            continue
        least = min(tree.path(function)[1:], key=_possible)
        yield Observation(
            **judged(Severity.NOTE, Sureness.CERTAIN, function, least),
            what=f"maximum payload (MPS) is {possible} B: the path supports no more; the device supports "
            f"{control.max_payload_bytes} B",
            values=_path_values(tree, function),
            losses=losses,
            remedy="none in software: the port's DevCap sets the limit",
        )


@rule("ecrc")
def ecrc_on(tree: Tree) -> Iterator[Observation]:
    """An ECRC adds four bytes to every TLP that a function sends (PCIe 6.0, sections 2.7.1 and 7.8.4.7).

    It protects data across switches; unless something checks it, it only costs. Judges devices, not bridges.
    """
    for link in cards(tree):
        end = link.device.link
        senders = [one for one in link.functions if one.errors is not None and one.errors.ecrc_generated]
        if not senders or end is None:
            continue
        device, others = senders[0], len(senders) - 1
        use = use_of(device, end)
        severity = Severity.NOTE if carries_all(link, end) else Severity.WARNING
        yield Observation(
            **judged(severity, Sureness.CERTAIN, device, link.port),
            what="ECRC is on: it adds 4 bytes to each TLP that the device sends"
            + (f" (and to those of {others} more of its functions)" if others else ""),
            values=tuple(value(one, "AERCap ECRCGenEn", "+") for one in senders),
            losses=(loss(use, use.without_ecrc(), "write"),) if use else (),
            remedy="keep it if data need an end-to-end check; otherwise switch it off in the BIOS, or boot with "
            "pci=ecrc=off",
        )


def _payloads(tree: Tree) -> Iterator[tuple[Link, Function, int]]:
    """Functions with the largest payload of their path; one of those of a device that are set alike."""
    for link, _ in real_cards(tree):
        seen: set[tuple[int | None, int | None]] = set()
        for function in link.functions:
            control = function.control
            capable = [_possible(above) for above in tree.path(function)]
            if control is None or 0 in capable:
                continue
            settings = (control.mps_bytes, control.max_payload_bytes)
            if settings not in seen:
                seen.add(settings)
                yield link, function, min(capable)


def _possible(function: Function) -> int:
    """The largest payload that a function supports; 0 if unknown."""
    return (function.control.max_payload_bytes if function.control else None) or 0


def _path_values(tree: Tree, function: Function) -> tuple[Value, ...]:
    found = []
    for one in reversed(tree.path(function)):
        if one.control is not None:
            found.append(value(one, "DevCap MaxPayload", f"{one.control.max_payload_bytes} B"))
            found.append(value(one, "DevCtl MaxPayload", f"{one.control.mps_bytes} B"))
    return tuple(found)
