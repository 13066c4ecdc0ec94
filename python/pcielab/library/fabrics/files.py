"""The models of fabric files: nodes and links of a tree, and flows."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, ModelWrapValidatorHandler, WithJsonSchema, model_validator

from pcielab.errors import wrong_value
from pcielab.library import validation
from pcielab.library.alike import suggestion
from pcielab.library.fabrics.bar_addresses import with_addresses
from pcielab.library.fabrics.machine_parts import MachinePart
from pcielab.library.fabrics.parts import FabricLink, FabricParameters, Flow, Host, NodeKind, NodeParameters
from pcielab.library.fabrics.presets import (
    Device,
    device_preset,
    device_presets,
    host_preset,
    host_presets,
)
from pcielab.library.fabrics.written import (
    NODE_KINDS,
    link_with_tables,
    links_of_nodes,
    node_with_tables,
    with_root_ports,
)
from pcielab.library.profiles.part import WHOLE, Amount64, Name, Part, Title
from pcielab.library.profiles.provenance import Provenance

_OF_FILES = {"host", "device", "bar_addresses", "upper", "link", "machine"}
"""Keys of a node that only files have."""


def _optional(key: str) -> ConfigDict:
    """A key that files may omit although the model needs it: a validator gives it."""

    def relax(schema: dict[str, Any]) -> None:
        schema["required"] = [required for required in schema["required"] if required != key]

    return ConfigDict(json_schema_extra=relax)


class Node(NodeParameters):
    """A node of the tree."""

    model_config = _optional("kind")

    kind: Annotated[NodeKind, WithJsonSchema({"enum": list(NODE_KINDS)})]
    """Its kind. `gpu`, `nic`, `nvme`, `fpga` and the presets of devices are devices of that preset, `switch` and
    `root-port` are internal switches. May be absent beside `host` or `device`."""
    upper: Name | None = None
    """The node above it, instead of a table `[[link]]`."""
    link: str | None = None
    """With `upper`: generation and lanes of the link, for example `gen4x16`."""
    host: str | None = None
    """The kind of server, from `[hosts]` or a host profile; hosts only. Absent: `gen5-server`."""
    device: str | None = None
    """The kind of device, from `[devices]` or a preset; devices only. Absent: only estimates and streams."""
    bar_addresses: dict[str, Amount64] = Field(default={})
    """First bus address of memories that have a BAR, by the memory's name; others are given free addresses."""
    machine: MachinePart | None = None
    """The node as a part of a machine, as `pcielab fabric from` reads it."""

    @model_validator(mode="before")
    @classmethod
    def _short_kind(cls, content: Any) -> Any:
        return node_with_tables(content) if isinstance(content, Mapping) else content

    @model_validator(mode="after")
    def _link_has_an_end(self) -> Self:
        if self.link is not None and self.upper is None:
            raise wrong_value("link", repr(self.link), "give upper, too: the node above")
        return self


class Link(FabricLink):
    """A link between two nodes."""

    link: str | None = None
    """Generation and lanes in one, for example `gen4x16`."""

    @model_validator(mode="before")
    @classmethod
    def _short_link(cls, content: Any) -> Any:
        return link_with_tables(content) if isinstance(content, Mapping) else content


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

    model_config = _optional("name")

    title: Title = ""
    """One line for people; absent: the name."""
    mps_bytes: Annotated[Literal[128, 256, 512, 1024, 2048, 4096], WHOLE] = 256
    """Maximum payload size (MPS) of TLPs."""
    provenance: Provenance = Provenance(source="not stated")
    """Source of the values."""
    hosts: dict[Name, Host] = Field(default={})
    """Kinds of servers."""
    devices: dict[Name, Device] = Field(default={})
    """Kinds of devices."""
    node: list[Node] = Field(min_length=1)
    """The nodes."""
    link: list[Link] = Field(default=[])
    """The links: one fewer than nodes, with those that nodes give."""
    flow: list[Flow] = Field(default=[])
    """Flows: the set `flow`, the default one."""
    flows: FlowSets = FlowSets()
    """Sets of flows, with the set `flow`."""

    @model_validator(mode="wrap")
    @classmethod
    def _flow_is_a_set(cls, content: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        file = handler(content)
        if not file.flow:
            return file
        if "flow" in file.flows.sets:
            raise wrong_value("flow", "a list of flows", "leave it out: [flows.sets] has the set flow")
        sets = {"flow": file.flow, **file.flows.sets}
        flows = file.flows.model_copy(update={"sets": sets, "default": file.flows.default or "flow"})
        return file.model_copy(update={"flows": flows})

    @model_validator(mode="before")
    @classmethod
    def _short_links(cls, content: Any) -> Any:
        if not isinstance(content, Mapping):
            return content
        for key in ("node", "link", "flow"):
            if isinstance(content.get(key), Mapping):
                raise wrong_value(key, "a table", f"write [[{key}]] for each")
        if isinstance(content.get("flows"), list):
            raise wrong_value("flows", "a list", "write [[flow]] for each flow, or [[flows.sets.NAME]] for a set")
        links = content.get("link", [])
        if not isinstance(links, list):
            return content
        nodes = content.get("node")
        return {**content, "link": with_root_ports(nodes, [*links, *links_of_nodes(nodes)])}

    @model_validator(mode="after")
    def _kinds_exist(self) -> Self:
        sources = (("host", self.hosts, host_presets()), ("device", self.devices, device_presets()))
        for number, node in enumerate(self.node):
            for key, own, presets in sources:
                kind = getattr(node, key)
                if kind is not None and kind not in own and kind not in presets:
                    known = [*own, *presets]
                    remedy = f"neither a preset nor in [{key}s]: {suggestion(kind, known)}"
                    raise wrong_value(f"node.{number}.{key}", repr(kind), remedy)
            self._check_bars(number, node)
        return self

    def _check_bars(self, number: int, node: Node) -> None:
        device = self.device_of(node)
        mapped = {memory.name for memory in device.memories if memory.bar_bytes is not None} if device else set()
        extra = sorted(set(node.bar_addresses) - mapped)
        if extra:
            wanted = ", ".join(sorted(mapped)) or "none"
            remedy = f"node {node.name}: give addresses for memories that have bar_bytes: {wanted}"
            raise wrong_value(f"node.{number}.bar_addresses", ", ".join(extra), remedy)

    def device_of(self, node: Node) -> Device | None:
        """The kind of device of a node: one of the file, or a preset."""
        if node.device is None:
            return None
        return self.devices.get(node.device) or device_preset(node.device).device()

    def description(self) -> dict[str, Any]:
        """The fabric as the compiled half takes it, without its flows."""
        nodes = [self._node(node) for node in self.node]
        return {
            "name": self.name,
            "mps_bytes": self.mps_bytes,
            "nodes": with_addresses(nodes),
            "links": [link.model_dump(exclude={"link"}) for link in self.link],
        }

    def _node(self, node: Node) -> dict[str, Any]:
        described: dict[str, Any] = node.model_dump(exclude=_OF_FILES)
        described["host"] = self._host(node.host) if node.host else None
        described["device"] = None
        if (device := self.device_of(node)) is not None:
            described["device"] = device.model_dump()
            for memory in described["device"]["memories"]:
                size_bytes = memory.pop("bar_bytes")
                address = node.bar_addresses.get(memory["name"])
                memory["bar"] = size_bytes and {"address": address, "size_bytes": size_bytes}
        if "delay_ns" not in node.model_fields_set:
            described["delay_ns"] = self._preset_delay_ns(node.host, node.device)
        return described

    def _host(self, name: str) -> dict[str, Any]:
        host = self.hosts[name] if name in self.hosts else host_preset(name).host
        return host.model_dump()

    def _preset_delay_ns(self, host: str | None, device: str | None) -> float:
        """The delay of a node that gives none: that of its preset, 0 for a kind of the file."""
        if host is not None and host not in self.hosts:
            return host_preset(host).delay_ns
        if device is not None and device not in self.devices:
            return device_preset(device).delay_ns
        return 0.0


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a fabric file."""
    return validation.json_schema(FabricFile)
