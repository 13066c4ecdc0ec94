"""Fabrics and flows as the estimators and the simulator take them: keys, ranges, defaults, meanings.

Written by `make generate` from `crates/pcie-fabric/src/description.rs` and `simulate/traffic.rs`: change the types
there.
"""

from typing import Annotated, Literal, TypeAlias

from pcielab.library.profiles.part import WHOLE, Bytes, Fits, Label, Name, Part

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


class Host(Part):
    """A kind of server."""

    sockets: Annotated[int, Fits(type="integer", minimum=1, maximum=4_294_967_295)] = 1
    """Processors; the fabric is attached to socket 0."""
    other_socket_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)] = 0.0
    """Extra time one way to or from another socket."""
    other_socket_gbytes_per_s: (
        Annotated[float, Fits(type="number", exclusiveMinimum=0, maximum=1_000_000)] | None
    ) = None
    """Bandwidth of DMA to or from another socket's memory, for each direction, GB/s; absent: no limit."""
    memory_read_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)]
    """Access to memory for a read that comes from a device."""
    software_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)]
    """Software before a command is sent to a DMA engine."""
    memory_bytes: Annotated[Bytes, Fits(type="integer", minimum=1, maximum=9_223_372_036_854_775_807)]
    """Memory reserved for transfers (huge pages)."""


class MemoryParameters(Part):
    """A memory of a device."""

    name: Name
    """Name, unique on the device, for example `hbm`."""
    size_bytes: Annotated[Bytes, Fits(type="integer", minimum=1, maximum=9_223_372_036_854_775_807)]
    """Size."""
    bar_read_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)]
    """Access for a read through the BAR."""
    bar_write_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)]
    """Access for a write through the BAR."""
    engine_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)]
    """Time that an access by the device's own engine adds to a transfer."""
    bar_read_gbytes_per_s: Annotated[float, Fits(type="number", exclusiveMinimum=0, maximum=1_000_000)]
    """Bandwidth of reads through the BAR by other devices, GB/s."""
    bar_write_gbytes_per_s: Annotated[float, Fits(type="number", exclusiveMinimum=0, maximum=1_000_000)]
    """Bandwidth of writes through the BAR by other devices, GB/s."""
    alignment_bytes: Annotated[Literal[1, 2, 4, 8, 16, 32, 64], WHOLE] = 1
    """Alignment of the addresses of a program's DMA transfers."""


class Pace(Part):
    """Time between commands: the interval plus the size over the rate."""

    interval_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)]
    """Fixed time of each command."""
    bytes_per_ns: Annotated[float, Fits(type="number", exclusiveMinimum=0, maximum=1_000_000)]
    """Rate of the additional time."""


class Engine(Part):
    """The DMA engines of a device: one reads from elsewhere, one writes."""

    execution_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)]
    """Time to prepare, submit and retire a command; commands overlap."""
    tags: Annotated[int, Fits(type="integer", minimum=1, maximum=65_536)]
    """Read requests in flight; also the limit on a flow's outstanding commands."""
    peer_requests: Annotated[int, Fits(type="integer", minimum=1, maximum=4_294_967_295)]
    """Transfers of up to MPS in flight to or from another device."""
    completion_bytes: Annotated[Bytes, Fits(type="integer", minimum=1, maximum=4_294_967_295)]
    """Status written to the host when a command is done."""
    packet_bytes: Annotated[Bytes, Fits(type="integer", minimum=1, maximum=4_294_967_295)] = 1
    """Unit of the sizes of DMA transfers."""
    read: Pace
    """Commands that read from elsewhere."""
    write: Pace
    """Commands that write elsewhere."""


class NodeParameters(Part):
    """A node of the tree."""

    name: Name
    """Unique name."""
    kind: NodeKind
    """Its kind."""
    delay_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)] = 0.0
    """Delay from port to port; at hosts and devices, from the port to the root complex or memory."""
    turn_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)] | None = None
    """Delay from port to port for TLPs between devices, whose addresses no bridge translates; absent:
    `delay_ns`."""
    turn_tlp_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)] = 0.0
    """Time of each TLP in the root complex on its way from one lower port to another. TLPs with and without
    payload take turns; 0: no limit."""
    turn_gbytes_per_s: Annotated[float, Fits(type="number", exclusiveMinimum=0, maximum=1_000_000)] | None = None
    """The same limit for payload, GB/s; absent: none."""


class FabricLink(Part):
    """A link between two nodes."""

    upper: Name
    """The node nearer to the root."""
    lower: Name
    """The other one."""
    generation: Annotated[Literal[1, 2, 3, 4, 5, 6, 7], WHOLE] = 3
    """PCIe generation."""
    lanes: Annotated[Literal[1, 2, 4, 8, 12, 16, 32], WHOLE] = 16
    """Width."""
    down_gbytes_per_s: Annotated[float, Fits(type="number", exclusiveMinimum=0, maximum=1_000_000)] | None = None
    """Payload from `upper` to `lower`, GB/s; absent: derived from generation, lanes and MPS."""
    up_gbytes_per_s: Annotated[float, Fits(type="number", exclusiveMinimum=0, maximum=1_000_000)] | None = None
    """Payload from `lower` to `upper`, GB/s; likewise."""
    peer_down_gbytes_per_s: Annotated[float, Fits(type="number", exclusiveMinimum=0, maximum=1_000_000)] | None = (
        None
    )
    """Payload from `upper` to `lower` that comes from another lower port of `upper`, past its bridge, GB/s;
    absent: as `down_gbytes_per_s`. For the simulator only."""
    latency_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)] = 0.0
    """Propagation."""


class FabricParameters(Part):
    """A fabric: nodes, and links that connect them to a tree."""

    name: Name
    """Short name."""
    mps_bytes: Annotated[Literal[128, 256, 512, 1024, 2048, 4096], WHOLE]
    """Maximum payload size (MPS) of TLPs."""


class Flow(Part):
    """Traffic from one node to another."""

    name: Label = ""
    """Name; absent: `source->destination`."""
    source: Name
    """Host or device that sends the data; for MMIO and DMA of a host, the host."""
    destination: Name
    """Host or device that receives the data; for MMIO and DMA of a host, the device."""
    primitive: Primitive = "stream"
    """The operation: `stream` is posted writes without an engine, `dma-write` a D2H without its command."""
    size_bytes: Annotated[Bytes, Fits(type="integer", minimum=1, maximum=9_223_372_036_854_775_807)] = 4096
    """Bytes of one request."""
    outstanding: Annotated[int, Fits(type="integer", minimum=1, maximum=65_536)] = 1
    """Requests in flight."""
    arrivals: Arrivals = "even"
    """Arrivals of the requests of a flow with a standalone bandwidth."""
    socket: Annotated[int, Fits(type="integer", minimum=0, maximum=63)] = 0
    """Socket of the host that the program and its memory are on."""
    queue: Annotated[int, Fits(type="integer", minimum=0, maximum=255)] = 0
    """Command queue of the device, which serves its queues in turn, TLP by TLP."""
    memory: Name | None = None
    """Memory of the device; absent: its first."""
    standalone_gbytes_per_s: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000)] | None = None
    """Known bandwidth of the flow running alone, GB/s: its limit in estimators and simulator. 0: no demand."""
