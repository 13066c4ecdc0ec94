"""Rules about known faults of hardware, from the table of IDs; each needs its condition met."""

from collections.abc import Iterator

from pcielab.doctor.finding import Observation, Severity, Sureness, Symptom, Value
from pcielab.doctor.hardware import known
from pcielab.doctor.real_links import real_cards, real_links
from pcielab.doctor.rules.rule import judged, rule, value
from pcielab.doctor.tree import Function, Tree
from pcielab.library.hardware import Fact


@rule(
    "erratum",
    Symptom.ERRORS,
    Symptom.LOST_RATE,
    Symptom.HANG,
    confirm="the fault goes away with the setting changed",
)
def known_fault(tree: Tree) -> Iterator[Observation]:
    """A device with a published fault, set as the fault needs it (`library/hardware.csv`).

    ASPM on where the device must not use it, an MPS or MRRS above what it handles, ACS redirection in switches
    that then block packets, a link below both ends at a port that is known for it. One finding per link and fault.
    Facts of general knowledge make none.
    """
    for link, port in real_links(tree):
        met = [(one, fact, shown) for one in (*link.functions, port) for fact, shown in _met(tree, one)]
        first = {fact: (one, shown) for one, fact, shown in reversed(met)}
        for fact, (function, shown) in first.items():
            if fact.is_read:
                yield Observation(
                    **judged(Severity.WARNING, Sureness.LIKELY, function),
                    what=f"{fact.name} has a known fault with this setting: {fact.note}",
                    values=(shown, value(None, "source", fact.source.removeprefix("(s) "))),
                    remedy="change the setting, or use a kernel that works around it; then see whether the "
                    "symptom is gone",
                )


@rule(
    "D28",
    Symptom.PEER_TO_PEER,
    confirm="p2pBandwidthLatencyTest prints 0 for the pair, or copies go through host memory",
)
def no_peer_to_peer(tree: Tree) -> Iterator[Observation]:
    """Some GPUs refuse peer-to-peer by their driver, whatever the fabric allows (`library/hardware.csv`)."""
    refusing = [link.device for link, _ in real_cards(tree) if "no_p2p" in known(link.device)]
    if len(refusing) < 2:
        return
    first, fact = refusing[0], known(refusing[0])["no_p2p"]
    yield Observation(
        **judged(Severity.NOTE, Sureness.LIKELY, first),
        what=f"{len(refusing)} devices do not copy to each other directly: {fact.note or fact.value}",
        values=tuple(value(one, "device", one.name) for one in refusing),
        remedy="none in software that its maker supports: copies go through the host's memory",
    )


def _met(tree: Tree, function: Function) -> Iterator[tuple[Fact, Value]]:
    """The faults of a function whose condition its registers meet, with the register."""
    facts, control, end = known(function), function.control, function.link
    if (fact := facts.get("erratum_aspm")) and end is not None and end.aspm_enabled:
        hit = [state for state in end.aspm_enabled if state in fact.value]
        if hit:
            yield fact, value(function, "LnkCtl ASPM", " ".join(hit))
    for name, register, size in (
        ("erratum_mps", "DevCtl MaxPayload", control.mps_bytes if control else None),
        ("erratum_mrrs", "DevCtl MaxReadReq", control.mrrs_bytes if control else None),
    ):
        if (fact := facts.get(name)) and fact.value.isdecimal() and size is not None and size > int(fact.value):
            yield fact, value(function, register, f"{size} B")
    if (fact := facts.get("erratum_acs")) and _redirects(function) and fact.value == "rr_needs_store_forward":
        yield fact, value(function, "ACSCtl", "ReqRedir+")
    if (fact := facts.get("erratum_retrain")) and fact.value == "speed_flapping" and _is_slow(tree, function):
        yield fact, value(function, "LnkSta", f"{end.speed_gtps:g} GT/s" if end and end.speed_gtps else "down")


def _redirects(function: Function) -> bool:
    return "ReqRedir" in (function.acs_enabled or ())


def _is_slow(tree: Tree, function: Function) -> bool:
    """Whether a port's link is at 2.5 GT/s though both its ends support more."""
    below = [one.link for one in tree.children(function) if one.link is not None]
    end = function.link
    if end is None or end.speed_gtps != 2.5 or not below:
        return False
    return all((one.max_speed_gtps or 0) > 2.5 for one in (end, *below))
