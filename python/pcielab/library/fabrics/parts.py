"""Flows of fabrics as the simulator takes them, and the words of fabrics.

Written by `make generate` from `crates/pcie-fabric/src/description.rs` and `simulate/traffic.rs`: change the types
there.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

NodeKind: TypeAlias = Literal[
    "host", "internal-switch", "host-adapter", "external-switch", "endpoint-adapter", "device"
]
"""The kind of a node."""
Primitive: TypeAlias = Literal[
    "stream", "mmio-read", "mmio-write", "h2d", "d2h", "dma-write", "d2d-read", "d2d-write"
]
"""The operation that moves the data."""
Arrivals: TypeAlias = Literal["even", "random"]
"""Arrivals of paced requests."""
Discipline: TypeAlias = Literal["per-flow", "per-destination", "fifo"]
"""Granularity of the queues and credits of ports."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Flow:
    """Traffic from one node to another."""

    name: str = ""
    """Name; absent: `source->destination`."""
    source: str
    """Host or device that sends the data; for MMIO and DMA of a host, the host."""
    destination: str
    """Host or device that receives the data; for MMIO and DMA of a host, the device."""
    primitive: Primitive = "stream"
    """The operation: `stream` is posted writes without an engine, `dma-write` a D2H without its command."""
    size_bytes: int = 4096
    """Bytes of one request."""
    outstanding: int = 1
    """Requests in flight."""
    arrivals: Arrivals = "even"
    """Arrivals of the requests of a flow with a standalone bandwidth."""
    socket: int = 0
    """Socket of the host that the program and its memory are on."""
    queue: int = 0
    """Command queue of the device, which serves its queues in turn, TLP by TLP."""
    memory: str | None = None
    """Memory of the device; absent: its first."""
    standalone_gbytes_per_s: float | None = None
    """Known bandwidth of the flow running alone, GB/s: its limit in estimators and simulator. 0: no demand."""
