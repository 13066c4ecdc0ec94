"""Rules about relaxed ordering: where it is missing, and where it harms."""

from collections.abc import Iterator

from pcielab.doctor.finding import Observation, Severity, Sureness, Symptom
from pcielab.doctor.real_links import real_cards
from pcielab.doctor.register_writes import set_relaxed_ordering
from pcielab.doctor.rules.rule import judged, rule, value
from pcielab.doctor.tree import Function, Tree

_INTEL = 0x8086
_HARMED = (*range(0x6F01, 0x6F0F), *range(0x2F01, 0x2F0F))
"""Root ports of Haswell and Broadwell, for which Linux switches it off (`quirk_relaxedordering_disable`)."""
_NETWORK, _ACCELERATOR = 0x02, 0x12
_MISSED_FROM_GTPS = 16.0


@rule("D13", Symptom.LOST_RATE)
def relaxed_ordering_off(tree: Tree) -> Iterator[Observation]:
    """Only a request marked as relaxed may pass an earlier one (PCIe 6.0, sections 2.4.1 and 7.5.3.4).

    Writes of network cards suffer where the root complex keeps strict order over many memory controllers. It was
    measured only on hosts with ports of 16 GT/s and more, so slower ports are not judged. The bit only allows
    relaxed ordering: the driver has to use it, too.
    """
    for link, _ in real_cards(tree):
        root = tree.path(link.device)[-1]
        fast = root.link is not None and (root.link.max_speed_gtps or 0) >= _MISSED_FROM_GTPS
        ordered = [
            function
            for function in link.functions
            if function.control is not None
            and function.control.relaxed_ordering is False
            and function.base_class in (_NETWORK, _ACCELERATOR)
        ]
        if not ordered or not fast or _is_harmed(root):
            continue
        yield Observation(
            **judged(Severity.WARNING, Sureness.LIKELY, ordered[0], link.port),
            what="relaxed ordering is off: its writes to memory stay in order",
            values=(value(ordered[0], "DevCtl RlxdOrd", "-"),),
            remedy="allow it for bulk data, but not for flags that announce data (DevCtl bit 4; for RDMA also "
            "the firmware's PCI_WR_ORDERING and the memory region's flag); then measure",
            command=set_relaxed_ordering(ordered, on=True),
        )


@rule("D14", Symptom.LOST_RATE, Symptom.LATENCY)
def relaxed_ordering_harmful(tree: Tree) -> Iterator[Observation]:
    """Root ports of Haswell and Broadwell servers handle relaxed requests badly; Linux clears the bit below them.

    They are recognised by their IDs only, which a text without `-nn` lacks.
    """
    for link, _ in real_cards(tree):
        root, device = tree.path(link.device)[-1], link.device
        if _is_harmed(root) and device.control and device.control.relaxed_ordering:
            yield Observation(
                **judged(Severity.WARNING, Sureness.LIKELY, device, root),
                what="relaxed ordering is on below a root port that handles it badly",
                values=(value(device, "DevCtl RlxdOrd", "+"), value(root, "device ID", f"{root.device_id:04x}")),
                remedy="clear bit 4 of DevCtl, or use a kernel that does (Linux 4.13 and later)",
                command=set_relaxed_ordering([device], on=False),
            )


def _is_harmed(root: Function) -> bool:
    return root.vendor_id == _INTEL and root.device_id in _HARMED
