"""The models of fabric files: nodes and links of a tree, and flows."""

from typing import Any, Self

from pydantic import Field, model_validator

from pcielab.errors import wrong_value
from pcielab.library import validation
from pcielab.library.fabrics.parts import (
    Engine,
    FabricLink,
    FabricParameters,
    Flow,
    Host,
    MemoryParameters,
    NodeParameters,
)
from pcielab.library.profiles.part import Amount64, Name, Part, Title
from pcielab.library.profiles.provenance import Provenance
from pcielab.library.profiles.quantity_types import Size

_OF_FILES = {"host", "device", "bar_addresses"}
"""Keys of a node that only files have."""


class Memory(MemoryParameters):
    """A memory of a device."""

    bar_bytes: Size | None = None
    """Size of its BAR; absent: only the device's own engines reach it."""


class Device(Part):
    """A kind of device."""

    memories: list[Memory] = Field(default=[])
    """Its memories."""
    engine: Engine
    """Its DMA engines."""


class Node(NodeParameters):
    """A node of the tree."""

    host: str | None = None
    """The kind of server, from `[hosts]`; hosts only."""
    device: str | None = None
    """The kind of device, from `[devices]`; devices only."""
    bar_addresses: dict[str, Amount64] = Field(default={})
    """First bus address of each memory that has a BAR, by the memory's name."""


class FlowSets(Part):
    """Named sets of flows."""

    default: Name | None = None
    """The set to use if none is named."""
    sets: dict[Name, list[Flow]] = Field(default={})
    """Flows in this file."""
    files: dict[Name, str] = Field(default={})
    """Sets kept as CSV or Parquet, by path relative to this file; columns are the keys of a flow."""


class FabricFile(FabricParameters):
    """A file under `profiles/fabrics`."""

    title: Title
    """One line for people."""
    provenance: Provenance
    """Source of the values."""
    hosts: dict[Name, Host] = Field(default={})
    """Kinds of servers."""
    devices: dict[Name, Device] = Field(default={})
    """Kinds of devices."""
    node: list[Node] = Field(min_length=1)
    """The nodes."""
    link: list[FabricLink] = Field(default=[])
    """The links: one fewer than nodes."""
    flows: FlowSets = FlowSets()
    """Sets of flows."""

    @model_validator(mode="after")
    def _kinds_exist(self) -> Self:
        for number, node in enumerate(self.node):
            for key, known in (("host", self.hosts), ("device", self.devices)):
                kind = getattr(node, key)
                if kind is not None and kind not in known:
                    remedy = f"[{key}s] lacks it for node {node.name}: {validation.suggestion(kind, known)}"
                    raise wrong_value(f"node.{number}.{key}", repr(kind), remedy)
            if node.device is not None:
                self._check_bars(number, node, self.devices[node.device])
        return self

    def _check_bars(self, number: int, node: Node, device: Device) -> None:
        mapped = {memory.name for memory in device.memories if memory.bar_bytes is not None}
        if mapped != set(node.bar_addresses):
            given = ", ".join(sorted(node.bar_addresses)) or "none"
            wanted = ", ".join(sorted(mapped)) or "none"
            remedy = f"node {node.name}: give one for each memory of {node.device} that has bar_bytes: {wanted}"
            raise wrong_value(f"node.{number}.bar_addresses", given, remedy)

    def description(self) -> dict[str, Any]:
        """The fabric as the compiled half takes it, without its flows."""
        return {
            "name": self.name,
            "mps_bytes": self.mps_bytes,
            "nodes": [self._node(node) for node in self.node],
            "links": [link.model_dump() for link in self.link],
        }

    def _node(self, node: Node) -> dict[str, Any]:
        described: dict[str, Any] = node.model_dump(exclude=_OF_FILES)
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
