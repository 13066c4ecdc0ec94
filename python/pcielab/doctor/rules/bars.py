"""Rules about memory that devices offer."""

from collections.abc import Iterator

from pcielab.doctor.finding import Observation, Severity, Sureness
from pcielab.doctor.real_links import real_cards
from pcielab.doctor.rules.rule import rule, value
from pcielab.doctor.tree import Tree

_DISPLAY, _ACCELERATOR, _CXL_MEMORY = 0x03, 0x12, 0x0502
_MIB = 1 << 20


@rule("D36")
def bar_not_resized(tree: Tree) -> Iterator[Observation]:
    """A card's memory can be reached by others only through its BAR (Resizable BAR: PCIe 6.0, section 7.8.6).

    Displays and accelerators are judged, by the BAR that can become the largest; the others are for registers.
    """
    for link, port in real_cards(tree):
        device = link.device
        largest = max(device.resizable_bars, key=lambda bar: bar.largest_bytes, default=None)
        if largest is None or device.base_class not in (_DISPLAY, _ACCELERATOR):
            continue
        if largest.size_bytes < largest.largest_bytes:
            now, could = largest.size_bytes // _MIB, largest.largest_bytes // _MIB
            yield Observation(
                severity=Severity.NOTABLE,
                sureness=Sureness.LIKELY,
                device=device.slot,
                port=port.slot,
                what=f"BAR {largest.bar} shows {now} MiB of its memory, and could show {could} MiB",
                values=(value(device, f"ReBAR BAR {largest.bar}", f"{now} MiB of {could} MiB"),),
                remedy="Above 4G Decoding and Resizable BAR in the BIOS; every bridge above needs a window as "
                "large",
            )


@rule("D45")
def cxl_memory(tree: Tree) -> Iterator[Observation]:
    """A CXL memory expander is slower than DRAM: interleaved one to one it slows all memory down."""
    for function in tree.functions:
        if function.class_code == _CXL_MEMORY or "Mem" in function.cxl_protocols:
            yield Observation(
                severity=Severity.TOLD,
                sureness=Sureness.LIKELY,
                device=function.slot,
                what="it is a CXL memory device: its memory is slower than DRAM, and how both are mixed matters",
                values=(value(function, "CXL", " ".join(function.cxl_protocols) or "class 0502"),),
                remedy="numactl --hardware shows its node; use weighted interleaving by bandwidth, not one to one",
            )
