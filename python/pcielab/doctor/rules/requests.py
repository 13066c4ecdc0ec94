"""Rules about read requests: their size, their number in flight, and their time-out."""

from collections.abc import Iterator

from pcielab.doctor.finding import Observation, Severity, Sureness, Symptom, Value
from pcielab.doctor.loss import LARGE_BYTES, ROUND_TRIPS_NS, SMALL_BYTES, Use, loss, use_of
from pcielab.doctor.real_links import cards
from pcielab.doctor.register_writes import set_extended_tags, set_mrrs, switch_completion_timeout_on
from pcielab.doctor.rules.payload import MENTIONED_LOSS_GBPS
from pcielab.doctor.rules.rule import judged, rule, value
from pcielab.doctor.tree import TAGS_8_BIT, TAGS_10_BIT, Function, Link, Payload, Tree

_USUAL_MRRS_BYTES: Payload = 512
_MRRS_OF_NICS_BYTES: Payload = 4096
_HANDLES_ALL_TAGS_GTPS = 8.0
"""Ports from this speed on follow a specification that requires them to answer 8-bit tags."""
_NETWORK, _PROCESSOR_PORT_GTPS = 0x02, 16.0


@rule("D11", Symptom.LOST_RATE)
def mrrs_small(tree: Tree) -> Iterator[Observation]:
    """Requests in flight times their size limit read bandwidth (PCIe 6.0, section 7.5.3.4, MRRS).

    Fires if that product over 1 us is less than the link's bandwidth, and for network cards from 16 GT/s on below
    the 4096 B that their makers recommend. The field is reserved in virtual functions.
    """
    for link, function, use in _requesters(tree):
        mrrs, end = use.link.mrrs_bytes, link.device.link
        control = function.control
        if mrrs >= _MRRS_OF_NICS_BYTES or end is None or control is None or not control.mrrs_bytes:
            continue
        larger_bytes = _MRRS_OF_NICS_BYTES if mrrs >= _USUAL_MRRS_BYTES else _USUAL_MRRS_BYTES
        larger = use.with_mrrs(larger_bytes)
        held_back = [loss(use, larger, "read", LARGE_BYTES, ns) for ns in reversed(ROUND_TRIPS_NS)]
        for_a_nic = function.base_class == _NETWORK and (end.speed_gtps or 0) >= _PROCESSOR_PORT_GTPS
        binds = held_back[0].now_bound == "tags" and held_back[0].lost_gbps >= MENTIONED_LOSS_GBPS
        if not binds and not for_a_nic:
            continue
        losses = tuple(held_back) if binds else (loss(use, larger, "rdwr"),)
        reason = f": with {use.tags} tags, too small for this link" if binds else "; fast NICs want 4096 B"
        yield Observation(
            **judged(Severity.WARNING, Sureness.LIKELY, function, link.port),
            what=f"maximum read request (MRRS) is {mrrs} B{reason}",
            values=(value(function, "DevCtl MaxReadReq", f"{mrrs} B"), value(function, "tags", use.tags)),
            losses=losses,
            remedy="set Max Read Request in the BIOS, or the register; check the driver's documentation "
            "first, since it may choose the value",
            command=set_mrrs(function, larger_bytes),
        )


@rule("D12", Symptom.LOST_RATE)
def extended_tags_off(tree: Tree) -> Iterator[Observation]:
    """With 5-bit tags 32 reads may be in flight, with 8-bit tags 256 (PCIe 6.0, sections 2.2.6.2 and 7.5.3.4)."""
    for link, function, use in _requesters(tree):
        control = function.control
        if control is None or not control.extended_tags_possible or control.extended_tags is not False:
            continue
        if control.ten_bit_tags:
            continue
        yield _tags_off(
            link,
            function,
            use,
            TAGS_8_BIT,
            "extended (8-bit) tags are off although the device supports them",
            "DevCtl ExtTag",
            set_extended_tags(function) if _handles_all_tags(tree, function) else None,
        )


def _handles_all_tags(tree: Tree, function: Function) -> bool:
    """Whether every port above is known to answer 8-bit tags."""
    above = [port.link for port in tree.path(function)[1:]]
    return bool(above) and all(
        end is not None and (end.max_speed_gtps or 0) >= _HANDLES_ALL_TAGS_GTPS for end in above
    )


@rule("D12", Symptom.LOST_RATE)
def ten_bit_tags_off(tree: Tree) -> Iterator[Observation]:
    """Ten-bit tags need a requester and a completer that support them (PCIe 6.0, section 2.2.6.2).

    The completer is the root port. Fires only if both support them and they are off in the requester.
    """
    for link, function, use in _requesters(tree):
        control, root = function.control, tree.path(function)[-1]
        if control is None or not control.ten_bit_requester or control.ten_bit_tags is not False:
            continue
        if (
            control.fourteen_bit_tags
            or root is function
            or root.control is None
            or not root.control.ten_bit_completer
        ):
            continue
        yield _tags_off(
            link,
            function,
            use,
            TAGS_10_BIT,
            "10-bit tags are off although the device and the root port support them",
            "DevCtl2 10BitTagReq",
        )


@rule("D12", Symptom.HANG, Symptom.ERRORS, confirm="CmpltTO or UnxCmplt in UESta of the device")
def ten_bit_tags_unanswered(tree: Tree) -> Iterator[Observation]:
    """A completer without 10-bit tags returns wrong tags, so a requester must not send them.

    PCIe 6.0, section 2.2.6.2.
    """
    for link in cards(tree):
        device, root = link.device, tree.path(link.device)[-1]
        sends = device.control is not None and device.control.ten_bit_tags
        answers = root.control is None or root is device or root.control.ten_bit_completer is not False
        if sends and not answers:
            yield Observation(
                **judged(Severity.ERROR, Sureness.LIKELY, device, root),
                what="10-bit tags are on, but the root port does not answer them: completions come back with "
                "wrong tags",
                values=(value(device, "DevCtl2 10BitTagReq", "+"), value(root, "DevCap2 10BitTagComp", "-")),
                remedy="switch PCIe Ten Bit Tag off in the BIOS, or clear bit 12 of DevCtl2 with the driver "
                "unloaded",
            )


def _tags_off(
    link: Link, function: Function, use: Use, tags: int, what: str, flag: str, command: str | None = None
) -> Observation:
    more = use.with_tags(tags)
    all_losses = [
        loss(use, more, "read", size, ns) for size in (LARGE_BYTES, SMALL_BYTES) for ns in reversed(ROUND_TRIPS_NS)
    ]
    costly = tuple(one for one in all_losses if one.lost_gbps >= MENTIONED_LOSS_GBPS)
    return Observation(
        **judged(Severity.WARNING if costly else Severity.NOTE, Sureness.CERTAIN, function, link.port),
        what=f"{what}: {use.tags} reads in flight, not {tags}"
        + ("" if costly else "; by the model, this costs nothing on this link"),
        values=(value(function, flag, "-"), *_allowed(function, use)),
        losses=costly,
        remedy="enable it in the BIOS (PCIe Extended Tag, PCIe Ten Bit Tag) or the driver; some BIOSes clear it "
        "until a driver sets it",
        command=command,
    )


def _allowed(function: Function, use: Use) -> tuple[Value, ...]:
    """The bandwidth that the tags alone allow: their number times the request size over a round trip."""
    sizes = dict.fromkeys((use.link.mrrs_bytes, SMALL_BYTES))
    return tuple(
        value(
            function,
            f"{use.tags} reads of {size} B allow",
            " and ".join(f"{use.tags * size * 8 / ns:.0f} Gb/s at {ns:g} ns" for ns in ROUND_TRIPS_NS),
        )
        for size in sizes
    )


@rule("D12", Symptom.LOST_RATE)
def tags_limited(tree: Tree) -> Iterator[Observation]:
    """A device without extended tags in DevCap supports only 32 reads in flight: a property of the device.

    Fires where, by the model, 32 reads of 64 B over 1 us are less than the link's bandwidth.
    """
    for link, function, use in _requesters(tree):
        control = function.control
        if control is None or control.extended_tags_possible is not False or control.ten_bit_tags:
            continue
        more = use.with_tags(TAGS_8_BIT)
        small = [loss(use, more, "read", SMALL_BYTES, ns) for ns in reversed(ROUND_TRIPS_NS)]
        if small[0].lost_gbps < MENTIONED_LOSS_GBPS:
            continue
        yield Observation(
            **judged(Severity.NOTE, Sureness.CERTAIN, function, link.port),
            what=f"at most {use.tags} reads in flight: the device does not support extended tags",
            values=(value(function, "DevCap ExtTag", "-"), *_allowed(function, use)),
            losses=tuple(one for one in small if one.lost_gbps > 0),
            remedy="none in software: read in larger pieces",
        )


@rule("completion-timeout", Symptom.HANG)
def completion_timeout_off(tree: Tree) -> Iterator[Observation]:
    """A requester without a completion time-out waits forever for a lost completion (PCIe 6.0, section 2.8).

    It costs no bandwidth, but a hang then leaves no error.
    """
    for link in cards(tree):
        for function in link.functions:
            if function.control is not None and function.control.completion_timeout_off and function.driver:
                yield Observation(
                    **judged(Severity.NOTE, Sureness.CERTAIN, function, link.port),
                    what="completion time-out is off: a read without an answer waits forever",
                    values=(value(function, "DevCtl2 TimeoutDis", "+"),),
                    remedy="unless the driver needs it off, clear bit 4 of DevCtl2",
                    command=switch_completion_timeout_on(function),
                )
                break


@rule("bus-master", Symptom.HANG)
def bus_master_off(tree: Tree) -> Iterator[Observation]:
    """Without bus mastering a function may issue no memory request (PCIe 6.0, section 7.5.1.1.3).

    With a driver bound that means no DMA and no MSI. Silent on vfio-pci, whose devices often wait for their first
    user, and on sleeping devices.
    """
    for link in cards(tree):
        for function in link.functions:
            awake = function.power_state in (None, "D0")
            if function.bus_master is False and function.driver and function.driver != "vfio-pci" and awake:
                yield Observation(
                    **judged(Severity.WARNING, Sureness.CERTAIN, function, link.port),
                    what=f"bus mastering is off although driver {function.driver} is bound: no DMA, no MSI",
                    values=(value(function, "Control BusMaster", "-"),),
                    remedy="check in dmesg that the driver started; some drivers enable it when the device is "
                    "opened",
                )


def _requesters(tree: Tree) -> Iterator[tuple[Link, Function, Use]]:
    """Functions that may read memory, with their use of the link; one of those of a device that are set alike."""
    for link in cards(tree):
        seen: set[tuple[object, ...]] = set()
        for function in link.functions:
            end = link.device.link
            use = use_of(function, end) if end else None
            if use is None or function.control is None or function.bus_master is False:
                continue
            settings = (use, function.control.extended_tags_possible, function.base_class)
            if settings not in seen:
                seen.add(settings)
                yield link, function, use
