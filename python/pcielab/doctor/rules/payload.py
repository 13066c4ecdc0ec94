"""Rules about the content of TLPs: the maximum payload size, and the ECRC."""

from collections.abc import Iterator

from pcielab.doctor.finding import Loss, Observation, Severity, Sureness, Symptom, Value
from pcielab.doctor.line_rates import carries_all
from pcielab.doctor.loss import loss, use_of
from pcielab.doctor.real_links import cards, not_judged, real_cards
from pcielab.doctor.register_writes import set_mps
from pcielab.doctor.rules.rule import judged, rule, value
from pcielab.doctor.tree import Function, Link, Payload, Tree

_IN_BULK = (0x01, 0x02, 0x03, 0x12)
"""Classes that read memory in bulk: storage, network, display, accelerator."""
MENTIONED_LOSS_GBPS = 1.0
"""Modelled loss below which a limit is not mentioned."""


@rule("D10", Symptom.LOST_RATE, confirm="the rate of large transfers rises with pci=pcie_bus_perf")
def mps_below_path(tree: Tree) -> Iterator[Observation]:
    """A payload may be as large as every function on the path supports (PCIe 6.0, section 2.2.2).

    Judged by DevCap of the whole path: a device or path that supports less than the other is a limit, not a wrong
    setting. Silent where a DevCap of the path could not be read. The cost is modelled, so it is never an error;
    it is a note where it is less than 1 Gb/s, and for a network controller that the link carries all the same.
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
        content = carries_all(link, end) or bool(losses and losses[0].lost_gbps < MENTIONED_LOSS_GBPS)
        yield Observation(
            **judged(Severity.NOTE if content else Severity.WARNING, Sureness.CERTAIN, function, link.port),
            what=f"maximum payload (MPS) is {control.mps_bytes} B; every device on the path supports {possible} B",
            values=_path_values(tree, function),
            losses=losses,
            remedy="set it in the BIOS, or boot with pci=pcie_bus_perf or pci=pcie_bus_safe; never change one end "
            "alone",
            commands=set_mps(list(reversed(tree.path(function))), possible),
        )


@rule("D10", Symptom.ERRORS, Symptom.HANG, confirm="MalfTLP in UESta, or in the kernel's log")
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
                commands=set_mps([function], least),
            )


@rule("D10", Symptom.ERRORS, Symptom.HANG, confirm="MalfTLP in UESta, or in the kernel's log")
def mps_above_capability(tree: Tree) -> Iterator[Observation]:
    """Software must not set a larger MPS than a function supports: DevCtl above DevCap.

    The function then sends, or announces that it takes, TLPs that it cannot handle (PCIe 6.0, section 7.5.3.4).
    """
    for function in tree.functions:
        control = function.control
        if (
            control is None
            or not control.mps_bytes
            or not control.max_payload_bytes
            or function.is_virtual_function
        ):
            continue
        if control.mps_bytes <= control.max_payload_bytes or _is_unjudged(tree, function):
            continue
        yield Observation(
            **judged(Severity.ERROR, Sureness.CERTAIN, function),
            what=f"maximum payload (MPS) is set to {control.mps_bytes} B; this end supports only "
            f"{control.max_payload_bytes} B",
            values=(
                value(function, "DevCap MaxPayload", f"{control.max_payload_bytes} B"),
                value(function, "DevCtl MaxPayload", f"{control.mps_bytes} B"),
            ),
            remedy="boot with pci=pcie_bus_safe, or correct it in the BIOS or boot loader: every function of the "
            "path gets the smallest size that all support",
            commands=set_mps([function], control.max_payload_bytes),
        )


@rule(
    "D10",
    Symptom.ERRORS,
    Symptom.HANG,
    confirm="MalfTLP in UESta of the device; the fault goes away with pcie_bus_safe",
)
def mps_above_device(tree: Tree) -> Iterator[Observation]:
    """A port may send payloads up to its own MPS; a device that supports less takes them as malformed TLPs.

    PCIe 6.0, section 2.2.2. Completions are as large as that only if the device asks for more than it takes at
    once, so the rule is silent where its read request size (MRRS) is not above what it supports, as
    `pcie_bus_perf` sets it. An error for drives, displays, accelerators, and network controllers that could fill
    the link; a note for others, such as card readers, whose reads are short and which work on many machines.
    """
    for link, port in real_cards(tree):
        device = next((one for one in link.functions if not one.is_virtual_function), link.device)
        control, sends = device.control, port.control.mps_bytes if port.control else None
        if control is None or not sends or not control.max_payload_bytes or not control.mrrs_bytes:
            continue
        takes: Payload = control.max_payload_bytes
        if sends <= takes or control.mrrs_bytes <= takes or (control.mps_bytes or 0) > takes:
            continue
        content = link.device.link is not None and carries_all(link, link.device.link)
        in_bulk = device.base_class in _IN_BULK and not content
        yield Observation(
            **judged(Severity.ERROR if in_bulk else Severity.NOTE, Sureness.CERTAIN, device, port),
            what=f"the port sends payloads of up to {sends} B, but the device supports only {takes} B and "
            f"requests {control.mrrs_bytes} B at once: completions reach it as malformed TLPs",
            values=(*_path_values(tree, device), value(device, "DevCtl MaxReadReq", f"{control.mrrs_bytes} B")),
            remedy="boot with pci=pcie_bus_safe, which gives the path the smallest size that all support; or set "
            "the device's MRRS to what it takes",
            commands=set_mps(_senders(tree, device, takes), takes),
        )


def _senders(tree: Tree, device: Function, takes: Payload) -> list[Function]:
    """The ports above a device that send more than it takes, the topmost first."""
    above = [one for one in tree.path(device)[1:] if one.control and (one.control.mps_bytes or 0) > takes]
    return list(reversed(above))


def _is_unjudged(tree: Tree, function: Function) -> bool:
    """Whether the link at a function is inside a chip or made up."""
    links = [one for one in tree.links if function is one.port or function in one.functions]
    return any(not_judged(tree, link) is not None for link in links if link.port is not None)


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
        least = min(tree.path(function)[1:], key=lambda one: _possible(one) or 0)
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

    It protects data across switches; unless something checks it, it only costs. Judges devices, not bridges. A
    note where the port above or the root port checks it.
    """
    for link in cards(tree):
        end = link.device.link
        senders = [one for one in link.functions if one.errors is not None and one.errors.ecrc_generated]
        if not senders or end is None:
            continue
        device, others = senders[0], len(senders) - 1
        use = use_of(device, end)
        checking = [one for one in tree.path(device)[1:] if one.errors is not None and one.errors.ecrc_checked]
        severity = Severity.NOTE if checking or carries_all(link, end) else Severity.WARNING
        yield Observation(
            **judged(severity, Sureness.CERTAIN, device, link.port),
            what="ECRC is on: it adds 4 bytes to each TLP that the device sends"
            + (f" (and to those of {others} more of its functions)" if others else "")
            + ("; the other end checks it" if checking else ""),
            values=(
                *(value(one, "AERCap ECRCGenEn", "+") for one in senders),
                *(value(one, "AERCap ECRCChkEn", "+") for one in checking),
            ),
            losses=(loss(use, use.without_ecrc(), "write"),) if use else (),
            remedy="keep it if data need an end-to-end check; otherwise switch it off in the BIOS, or boot with "
            "pci=ecrc=off",
        )


def _payloads(tree: Tree) -> Iterator[tuple[Link, Function, Payload]]:
    """Functions with the largest payload of their path; one of those of a device that are set alike."""
    for link, _ in real_cards(tree):
        seen: set[tuple[int | None, int | None]] = set()
        for function in link.functions:
            control = function.control
            path = tree.path(function)
            sizes = [size for above in path if (size := _possible(above)) is not None]
            if control is None or len(sizes) < len(path):
                continue
            settings = (control.mps_bytes, control.max_payload_bytes)
            if settings not in seen:
                seen.add(settings)
                yield link, function, min(sizes)


def _possible(function: Function) -> Payload | None:
    """The largest payload that a function supports; None if unknown."""
    return function.control.max_payload_bytes if function.control else None


def _path_values(tree: Tree, function: Function) -> tuple[Value, ...]:
    found = []
    for one in reversed(tree.path(function)):
        if one.control is not None and one.control.max_payload_bytes is not None:
            found.append(value(one, "DevCap MaxPayload", f"{one.control.max_payload_bytes} B"))
        if one.control is not None and one.control.mps_bytes is not None:
            found.append(value(one, "DevCtl MaxPayload", f"{one.control.mps_bytes} B"))
    return tuple(found)
