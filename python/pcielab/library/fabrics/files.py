"""The files that fabrics are kept in: nodes and links of a tree, and the flows that run on it."""

from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from pcielab.library import validation
from pcielab.library.profiles.part import Count, Name, Nanoseconds, Part, Size, Title, plain
from pcielab.library.profiles.provenance import Provenance

NodeKind: TypeAlias = Literal[
    "host", "internal-switch", "host-adapter", "external-switch", "endpoint-adapter", "device"
]
Primitive: TypeAlias = Literal[
    "stream", "mmio-read", "mmio-write", "h2d", "d2h", "dma-write", "d2d-read", "d2d-write"
]
Bandwidth = Annotated[float, Field(gt=0, le=1e6)]
Address = Annotated[int, Field(ge=0, le=2**63 - 1)]
_NODE_TIMES = ("name", "kind", "delay_ns", "turn_ns", "turn_tlp_ns", "turn_gbytes_per_s")
"""Keys of a node that the compiled half takes as they are."""


class Host(Part):
    """A kind of server."""

    sockets: Count = 1
    """Processors; the fabric is attached to socket 0."""
    other_socket_ns: Nanoseconds = 0.0
    """Extra time one way to or from another socket."""
    other_socket_gbytes_per_s: Bandwidth | None = None
    """What data of DMA to or from another socket's memory pass, each direction by itself, GB/s; absent: as fast as
    they come."""
    memory_read_ns: Nanoseconds
    """Access to memory for a read that comes from a device."""
    software_ns: Nanoseconds
    """Software before a command is sent to a DMA engine."""
    memory_bytes: Size
    """Memory set apart for transfers (huge pages)."""


class Memory(Part):
    """A memory of a device."""

    name: Name
    """Name, such as `hbm`; flows go to the first memory unless they name another."""
    size_bytes: Size
    """Size."""
    bar_bytes: Size | None = None
    """Length of its window in the bus addresses; absent: only the device's own engines reach it."""
    bar_read_ns: Nanoseconds
    """Access for a read through the BAR."""
    bar_write_ns: Nanoseconds
    """Access for a write through the BAR."""
    engine_ns: Nanoseconds
    """Access by the device's own engine, as far as it adds to a transfer."""
    bar_read_gbytes_per_s: Bandwidth
    """What the BAR gives to reads of other devices, GB/s."""
    bar_write_gbytes_per_s: Bandwidth
    """What the BAR takes of writes of other devices, GB/s."""
    alignment_bytes: Literal[1, 2, 4, 8, 16, 32, 64] = 1
    """What the addresses of a program's DMA transfers in it are multiples of."""


class Pace(Part):
    """How fast commands follow one another: the interval, and the size over the rate."""

    interval_ns: Nanoseconds
    """For every command."""
    bytes_per_ns: Bandwidth
    """Bytes of a command per further nanosecond."""


class Engine(Part):
    """The DMA engines of a device: one reads from elsewhere, one writes."""

    execution_ns: Nanoseconds
    """Preparing, submitting and retiring a command; commands overlap in it."""
    tags: Annotated[int, Field(ge=1, le=65_536)]
    """Read requests in flight; also the most commands that a flow may have outstanding."""
    peer_requests: Count
    """Transfers of up to MPS in flight to or from another device."""
    completion_bytes: Count
    """Written to the host when a command is done."""
    packet_bytes: Count = 1
    """What the sizes of DMA transfers are multiples of."""
    read: Pace
    """Commands that read from elsewhere."""
    write: Pace
    """Commands that write elsewhere."""


class Device(Part):
    """A kind of card."""

    memories: list[Memory] = Field(default=[])
    """Its memories."""
    engine: Engine
    """Its DMA engines."""


class Node(Part):
    """A node of the tree."""

    name: Name
    """Unique name."""
    kind: NodeKind
    """What it is."""
    delay_ns: Nanoseconds = 0.0
    """From a port to the next; at hosts and devices, from the port to what is behind it."""
    turn_ns: Nanoseconds | None = None
    """From port to port for what goes between devices, whose addresses nothing translates; absent: `delay_ns`."""
    turn_tlp_ns: Nanoseconds = 0.0
    """What each TLP takes of the root complex, where that is the way from one lower port to another."""
    turn_gbytes_per_s: Bandwidth | None = None
    """The same for payload; absent where only TLPs count."""
    host: str | None = None
    """The kind of server, from `[hosts]`; hosts only."""
    device: str | None = None
    """The kind of card, from `[devices]`; devices only."""
    bar_addresses: dict[str, Address] = Field(default={})
    """First bus address of each memory that has a BAR, by the memory's name."""


class FabricLink(Part):
    """A link between two nodes."""

    upper: Name
    """The node nearer to the root."""
    lower: Name
    """The other one."""
    generation: Literal[1, 2, 3, 4, 5, 6, 7] = 3
    """PCIe generation."""
    lanes: Literal[1, 2, 4, 8, 12, 16, 32] = 16
    """Width."""
    down_gbytes_per_s: float | None = None
    """Payload from `upper` to `lower`, GB/s; absent: what generation, lanes and MPS allow."""
    up_gbytes_per_s: float | None = None
    """Payload from `lower` to `upper`, GB/s; likewise."""
    peer_down_gbytes_per_s: float | None = None
    """Payload from `upper` to `lower` that came from another lower port of `upper`, GB/s; absent: as
    `down_gbytes_per_s`. The simulator's only."""
    latency_ns: Nanoseconds = 0.0
    """Propagation."""


class Flow(Part):
    """Traffic from one node to another."""

    name: Annotated[str, AfterValidator(plain), Field(max_length=200)] = ""
    """Name; absent: `source->destination`."""
    source: Name
    """Host or device that the data come from; for MMIO and DMA of a host, the host."""
    destination: Name
    """Where they go; for MMIO and DMA of a host, the device."""
    primitive: Primitive = "stream"
    """What moves the data: `stream` is posted writes without an engine, `dma-write` a D2H without its command."""
    size_bytes: Size = 4096
    """Bytes of one request."""
    outstanding: Annotated[int, Field(ge=1, le=65_536)] = 1
    """Requests in flight."""
    arrivals: Literal["even", "random"] = "even"
    """When the requests of a flow with a standalone bandwidth come."""
    socket: Annotated[int, Field(ge=0, le=63)] = 0
    """Socket of the host that the program and its memory are on."""
    queue: Annotated[int, Field(ge=0, le=255)] = 0
    """Command queue of the device: its queues take turns, TLP by TLP."""
    memory: Name | None = None
    """Memory of the device; absent: its first."""
    standalone_gbytes_per_s: Annotated[float, Field(ge=0, le=1e6)] | None = None
    """What the flow gets running alone, if that is known, GB/s: estimators and simulator give it no more.
    A flow of 0 asks for nothing."""


class FlowSets(Part):
    """Named sets of flows."""

    default: Name | None = None
    """The set that is meant where none is named."""
    sets: dict[Name, list[Flow]] = Field(default={})
    """Flows in this file."""
    files: dict[Name, str] = Field(default={})
    """Sets kept as CSV or Parquet, by path relative to this file; columns are the keys of a flow."""


class FabricFile(Part):
    """A file under `profiles/fabrics`."""

    name: Name
    """Short name."""
    title: Title
    """One line for people."""
    provenance: Provenance
    """Where the values come from."""
    mps_bytes: Literal[128, 256, 512, 1024, 2048, 4096]
    """Maximum payload size (MPS)."""
    hosts: dict[Name, Host] = Field(default={})
    """Kinds of servers."""
    devices: dict[Name, Device] = Field(default={})
    """Kinds of cards."""
    node: list[Node] = Field(min_length=1)
    """The nodes."""
    link: list[FabricLink] = Field(default=[])
    """The links: one fewer than nodes."""
    flows: FlowSets = FlowSets()
    """What runs on the fabric."""

    @model_validator(mode="after")
    def _kinds_exist(self) -> Self:
        for node in self.node:
            for key, known in (("host", self.hosts), ("device", self.devices)):
                kind = getattr(node, key)
                if kind is not None and kind not in known:
                    raise ValueError(
                        f"node {node.name}: {key} = {kind!r}: is not one of [{key}s]: {', '.join(known)}"
                    )
            if node.device is not None:
                self._bars_exist(node, self.devices[node.device])
        return self

    def _bars_exist(self, node: Node, device: Device) -> None:
        mapped = {memory.name for memory in device.memories if memory.bar_bytes is not None}
        if mapped != set(node.bar_addresses):
            raise ValueError(
                f"node {node.name}: bar_addresses has {', '.join(sorted(node.bar_addresses)) or 'none'}: give one "
                f"for each memory of {node.device} that has bar_bytes: {', '.join(sorted(mapped)) or 'none'}"
            )

    def description(self) -> dict[str, Any]:
        """The fabric as the compiled half takes it, without its flows."""
        return {
            "name": self.name,
            "mps_bytes": self.mps_bytes,
            "nodes": [self._node(node) for node in self.node],
            "links": [link.model_dump() for link in self.link],
        }

    def _node(self, node: Node) -> dict[str, Any]:
        described: dict[str, Any] = node.model_dump(include={*_NODE_TIMES})
        described["host"] = self.hosts[node.host].model_dump() if node.host else None
        described["device"] = None
        if node.device is not None:
            device = self.devices[node.device].model_dump()
            for memory in device["memories"]:
                size_bytes = memory.pop("bar_bytes")
                memory["bar"] = size_bytes and {
                    "address": node.bar_addresses[memory["name"]],
                    "size_bytes": size_bytes,
                }
            described["device"] = device
        return described


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a fabric file."""
    return validation.json_schema(FabricFile)
