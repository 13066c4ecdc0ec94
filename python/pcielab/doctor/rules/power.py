"""Rules about low-power states of links, devices and processors."""

from collections.abc import Iterator

from pcielab.doctor.finding import Observation, Severity, Sureness, Symptom
from pcielab.doctor.hardware import known
from pcielab.doctor.real_links import not_judged, real_cards
from pcielab.doctor.register_writes import switch_aspm_off, switch_aspm_off_at_both_ends
from pcielab.doctor.rules.link import links_above, rate_gbps
from pcielab.doctor.rules.rule import judged, rule, value
from pcielab.doctor.signs import link_errors
from pcielab.doctor.slots import short
from pcielab.doctor.tree import Link, Tree

_MEASURED = (0x02, 0x12)
"""Classes that suffer from a link that sleeps between packets: network cards and accelerators."""
_WIRED = (0x0200, 0x0207)
_WIRELESS = 0x0280
_MENTIONED_FROM_GBPS = 16.0
_DEEP_EXIT_US = 50.0


@rule(
    "D08",
    Symptom.LATENCY,
    Symptom.LOST_RATE,
    Symptom.HANG,
    confirm="the same measurement with pcie_aspm=off on the kernel's command line",
)
def aspm_on(tree: Tree) -> Iterator[Observation]:
    """A sleeping link has to wake for the next TLP (ASPM: PCIe 6.0, sections 5.4.1 and 7.5.3.7).

    Judges every link of the path to the root; each end gives its longest exit latency, and the longer one counts.
    Wired network cards and accelerators get a warning at any rate, and so does a device whose driver gave it up,
    by the kernel's log. Drives and displays get a note from 16 Gb/s on. Silent on wireless cards, which are meant
    to save power, and where `errors-with-aspm` fires.
    """
    for link, port in real_cards(tree):
        device, end = link.device, link.device.link
        asleep = [one for one in (link, *links_above(tree, link)) if aspm_of(one) and not not_judged(tree, one)]
        if end is None or not asleep or device.class_code == _WIRELESS or any(map(_has_errors, asleep)):
            continue
        is_measured = device.base_class in _MEASURED and (device.class_code in _WIRED or device.base_class != 0x02)
        stopped = any(
            event.kind in ("device-stopped", "off-bus") and event.slot == device.slot for event in tree.log
        )
        if not is_measured and not stopped and (link not in asleep or rate_gbps(end) < _MENTIONED_FROM_GBPS):
            continue
        own, others = aspm_of(link), [one for one in asleep if one is not link]
        exits = [latency for one in asleep if (latency := exit_ns(one, aspm_of(one))) is not None]
        report = known(device).get("report")
        told = (f"known of this device: {report.note}",) if report is not None and "aspm" in report.value else ()
        yield Observation(
            **judged(Severity.WARNING if is_measured or stopped else Severity.NOTE, Sureness.LIKELY, device, port),
            what="; ".join((_what(own, others) + _substates(link), *told)),
            explained=told,
            values=tuple(value(one.device, "LnkCtl ASPM", " ".join(aspm_of(one))) for one in asleep),
            added_latency_ns=sum(exits) if exits else None,
            remedy=how_to_switch_off(device.slot),
            command=switch_aspm_off(device) if own else None,
            commands=tuple(
                line
                for one in asleep
                if one.port
                for line in switch_aspm_off_at_both_ends(one.port, one.functions)
            ),
        )


@rule("D08", Symptom.ERRORS, Symptom.HANG, confirm="the two registers after a change of the kernel's ASPM policy")
def aspm_ends_differ(tree: Tree) -> Iterator[Observation]:
    """L1 substates and the common clock have to be set alike at both ends (PCIe 6.0, sections 5.5.4 and 7.5.3.7).

    With ASPM on and a difference, one end waits for a signal that the other does not give, or takes the wrong exit
    latency.
    """
    for link in tree.links:
        port, device = link.port, link.device
        if port is None or not aspm_of(link) or not_judged(tree, link) or port.link is None or device.link is None:
            continue
        for name, upper, lower in (
            ("L1SubCtl1", _words(port.link.l1_substates), _words(device.link.l1_substates)),
            ("LnkCtl CommClk", _sign(port.link.common_clock), _sign(device.link.common_clock)),
        ):
            if upper is not None and lower is not None and upper != lower:
                yield Observation(
                    **judged(Severity.WARNING, Sureness.LIKELY, device, port),
                    what=f"ASPM is on, and the ends of the link are set differently ({name})",
                    values=(value(port, name, upper), value(device, name, lower)),
                    remedy=f"{how_to_switch_off(device.slot)}; then look for a BIOS update",
                )


@rule("D08", Symptom.HANG, Symptom.LATENCY, confirm="the same with pcie_aspm.policy=performance")
def substates_without_ltr(tree: Tree) -> Iterator[Observation]:
    """ASPM L1.2 relies on the latency that the device reports (LTR: PCIe 6.0, sections 5.5 and 6.18).

    Fires if L1.2 is on and LTR is off at the device or at a port above it that supports it.
    """
    for link, port in real_cards(tree):
        end, control = link.device.link, link.device.control
        if end is None or control is None or "ASPM L1.2" not in (end.l1_substates or ()) or not aspm_of(link):
            continue
        off = [one for one in tree.path(link.device) if one.control is not None and one.control.ltr is False]
        if off:
            yield Observation(
                **judged(Severity.NOTE, Sureness.LIKELY, link.device, port),
                what=f"L1.2 is on, but latency tolerance reporting is off at "
                f"{', '.join(short(one.slot) for one in off)}",
                values=tuple(value(one, "DevCtl2 LTR", "-") for one in off),
                remedy="if the device stops or wakes late, boot with pcie_aspm.policy=performance",
            )


def aspm_of(link: Link) -> tuple[str, ...]:
    """The states that a link may enter by itself: those that are on at both ends, or at the one that is shown."""
    ends = [one.link.aspm_enabled for one in (link.port, link.device) if one is not None and one.link is not None]
    states = [on for on in ends if on is not None]
    return tuple(state for state in states[0] if all(state in on for on in states)) if states else ()


def exit_ns(link: Link, states: tuple[str, ...]) -> float | None:
    """The longer of both ends' latencies to leave the deepest state, ns; None if neither gives one."""
    deepest = "l1_exit_ns" if "L1" in states else "l0s_exit_ns"
    ends = [one.link for one in (link.port, link.device) if one is not None and one.link is not None]
    return max((exit_ns for end in ends if (exit_ns := getattr(end, deepest)) is not None), default=None)


def how_to_switch_off(slot: str) -> str:
    """How to try a machine without ASPM, for all links and for one."""
    return (
        "boot once with pcie_aspm=off or pcie_aspm.policy=performance; for this link alone, write 0 to "
        f"/sys/bus/pci/devices/{slot}/link/l1_aspm"
    )


def _what(own: tuple[str, ...], others: list[Link]) -> str:
    above = ", ".join(f"{short(one.device.slot)} ({' and '.join(aspm_of(one))})" for one in others)
    if not own:
        return f"ASPM lets a link above sleep between packets: {above}"
    return f"ASPM lets the link enter {' and '.join(own)} between packets" + (
        f"; above it, {above}" if above else ""
    )


def _substates(link: Link) -> str:
    on = [name for name in ((link.device.link.l1_substates if link.device.link else None) or ()) if "ASPM" in name]
    return f", with substates {' and '.join(name.removeprefix('ASPM ') for name in on)}" if on else ""


def _has_errors(link: Link) -> bool:
    return any(link_errors(one) for one in (link.port, *link.functions) if one is not None)


def _words(names: tuple[str, ...] | None) -> str | None:
    return None if names is None else " ".join(names) or "none"


def _sign(flag: bool | None) -> str | None:
    return None if flag is None else "+" if flag else "-"


@rule("D09", Symptom.LATENCY)
def asleep(tree: Tree) -> Iterator[Observation]:
    """In D3 a function answers configuration requests at most; its link may be down (PCIe 6.0, 5.3.1.4)."""
    for function in tree.functions:
        if function.kind not in ("endpoint", "legacy-endpoint", None) or function.is_virtual_function:
            continue
        if function.power_state in ("D3hot", "D3cold") and function.driver:
            yield Observation(
                **judged(Severity.NOTE, Sureness.LOOK_UNDER_LOAD, function),
                what=f"the device sleeps ({function.power_state}): its registers say little now",
                values=(value(function, "power state", function.power_state),),
                remedy="use the device and run the doctor again; echo on > power/control keeps it awake",
            )


@rule("D34", Symptom.LATENCY)
def deep_idle(tree: Tree) -> Iterator[Observation]:
    """Cores in deep idle states answer interrupts late, and some machines slow their uncore with them."""
    name, exit_us = tree.host.deepest_idle, tree.host.deepest_idle_exit_us
    if name is not None and exit_us is not None and exit_us >= _DEEP_EXIT_US:
        yield Observation(
            **judged(Severity.NOTE, Sureness.LIKELY, None),
            what=f"processors may enter {name}, which takes {exit_us:g} us to leave",
            values=(value(None, "cpuidle deepest state", name),),
            added_latency_ns=exit_us * 1000,
            remedy="for latencies at low load: cpupower idle-set --disable-by-latency 10, or /dev/cpu_dma_latency",
        )


@rule("D34", Symptom.LATENCY)
def slow_governor(tree: Tree) -> Iterator[Observation]:
    """A low core clock slows all work per packet."""
    governor = tree.host.governor
    if governor is not None and governor != "performance":
        yield Observation(
            **judged(Severity.NOTE, Sureness.LIKELY, None),
            what=f"the frequency governor is {governor}, not performance",
            values=(value(None, "scaling_governor", governor),),
            remedy="for measurements: cpupower frequency-set --governor performance",
        )
