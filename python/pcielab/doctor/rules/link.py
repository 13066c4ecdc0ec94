"""Rules about the link: its speed, its width, and the links above it."""

from collections.abc import Iterator
from dataclasses import dataclass

from pcielab.doctor.finding import Loss, Observation, Severity, Sureness, Symptom, Value
from pcielab.doctor.hardware import chipset_above, known, on_card_uplink, soldered_uplink
from pcielab.doctor.internal_links import internal
from pcielab.doctor.line_rates import carries_all, needed_raw_gbps
from pcielab.doctor.loss import generation, loss, use_of
from pcielab.doctor.real_links import made_up, not_judged, real_cards, real_links
from pcielab.doctor.register_writes import enable_link, retrain
from pcielab.doctor.rules.rule import judged, rule, value
from pcielab.doctor.slots import short
from pcielab.doctor.tree import Function, Link, LinkEnd, Speed, Tree

_STORAGE, _DISPLAY, _ACCELERATOR = 0x01, 0x03, 0x12
_NVME = 0x0108
_FAST_GBPS = 16.0
_CHIPSETS = ("Chipset", "PCH", "Wellsburg", "Lewisburg", "Emmitsburg", "Promontory", "600 Series", "700 Series")


@rule("D01", Symptom.LOST_RATE, confirm="LnkSta of both ends while the device is busy, and again in another slot")
def below_both_ends(tree: Tree) -> Iterator[Observation]:
    """A link trains to the highest speed and width of both ends (PCIe 6.0, section 4.2.5): less is a fault.

    Both ends' LnkCap count, so a narrow device in a wide port is fine. Displays and accelerators lower their
    speed at rest, also behind a switch of their own, and some drives rest at 2.5 GT/s: look at them under
    load. A network controller that the link carries all the same is a note: boards wire one lane to two ports
    of 1 Gb/s. Links inside a chip are not judged. Silent where `target-speed-lowered` fires, and on the soldered
    link of a chipset that runs as `library/hardware.csv` says. A slower one is a warning.
    """
    for link, port in real_links(tree):
        device, end = link.device, link.device.link
        most = _most(link)
        if (
            end is None
            or most is None
            or end.speed_gtps is None
            or end.lanes is None
            or _is_as_soldered(link, end)
        ):
            continue
        speed, lanes = most
        slower = end.speed_gtps < speed and _lowered_target(link) is None
        narrower = end.lanes < lanes
        if not slower and not narrower:
            continue
        at_rest = not narrower and may_rest(tree, device, end)
        fault = _SOLDERED if soldered_uplink(link) else _FAULT
        judgement = _enough(link, end) or (_AT_REST if at_rest else fault)
        yield Observation(
            severity=judgement.severity,
            sureness=judgement.sureness,
            device=device.slot,
            port=port.slot,
            what=f"link is running at {shown(end.speed_gtps, end.lanes)}; both ends support {shown(speed, lanes)}"
            + judgement.reason,
            values=_both_ends(port, device),
            losses=_losses(device, end, speed, lanes),
            remedy=judgement.remedy
            or "reseat the card, try another slot, riser or cable, and look at the speed that the BIOS "
            "allows for this slot; then retrain the link",
        )


@rule(
    "D03",
    Symptom.LOST_RATE,
    confirm="the kernel's log has a line on retraining, and the link comes up after a retrain",
)
def target_speed_lowered(tree: Tree) -> Iterator[Observation]:
    """Software may lower a port's target speed (PCIe 6.0, section 7.5.3.19), permanently after a failed retrain.

    Fires if the link runs at the lowered target and both ends support more. A note where `below-both-ends` is one.
    """
    for link, port in real_links(tree):
        device, end = link.device, link.device.link
        most, target = _most(link), _lowered_target(link)
        if end is None or end.lanes is None or most is None or target is None or end.speed_gtps is None:
            continue
        judgement = _enough(link, end) or (_AT_REST if may_rest(tree, device, end) else _FAULT)
        yield Observation(
            severity=judgement.severity,
            sureness=judgement.sureness,
            device=device.slot,
            port=port.slot,
            what=f"the port's target speed is set to {target:g} GT/s; both ends support {most[0]:g} GT/s",
            values=(value(port, "LnkCtl2 target speed", f"{target:g} GT/s"), *_both_ends(port, device)),
            losses=_losses(device, end, most[0], end.lanes),
            remedy="search the kernel's log for failed retraining first: the link may not hold the higher speed; "
            "then raise the target speed and retrain the link",
            commands=retrain(port, most[0]),
        )


@rule("link-down", Symptom.MISSING, confirm="the card trains in another slot, or another card in this one")
def link_down(tree: Tree) -> Iterator[Observation]:
    """A port whose slot holds a card should have a link: PresDet+ and DLActive- contradict each other.

    Judges ports that report both (Slot Implemented, LLActRep+: PCIe 6.0, sections 7.5.3.6 and 7.5.3.11) and
    are awake. Silent if the slot's power is off, or if a device below sleeps in D3cold, which takes the link
    down.
    """
    for port in tree.functions:
        end = port.link
        if not port.is_port or end is None or end.active is not False or not port.card_present or port.slot_off:
            continue
        below = tree.children(port)
        if port.power_state not in (None, "D0") or any(one.power_state == "D3cold" for one in below):
            continue
        lost = f"; {short(below[0].slot)} was there" if below else ""
        yield Observation(
            **judged(Severity.WARNING if end.disabled else Severity.ERROR, Sureness.CERTAIN, port),
            what="a card is present, but software disabled the link"
            if end.disabled
            else f"a card is present, but the link is down: the card does not train{lost}",
            values=(
                value(port, "SltSta PresDet", "+"),
                value(port, "LnkSta DLActive", "-"),
                value(port, "LnkCtl LnkDisable", "+" if end.disabled else "-"),
            ),
            remedy="search the kernel's log for the port's slot; reseat the card, then try another cable, "
            "riser or slot, and check the power of the card; an empty socket of a carrier for several drives "
            "looks the same"
            if not end.disabled
            else "find out what disabled it (a BIOS setting, hot plug, a script); bit 4 of LnkCtl enables "
            "it again",
            command=enable_link(port) if end.disabled else None,
        )


@rule("D02", Symptom.LOST_RATE, confirm="the device reaches its rate in a wider or faster slot")
def port_limits_card(tree: Tree) -> Iterator[Observation]:
    """The device would be faster in another slot: a property of the machine, not a fault."""
    for link, port in real_cards(tree):
        device, end = link.device, link.device.link
        above = port.link
        if end is None or above is None or not above.max_speed_gtps or not above.max_lanes:
            continue
        if not end.max_speed_gtps or not end.max_lanes or not end.speed_gtps or not end.lanes:
            continue
        words = []
        if above.max_speed_gtps < end.max_speed_gtps:
            words.append(f"{above.max_speed_gtps:g} GT/s (the device supports {end.max_speed_gtps:g})")
        if above.max_lanes < end.max_lanes:
            words.append(f"x{above.max_lanes} (the device supports x{end.max_lanes})")
        if words:
            yield Observation(
                **judged(Severity.NOTE, Sureness.CERTAIN, device, port),
                what=f"the port is limited to {' and '.join(words)}",
                values=_both_ends(port, device),
                losses=_losses(device, end, end.max_speed_gtps, end.max_lanes),
                remedy="for the device's full bandwidth, use a slot with more lanes or a later generation",
            )


@rule("D02")
def card_limits_port(tree: Tree) -> Iterator[Observation]:
    """The slot supports a faster device; nothing is wrong. Silent on a device with fewer lanes than its slot."""
    for link, port in real_cards(tree):
        device, end = link.device, link.device.link
        above = port.link
        if end is None or above is None or not above.max_speed_gtps or not end.max_speed_gtps:
            continue
        if end.max_speed_gtps < above.max_speed_gtps and end.lanes:
            yield Observation(
                **judged(Severity.NOTE, Sureness.CERTAIN, device, port),
                what=f"the device is limited to {end.max_speed_gtps:g} GT/s; the port supports "
                f"{above.max_speed_gtps:g}",
                values=_both_ends(port, device),
                remedy="none needed: the slot is faster than this device",
            )


@rule("D02", Symptom.LOST_RATE, confirm="the measured rate is near that of the link that the finding names")
def path_limits_card(tree: Tree) -> Iterator[Observation]:
    """The slowest link up to the root port limits a device, however fast its own link is."""
    for link, _ in real_cards(tree):
        device, end = link.device, link.device.link
        if end is None or end.speed_gtps is None or not end.lanes:
            continue
        own = rate_gbps(end)
        above = [one for one in links_above(tree, link) if one.device.link and one.device.link.is_up]
        slowest = min(above, key=lambda one: rate_gbps(one.device.link), default=None)
        if slowest is None or slowest.device.link is None or rate_gbps(slowest.device.link) >= own:
            continue
        narrow = slowest.device.link
        if narrow.speed_gtps is None or not narrow.lanes or not_judged(tree, slowest):
            continue
        use = use_of(device, end)
        now = use.with_link(narrow.speed_gtps, narrow.lanes) if use else None
        yield Observation(
            **judged(Severity.NOTE, Sureness.CERTAIN, device, slowest.port),
            what=(
                f"its link is {shown(end.speed_gtps, end.lanes)}, but its path to the root crosses "
                f"{short(slowest.device.slot)} at {shown(narrow.speed_gtps, narrow.lanes)}{_limit_above(slowest)}"
            ),
            values=(
                value(device, "LnkSta", shown(end.speed_gtps, end.lanes)),
                value(slowest.device, "LnkSta", shown(narrow.speed_gtps, narrow.lanes)),
            ),
            losses=(loss(now, use, "read"), loss(now, use, "write")) if use and now else (),
            remedy="use a slot nearer to the root, or a switch with a wider or faster uplink",
        )


@rule("on-card-link")
def on_card_link(tree: Tree) -> Iterator[Observation]:
    """Some devices sit behind a switch on their card, and report a nominal link whatever the card does.

    The rows of `library/hardware.csv` name them and the value. The link of the card is that of the switch's
    upstream port. One finding per card, on its first device.
    """
    seen = set[str]()
    for link in tree.links:
        uplink = on_card_uplink(tree, link) if link.device.is_endpoint else None
        if uplink is None or uplink.device.link is None or uplink.device.slot in seen:
            continue
        seen.add(uplink.device.slot)
        end, true = link.device.link, uplink.device.link
        yield Observation(
            **judged(Severity.NOTE, Sureness.CERTAIN, link.device, uplink.device),
            what=(
                f"{shown(end.speed_gtps if end else None, end.lanes if end else None)} is a nominal value "
                f"inside the card, not a slow link: the card's link is that of {short(uplink.device.slot)}, at "
                f"{shown(true.speed_gtps, true.lanes)}{_limit_above(uplink)}"
            ),
            values=(
                value(link.device, "LnkSta", shown(end.speed_gtps if end else None, end.lanes if end else None)),
                value(uplink.device, "LnkSta", shown(true.speed_gtps, true.lanes)),
            ),
            remedy="none needed: judge the card by the link of its upstream port",
        )


@rule("D01")
def port_alone(tree: Tree) -> Iterator[Observation]:
    """A port whose device is not shown says what its link runs at and what it supports itself, and no more.

    Silent where the text shows any link with a device.
    """
    for port in () if tree.links else tree.functions:
        end = port.link
        is_port = port.is_port or port.is_unnamed
        if not is_port or end is None or not end.is_up:
            continue
        now, could = shown(end.speed_gtps, end.lanes), shown(end.max_speed_gtps, end.max_lanes)
        less = "" if now == could else f"; this end supports {could}, and the other may not"
        yield Observation(
            **judged(Severity.NOTE, Sureness.CERTAIN, port),
            what=f"link is running at {now}{less}: without the device below, nothing more can be judged",
            values=(value(port, "LnkCap", could), value(port, "LnkSta", now)),
            remedy="give the output of `sudo lspci -vvv` for the whole machine",
        )


@rule("D01")
def port_not_shown(tree: Tree) -> Iterator[Observation]:
    """The other end of a link decides what is normal: a text of one device, as of `lspci -s SLOT`, lacks it."""
    for link in tree.links if tree.is_selection else ():
        device, end = link.device, link.device.link
        is_device = device.is_endpoint or device.kind is None
        if not is_device or end is None or not end.is_up or not_judged(tree, link):
            continue
        now, could = shown(end.speed_gtps, end.lanes), shown(end.max_speed_gtps, end.max_lanes)
        less = "" if now == could else f"; the device supports {could}, and the port may not"
        yield Observation(
            **judged(Severity.NOTE, Sureness.CERTAIN, device),
            what=f"link is running at {now}{less}: without the port above, the speed, the width, the MPS of "
            "the path, 10-bit tags and relaxed ordering cannot be judged",
            values=(value(device, "LnkCap", could), value(device, "LnkSta", now)),
            remedy="give the output of `sudo lspci -vvv` for the whole machine",
        )


@rule("D25")
def made_up_link(tree: Tree) -> Iterator[Observation]:
    """A link shown by a hypervisor or tunnel does not carry the data, so it is not judged.

    Nor is that of a GPU whose data cross NVLink-C2C. Links inside a chip are left out without a word.
    """
    for link in tree.links:
        if not link.device.is_endpoint:
            continue
        reason = made_up(tree, link)
        if reason is not None and internal(link) is None and on_card_uplink(tree, link) is None:
            yield Observation(
                severity=Severity.NOTE,
                sureness=Sureness.CERTAIN if link.port or tree.host.hypervisor else Sureness.LIKELY,
                device=link.device.slot,
                port=link.port.slot if link.port else None,
                what=f"link not judged: {reason}",
                remedy="run the doctor on the host itself",
            )


@rule(
    "D06",
    Symptom.LOST_RATE,
    confirm="the device is faster in a slot of the processor, or when its neighbours rest",
)
def chipset_slot(tree: Tree) -> Iterator[Observation]:
    """Slots of a chipset share its one link to the processor, which matters to devices that could fill it.

    Chipsets are recognised by the IDs of their ports (`library/hardware.csv`), or by the name of the root port.
    The rate counts that both ends of the device's link support, since it may rest.
    """
    for link, _ in real_cards(tree):
        root, end, most = tree.path(link.device)[-1], link.device.link, _most(link)
        if end is None or most is None or LinkEnd(speed_gtps=most[0], lanes=most[1]).raw_gbps < _FAST_GBPS:
            continue
        chipset = chipset_above(tree, link)
        by_name = any(name in root.title for name in _CHIPSETS)
        if chipset is None and not by_name:
            continue
        port = chipset or root
        fact = known(port).get("chipset_uplink")
        uplink = f" ({fact.value})" if fact is not None else ""
        yield Observation(
            **judged(Severity.NOTE, Sureness.LIKELY, link.device, port),
            what=f"the device is attached to the chipset ({port.name}) and shares the chipset's link{uplink} with "
            "every other device there",
            values=(value(link.device, "LnkSta", shown(end.speed_gtps, end.lanes)),),
            remedy="move fast devices to a slot of the processor",
        )


def _limit_above(link: Link) -> str:
    """What the port above a card's upstream port supports, if that is less than the card."""
    upper, lower = link.port.link if link.port else None, link.device.link
    if upper is None or lower is None or not upper.max_speed_gtps or not lower.max_speed_gtps:
        return ""
    if upper.max_speed_gtps >= lower.max_speed_gtps:
        return ""
    host = "the host's port" if link.port and link.port.kind == "root-port" else "the port above"
    return (
        f"; {host} supports no more than {upper.max_speed_gtps:g} GT/s (generation "
        f"{generation(upper.max_speed_gtps)}), "
        f"the card {lower.max_speed_gtps:g}"
    )


def _is_as_soldered(link: Link, end: LinkEnd) -> bool:
    """Whether the link of a chipset runs as the table says of it."""
    fact = soldered_uplink(link)
    if fact is None or end.speed_gtps is None or not end.lanes:
        return False
    return any(end.speed_gtps >= speed and end.lanes >= lanes for speed, lanes in fact.links)


def shown(speed_gtps: float | None, lanes: int | None) -> str:
    """A link in words: `8 GT/s x8`."""
    speed = "unknown speed" if speed_gtps is None else f"{speed_gtps:g} GT/s"
    return f"{speed} x{'?' if lanes is None else lanes}"


def rate_gbps(end: LinkEnd | None) -> float:
    """Raw bit rate of a link in one direction, after line coding, Gb/s; 0 if it is down."""
    return 0.0 if end is None else end.raw_gbps


def links_above(tree: Tree, link: Link) -> Iterator[Link]:
    """The links between a device's own and the root port."""
    for function in tree.path(link.device)[1:]:
        above = tree.link_of(function)
        if above is not None:
            yield above


def may_rest(tree: Tree, device: Function, end: LinkEnd) -> bool:
    """Whether the device may lower its speed at rest: sleeping devices, displays, and drives at 2.5 GT/s.

    A display may have a switch of its own: then the link of the switch's upstream port rests.
    """
    if device.power_state not in (None, "D0"):
        return True
    inside = [device, *(below for down in tree.children(device) for below in tree.children(down))]
    if any(one.base_class in (_DISPLAY, _ACCELERATOR) for one in inside):
        return True
    return end.speed_gtps == 2.5 and device.base_class == _STORAGE


@dataclass(frozen=True)
class _Judgement:
    """How to report a link that is slower or narrower than both ends support."""

    severity: Severity
    sureness: Sureness
    reason: str = ""
    remedy: str = ""


_FAULT = _Judgement(Severity.ERROR, Sureness.CERTAIN)
_SOLDERED = _Judgement(
    Severity.WARNING,
    Sureness.LIKELY,
    "; it is soldered to the board",
    "look at the speed that the BIOS allows for the chipset's link: nothing there can be reseated",
)
_AT_REST = _Judgement(
    Severity.NOTE,
    Sureness.LOOK_UNDER_LOAD,
    "; this kind of device lowers its speed at rest",
    "read it again while the device is busy; if it stays, look for the causes of a slow link",
)


def _enough(link: Link, end: LinkEnd) -> _Judgement | None:
    """The judgement of a link that carries all that its device can use; None for any other."""
    if not carries_all(link, end):
        return None
    reason = f"; the device needs no more than {needed_raw_gbps(link):.3g} of the link's {end.raw_gbps:.3g} Gb/s"
    return _Judgement(
        Severity.NOTE, Sureness.CERTAIN, reason, "none needed: boards wire few lanes to slow devices"
    )


def _most(link: Link) -> tuple[Speed, int] | None:
    """The highest speed and width that both ends support."""
    upper, lower = link.port.link if link.port else None, link.device.link
    if upper is None or lower is None:
        return None
    if not upper.max_speed_gtps or not lower.max_speed_gtps or not upper.max_lanes or not lower.max_lanes:
        return None
    return min(upper.max_speed_gtps, lower.max_speed_gtps), min(upper.max_lanes, lower.max_lanes)


def _lowered_target(link: Link) -> Speed | None:
    """The port's target speed, if it explains why the link is slower than both ends."""
    upper, lower, most = link.port.link if link.port else None, link.device.link, _most(link)
    if upper is None or lower is None or most is None or upper.target_speed_gtps is None:
        return None
    explains = upper.target_speed_gtps < most[0] and lower.speed_gtps == upper.target_speed_gtps
    return upper.target_speed_gtps if explains else None


def _losses(device: Function, end: LinkEnd, speed: Speed, lanes: int) -> tuple[Loss, ...]:
    now = use_of(device, end)
    if now is None:
        return ()
    could = now.with_link(speed, lanes)
    return loss(now, could, "read"), loss(now, could, "write")


def _both_ends(port: Function, device: Function) -> tuple[Value, ...]:
    found = []
    for function in (port, device):
        end = function.link
        if end is not None:
            found.append(value(function, "LnkCap", shown(end.max_speed_gtps, end.max_lanes)))
    end = device.link
    if end is not None:
        found.append(value(device, "LnkSta", shown(end.speed_gtps, end.lanes)))
    return tuple(found)
