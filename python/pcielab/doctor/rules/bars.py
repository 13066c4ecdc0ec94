"""Rules about memory that devices offer."""

import re
from collections.abc import Iterator

from pcielab.doctor.finding import Observation, Severity, Sureness, Symptom
from pcielab.doctor.hardware import on_card_uplink
from pcielab.doctor.real_links import cards
from pcielab.doctor.rules.rule import judged, rule, value
from pcielab.doctor.tree import Link, LogEvent, Tree
from pcielab.wording import byte_size

_DISPLAY, _ACCELERATOR, _CXL_MEMORY = 0x03, 0x12, 0x0502
_MOST_LINES = 4
_MORE_SPACE = (
    "switch on Above 4G Decoding in the BIOS, and Resizable BAR off if it fails only with it; boot with "
    "pci=realloc; after a "
    "kernel update, try the kernel before"
)


@rule("D36", Symptom.PEER_TO_PEER, Symptom.LOST_RATE, confirm="the size of the BAR after the BIOS setting is on")
def bar_not_resized(tree: Tree) -> Iterator[Observation]:
    """Hosts and peers reach a device's memory only through its BAR (Resizable BAR: PCIe 6.0, section 7.8.6).

    Judges displays and accelerators by the BAR with the largest possible size; the others are for registers.
    """
    for link in (*cards(tree), *_inside_cards(tree)):
        device, port = link.device, link.port
        largest = max(device.resizable_bars, key=lambda bar: bar.largest_bytes, default=None)
        if largest is None or device.base_class not in (_DISPLAY, _ACCELERATOR):
            continue
        if largest.size_bytes < largest.largest_bytes:
            now, could = byte_size(largest.size_bytes), byte_size(largest.largest_bytes)
            yield Observation(
                **judged(Severity.WARNING, Sureness.LIKELY, device, port),
                what=f"BAR {largest.bar} maps {now} of the device's memory; it can map {could}",
                values=(value(device, f"ReBAR BAR {largest.bar}", f"{now} of {could}"),),
                remedy="switch on Above 4G Decoding and Resizable BAR in the BIOS; every bridge above needs a "
                "window of that size",
            )


@rule(
    "bar-space",
    Symptom.MISSING,
    Symptom.HANG,
    confirm="/proc/iomem, and `lspci -vvv` of the device: a BAR without an address",
)
def bar_without_space(tree: Tree) -> Iterator[Observation]:
    """A BAR without an address does not work; a bridge's window has to hold those of all devices below it.

    By the kernel's log, an error for a BAR, for a window that the kernel could not claim again, or where a driver
    reports it. A note for windows of bridges alone, of which the kernel tries several sizes. A warning for a BAR
    that lspci shows without an address, which may be one that nothing uses.
    """
    for function in tree.functions:
        if function.unassigned_bars and tree.link_of(function) is not None:
            bars = ", ".join(map(str, function.unassigned_bars))
            yield Observation(
                **judged(Severity.WARNING, Sureness.CERTAIN, function, tree.parent(function)),
                what=f"BAR {bars} has no address: its registers or memory cannot be reached",
                values=tuple(value(function, f"Region {bar}", "<unassigned>") for bar in function.unassigned_bars),
                remedy=_MORE_SPACE,
            )
    events = [event for event in tree.log if event.kind == "no-space"]
    if not events:
        return
    serious = [event for event in events if _is_of_a_bar(event)]
    first = next((event for event in (*serious, *events) if event.slot is not None), events[0])
    fields = judged(Severity.ERROR if serious else Severity.NOTE, Sureness.CERTAIN, None)
    yield Observation(
        **fields | {"device": first.slot},
        what="the kernel's log says that a BAR or the window of a bridge has no address space",
        values=tuple(
            value(None, f"log, line {event.line}", event.text) for event in (serious or events)[:_MOST_LINES]
        ),
        remedy=_MORE_SPACE,
    )


def _is_of_a_bar(event: LogEvent) -> bool:
    """Whether a line is about a BAR, or a window that was there before."""
    return re.search(r"\bBAR [0-5]\b|can't claim|Not enough PCI", event.text) is not None


def _inside_cards(tree: Tree) -> Iterator[Link]:
    """The links of devices inside cards with a switch, which are not judged themselves."""
    return (link for link in tree.links if link.device.is_endpoint and on_card_uplink(tree, link) is not None)


@rule("D45")
def cxl_memory(tree: Tree) -> Iterator[Observation]:
    """A CXL memory expander is slower than DRAM: one-to-one interleaving slows all memory down."""
    for function in tree.functions:
        if function.class_code == _CXL_MEMORY or "Mem" in function.cxl_protocols:
            yield Observation(
                **judged(Severity.NOTE, Sureness.LIKELY, function),
                what="this CXL memory device is slower than DRAM",
                values=(value(function, "CXL", " ".join(function.cxl_protocols) or "class 0502"),),
                remedy="find its node with numactl --hardware; interleave pages by bandwidth, not one to one",
            )
