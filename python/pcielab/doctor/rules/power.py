"""Rules about low-power states of links, devices and processors."""

from collections.abc import Iterator

from pcielab.doctor.finding import Observation, Severity, Sureness
from pcielab.doctor.real_links import real_cards
from pcielab.doctor.register_writes import switch_aspm_off
from pcielab.doctor.rules.link import rate_gbps
from pcielab.doctor.rules.rule import judged, rule, value
from pcielab.doctor.tree import Tree

_MEASURED = (0x02, 0x12)
"""Classes that suffer from a link that sleeps between packets: network cards and accelerators."""
_WIRELESS = 0x0280
_MENTIONED_FROM_GBPS = 16.0
_DEEP_EXIT_US = 50.0


@rule("D08")
def aspm_on(tree: Tree) -> Iterator[Observation]:
    """A sleeping link has to wake for the next TLP (ASPM: PCIe 6.0, sections 5.4.1 and 7.5.3.7).

    Each end gives its longest exit latency; the longer one counts. Network cards and accelerators get a warning,
    drives and displays a note. Silent on links under 16 Gb/s and wireless cards, which are meant to save power.
    """
    for link, port in real_cards(tree):
        device, end, upper = link.device, link.device.link, port.link
        if end is None or not end.aspm_enabled or rate_gbps(end) < _MENTIONED_FROM_GBPS:
            continue
        if device.class_code == _WIRELESS or (upper is not None and upper.aspm_enabled == ()):
            continue
        deepest = "l1_exit_ns" if "L1" in end.aspm_enabled else "l0s_exit_ns"
        exits = [getattr(one, deepest) for one in (end, upper) if one is not None and getattr(one, deepest)]
        measured = device.base_class in _MEASURED
        yield Observation(
            **judged(Severity.WARNING if measured else Severity.NOTE, Sureness.LIKELY, device, port),
            what=f"ASPM lets the link enter {' and '.join(end.aspm_enabled)} between packets",
            values=(value(device, "LnkCtl ASPM", " ".join(end.aspm_enabled)),),
            added_latency_ns=max(exits, default=None),
            remedy="for measurements, boot with pcie_aspm.policy=performance, or write 0 to "
            f"/sys/bus/pci/devices/{device.slot}/link/l1_aspm",
            command=switch_aspm_off(device),
        )


@rule("D09")
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


@rule("D34")
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


@rule("D34")
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
