"""Rules about the host: nodes, interrupts, address translation."""

from collections.abc import Iterator

from pcielab.doctor.finding import Observation, Severity, Sureness, Symptom
from pcielab.doctor.real_links import real_cards
from pcielab.doctor.rules.link import rate_gbps
from pcielab.doctor.rules.rule import judged, on_edge, rule, value
from pcielab.doctor.topology import edges
from pcielab.doctor.tree import Function, Tree

_MENTIONED_FROM_GBPS = 16.0
_VFIO = "vfio-pci"


@rule("D25", Symptom.LATENCY, Symptom.LOST_RATE)
def node_unknown(tree: Tree) -> Iterator[Observation]:
    """With several nodes, software pins buffers and threads to the node that the firmware gives (_PXM)."""
    nodes = tree.host.nodes
    if nodes is None or len(nodes) < 2:
        return
    names = edges(tree)
    for function in _fast(tree):
        if function.numa_node == -1:
            yield Observation(
                **judged(Severity.WARNING, Sureness.CERTAIN, function),
                what=f"the firmware does not say to which of the {len(nodes)} NUMA nodes the device is attached",
                values=(value(function, "numa_node", -1), *on_edge(names, function)),
                remedy="find the node by latency and pin threads and buffers to it; echo N > numa_node sets it "
                "until the next boot; a BIOS update may add _PXM",
            )


@rule("D24", Symptom.LATENCY, Symptom.LOST_RATE)
def node_without_memory(tree: Tree) -> Iterator[Observation]:
    """A device whose node has no memory has every buffer on another node."""
    memory, names = tree.host.memory_nodes, edges(tree)
    for function in _fast(tree):
        if (
            memory
            and function.numa_node is not None
            and function.numa_node >= 0
            and function.numa_node not in memory
        ):
            yield Observation(
                **judged(Severity.WARNING, Sureness.CERTAIN, function),
                what=f"NUMA node {function.numa_node} of the device has no memory: every buffer is remote",
                values=(
                    value(function, "numa_node", function.numa_node),
                    value(None, "has_memory", _listed(memory)),
                    *on_edge(names, function),
                ),
                remedy="add memory modules to that socket, or move the device to another socket's slot",
            )


@rule("D24", Symptom.LATENCY, Symptom.LOST_RATE)
def interrupts_elsewhere(tree: Tree) -> Iterator[Observation]:
    """Handlers of interrupts on another node access the device and its rings across sockets."""
    names = edges(tree)
    for function in _fast(tree):
        served, node = function.interrupt_nodes, function.numa_node
        if served and node is not None and node >= 0 and node not in served:
            yield Observation(
                **judged(Severity.WARNING, Sureness.CERTAIN, function),
                what=f"the device is on node {node}, but its interrupts run on node {_listed(served)}",
                values=(
                    value(function, "numa_node", node),
                    value(function, "interrupts on node", _listed(served)),
                    *on_edge(names, function),
                ),
                remedy="set /proc/irq/N/smp_affinity_list to processors of its node, and stop irqbalance from "
                "undoing it",
            )


@rule("D19", Symptom.LOST_RATE)
def iommu_strict(tree: Tree) -> Iterator[Observation]:
    """With strict invalidation each unmapping of a buffer waits for the IOMMU; lazy mode batches invalidations.

    The type of the IOMMU group shows the mode: `DMA` is strict, `DMA-FQ` is lazy.
    """
    for function in _fast(tree):
        if function.iommu_type == "DMA" and function.driver not in (None, _VFIO):
            yield Observation(
                **judged(Severity.WARNING, Sureness.LIKELY, function),
                what="the IOMMU translates its addresses with strict invalidation",
                values=(value(function, "iommu_group/type", "DMA"),),
                remedy="if you trust the device, boot with iommu.strict=0 (lazy) or iommu.passthrough=1; a driver "
                "that maps its buffers once loses nothing",
            )


@rule("D22", Symptom.LOST_RATE)
def iommu_small_pages(tree: Tree) -> Iterator[Observation]:
    """With 4 KiB pages, an IOMMU needs 512 times as many IO-TLB entries as with 2 MiB pages."""
    if tree.host.iommu_pages == "four-kib-pages":
        yield Observation(
            **judged(Severity.WARNING, Sureness.CERTAIN, None),
            what="the IOMMU maps 4 KiB pages only: a window of a few hundred KiB exceeds the IO-TLB",
            values=(value(None, "IOMMU pages", "4 KiB"),),
            remedy="remove sp_off from intel_iommu= on the kernel's command line, or use passthrough",
        )


@rule("D21", Symptom.LOST_RATE)
def passthrough_not_in_effect(tree: Tree) -> Iterator[Observation]:
    """`iommu=pt` asks for passthrough; the kernel ignores the unknown `amd_iommu=pt` with a warning."""
    line = tree.host.command_line or {}
    if line.get("amd_iommu") == "pt" and line.get("iommu") != "pt":
        yield Observation(
            **judged(Severity.WARNING, Sureness.CERTAIN, None),
            what="the kernel ignores amd_iommu=pt on its command line: passthrough is off",
            values=(value(None, "command line", "amd_iommu=pt"),),
            remedy="boot with iommu=pt or iommu.passthrough=1",
        )
    if line.get("iommu") != "pt" and line.get("iommu.passthrough") not in ("1", "on", "y"):
        return
    for function in _fast(tree):
        if function.iommu_type in ("DMA", "DMA-FQ") and function.driver != _VFIO:
            yield Observation(
                **judged(Severity.WARNING, Sureness.CERTAIN, function),
                what="the command line asks for passthrough, but the IOMMU translates the device's addresses",
                values=(value(function, "iommu_group/type", function.iommu_type),),
                remedy="search the kernel's log for `Default domain type`; the kernel always translates untrusted "
                "devices",
            )


@rule("vfio")
def vfio_without_iommu(tree: Tree) -> Iterator[Observation]:
    """VFIO protects memory through the IOMMU (Linux, Documentation/driver-api/vfio.rst): it needs one."""
    for function in tree.functions:
        if function.driver == _VFIO and function.iommu_group is None and tree.host.iommu_units == 0:
            yield Observation(
                **judged(Severity.WARNING, Sureness.CERTAIN, function),
                what="the device is bound to vfio-pci without an IOMMU: VFIO refuses it or protects nothing",
                values=(value(function, "driver", _VFIO), value(None, "/sys/class/iommu", "empty")),
                remedy="switch on VT-d, AMD-Vi or the SMMU in the BIOS (on Intel, also boot with intel_iommu=on)",
            )


def _fast(tree: Tree) -> Iterator[Function]:
    """One function of each device whose link is fast enough for the host to matter."""
    for link, _ in real_cards(tree):
        if rate_gbps(link.device.link) >= _MENTIONED_FROM_GBPS:
            yield link.device


def _listed(nodes: tuple[int, ...]) -> str:
    return ", ".join(map(str, nodes))
