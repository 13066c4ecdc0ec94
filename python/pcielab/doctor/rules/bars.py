"""Rules about memory that devices offer."""

from collections.abc import Iterator

from pcielab.doctor.finding import Observation, Severity, Sureness
from pcielab.doctor.real_links import cards
from pcielab.doctor.rules.rule import judged, rule, value
from pcielab.doctor.tree import Tree
from pcielab.wording import byte_size

_DISPLAY, _ACCELERATOR, _CXL_MEMORY = 0x03, 0x12, 0x0502


@rule("D36")
def bar_not_resized(tree: Tree) -> Iterator[Observation]:
    """Hosts and peers reach a device's memory only through its BAR (Resizable BAR: PCIe 6.0, section 7.8.6).

    Judges displays and accelerators by the BAR with the largest possible size; the others are for registers.
    """
    for link in cards(tree):
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
