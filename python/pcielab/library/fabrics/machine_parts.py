"""What a fabric file may say about a node as a part of a machine; `pcielab fabric from` writes it.

Estimators and simulator need none of it. Paths and placements do: they look for stacks and sockets between two
devices, and for settings that keep them from exchanging data directly.
"""

from typing import Annotated, Literal, TypeAlias

from pcielab.library.profiles.part import WHOLE, Fits, Part

PartKind: TypeAlias = Literal["sockets", "socket", "memory", "stack", "root-port", "switch", "device"]
DeviceKind: TypeAlias = Literal["gpu", "nic", "nvme", "storage", "accelerator", "fpga", "cxl", "device"]
PayloadBytes: TypeAlias = Annotated[Literal[128, 256, 512, 1024, 2048, 4096], WHOLE]


class MachinePart(Part):
    """A node as a part of a machine. A key is absent if its value was not read."""

    part: PartKind
    """What it is: `stack` is what one host bridge of the root complex serves, `sockets` joins several sockets."""
    kind: DeviceKind | None = None
    """Of a device: its kind, from its class."""
    slot: str | None = None
    """Domain, bus, device and function."""
    numa_node: Annotated[int, Fits(type="integer", minimum=0, maximum=65_535)] | None = None
    """NUMA node that it is attached to."""
    mps_bytes: PayloadBytes | None = None
    """Maximum payload size that is set (DevCtl)."""
    mrrs_bytes: PayloadBytes | None = None
    """Maximum read request size that is set (DevCtl)."""
    relaxed_ordering: bool | None = None
    """Whether it may mark requests as relaxed-ordered (DevCtl)."""
    ats: bool | None = None
    """Whether address translation services are on."""
    iommu: str | None = None
    """Type of its IOMMU group: `identity`, `DMA` (strict), `DMA-FQ` (lazy)."""
    port: str | None = None
    """Slot of the port on the upper end of its link."""
    redirects: bool | None = None
    """Whether ACS of that port sends requests and completions between devices up to the root."""
