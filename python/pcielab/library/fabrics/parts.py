"""Fabrics and flows as the estimators and the simulator take them: keys, ranges, defaults and what they mean.

Written by `make generate` from `crates/pcie-fabric/src/description.rs` and `simulate/traffic.rs`: change the types
there.
"""

from typing import Annotated, Literal, TypeAlias

from pcielab.library.profiles.part import WHOLE, Bytes, Fits, Label, Name, Part

NodeKind: TypeAlias = Literal[
    "host", "internal-switch", "host-adapter", "external-switch", "endpoint-adapter", "device"
]
"""What a node is."""
Primitive: TypeAlias = Literal[
    "stream", "mmio-read", "mmio-write", "h2d", "d2h", "dma-write", "d2d-read", "d2d-write"
]
"""What moves the data."""
Arrivals: TypeAlias = Literal["even", "random"]
"""When paced requests come."""
Discipline: TypeAlias = Literal["per-flow", "per-destination", "fifo"]
"""What has queues and credits of its own at every port."""


class Host(Part):
    """A kind of server."""

    sockets: Annotated[int, Fits(type="integer", minimum=1, maximum=4_294_967_295)] = 1
    """Processors; the fabric is attached to socket 0."""
    other_socket_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)] = 0.0
    """Extra time one way to or from another socket."""
    other_socket_gbytes_per_s: (
        Annotated[float, Fits(type="number", exclusiveMinimum=0, maximum=1_000_000)] | None
    ) = None
    """What data of DMA to or from another socket's memory pass, each direction by itself, GB/s; absent: as fast as
    they come."""
    memory_read_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)]
    """Access to memory for a read that comes from a device."""
    software_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)]
    """Software before a command is sent to a DMA engine."""
    memory_bytes: Annotated[Bytes, Fits(type="integer", minimum=1, maximum=9_223_372_036_854_775_807)]
    """Memory set apart for transfers (huge pages)."""


class MemoryParameters(Part):
    """A memory of a device."""

    name: Name
    """Name, unique on the device, such as `hbm`; flows go to the first memory unless they name another."""
    size_bytes: Annotated[Bytes, Fits(type="integer", minimum=1, maximum=9_223_372_036_854_775_807)]
    """Size."""
    bar_read_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)]
    """Access for a read through the BAR."""
    bar_write_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)]
    """Access for a write through the BAR."""
    engine_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)]
    """Access by the device's own engine, as far as it adds to a transfer."""
    bar_read_gbytes_per_s: Annotated[float, Fits(type="number", exclusiveMinimum=0, maximum=1_000_000)]
    """What the BAR gives to reads of other devices, GB/s."""
    bar_write_gbytes_per_s: Annotated[float, Fits(type="number", exclusiveMinimum=0, maximum=1_000_000)]
    """What the BAR takes of writes of other devices, GB/s."""
    alignment_bytes: Annotated[Literal[1, 2, 4, 8, 16, 32, 64], WHOLE] = 1
    """What the addresses of a program's DMA transfers in it are multiples of."""


class Pace(Part):
    """How fast commands follow one another: the interval, and the size over the rate."""

    interval_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)]
    """For every command."""
    bytes_per_ns: Annotated[float, Fits(type="number", exclusiveMinimum=0, maximum=1_000_000)]
    """Bytes of a command per further nanosecond."""


class Engine(Part):
    """The DMA engines of a device: one reads from elsewhere, one writes."""

    execution_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)]
    """Preparing, submitting and retiring a command; commands overlap in it."""
    tags: Annotated[int, Fits(type="integer", minimum=1, maximum=65_536)]
    """Read requests in flight; also the most commands that a flow may have outstanding."""
    peer_requests: Annotated[int, Fits(type="integer", minimum=1, maximum=4_294_967_295)]
    """Transfers of up to MPS in flight to or from another device."""
    completion_bytes: Annotated[Bytes, Fits(type="integer", minimum=1, maximum=4_294_967_295)]
    """Written to the host when a command is done."""
    packet_bytes: Annotated[Bytes, Fits(type="integer", minimum=1, maximum=4_294_967_295)] = 1
    """What the sizes of DMA transfers are multiples of."""
    read: Pace
    """Commands that read from elsewhere."""
    write: Pace
    """Commands that write elsewhere."""


class NodeParameters(Part):
    """A node of the tree."""

    name: Name
    """Unique name."""
    kind: NodeKind
    """What it is."""
    delay_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)] = 0.0
    """From a port to the next; at hosts and devices, from the port to what is behind it."""
    turn_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)] | None = None
    """From port to port for what goes between devices, whose addresses no bridge translates; absent:
    `delay_ns`."""
    turn_tlp_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)] = 0.0
    """What each TLP takes of the root complex, where that is the way from one lower port to another. TLPs with and
    without payload take turns; 0 where nothing holds them up."""
    turn_gbytes_per_s: Annotated[float, Fits(type="number", exclusiveMinimum=0, maximum=1_000_000)] | None = None
    """The same for payload, GB/s; absent where only TLPs count."""


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
    """Payload from `upper` to `lower`, GB/s; absent: what generation, lanes and MPS allow."""
    up_gbytes_per_s: Annotated[float, Fits(type="number", exclusiveMinimum=0, maximum=1_000_000)] | None = None
    """Payload from `lower` to `upper`, GB/s; likewise."""
    peer_down_gbytes_per_s: Annotated[float, Fits(type="number", exclusiveMinimum=0, maximum=1_000_000)] | None = (
        None
    )
    """Payload from `upper` to `lower` that came up from another lower port of `upper` and so did not pass its
    bridge, GB/s; absent: as `down_gbytes_per_s`. The simulator's only."""
    latency_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000_000)] = 0.0
    """Propagation."""


class FabricParameters(Part):
    """A fabric: its nodes, and the links that make a tree of them."""

    name: Name
    """Short name."""
    mps_bytes: Annotated[Literal[128, 256, 512, 1024, 2048, 4096], WHOLE]
    """Maximum payload size (MPS): what transfers are cut into."""


class Flow(Part):
    """Traffic from one node to another."""

    name: Label = ""
    """Name; absent: `source->destination`."""
    source: Name
    """Host or device that the data come from; for MMIO and DMA of a host, the host."""
    destination: Name
    """Where they go; for MMIO and DMA of a host, the device."""
    primitive: Primitive = "stream"
    """What moves the data: `stream` is posted writes without an engine, `dma-write` a D2H without its command."""
    size_bytes: Annotated[Bytes, Fits(type="integer", minimum=1, maximum=9_223_372_036_854_775_807)] = 4096
    """Bytes of one request."""
    outstanding: Annotated[int, Fits(type="integer", minimum=1, maximum=65_536)] = 1
    """Requests in flight."""
    arrivals: Arrivals = "even"
    """When the requests of a flow with a standalone bandwidth come."""
    socket: Annotated[int, Fits(type="integer", minimum=0, maximum=63)] = 0
    """Socket of the host that the program and its memory are on."""
    queue: Annotated[int, Fits(type="integer", minimum=0, maximum=255)] = 0
    """Command queue of the device: its queues take turns, TLP by TLP."""
    memory: Name | None = None
    """Memory of the device; absent: its first."""
    standalone_gbytes_per_s: Annotated[float, Fits(type="number", minimum=0, maximum=1_000_000)] | None = None
    """What the flow gets running alone, if that is known, GB/s: estimators and simulator give it no more. A flow
    of 0 asks for nothing."""
