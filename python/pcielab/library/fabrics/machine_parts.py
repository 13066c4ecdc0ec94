"""The nodes of a fabric, and what its file may say about one as a part of a machine.

`pcielab fabric from` writes the parts. Estimators and simulator need none of them. Paths and placements do: they
look for stacks and sockets between two devices, and for settings that keep them from exchanging data directly.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pcielab.library.fabrics.parts import NodeKind

PartKind: TypeAlias = Literal["sockets", "socket", "memory", "stack", "root-port", "switch", "device"]
DeviceKind: TypeAlias = Literal["gpu", "nic", "nvme", "storage", "accelerator", "fpga", "cxl", "device"]


@dataclass(frozen=True)
class MachinePart:
    """A node as a part of a machine; the keys are those of fabric files. None: the value was not read."""

    part: PartKind
    kind: DeviceKind | None
    slot: str | None
    numa_node: int | None
    mps_bytes: int | None
    mrrs_bytes: int | None
    relaxed_ordering: bool | None
    ats: bool | None
    iommu: str | None
    port: str | None
    redirects: bool | None


@dataclass(frozen=True)
class Node:
    """A node of the tree; `host` and `device` name its kind of server or device."""

    name: str
    kind: NodeKind
    host: str | None
    device: str | None
    machine: MachinePart | None
