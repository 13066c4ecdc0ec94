"""Routes through a fabric: the tree of names, the way between two nodes, and what is at its top.

The arithmetic of flows is Rust; this is for answers about one way, and for trees with a device in another place.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pcielab import _core
from pcielab.library.fabrics.load import Fabric
from pcielab.library.fabrics.machine_parts import DeviceKind, MachinePart, Node, PartKind

_PARTS: dict[str, PartKind] = {"host": "socket", "device": "device"}
_KINDS: tuple[DeviceKind, ...] = ("gpu", "nic", "nvme", "fpga")


@dataclass(frozen=True)
class Routes:
    """The tree of a fabric.

    Attributes:
        nodes: The nodes by name.
        uppers: The node above each but the root.
        handle: The fabric of the compiled half.
    """

    nodes: Mapping[str, Node]
    uppers: Mapping[str, str]
    handle: _core.Fabric

    @staticmethod
    def of(fabric: Fabric) -> "Routes":
        """The routes of a fabric."""
        uppers = {lower: upper for upper, lower in fabric.links}
        return Routes({node.name: node for node in fabric.nodes}, uppers, fabric.handle)

    def moved(self, device: str, upper: str) -> "Routes":
        """The tree with a device, and its link, below another node."""
        return Routes(self.nodes, {**self.uppers, device: upper}, self.handle.moved(device, upper))

    @cached_property
    def description(self) -> Mapping[str, Any]:
        """The nodes and links of the fabric."""
        return self.handle.values()

    @cached_property
    def delays_ns(self) -> dict[str, float]:
        """The delay of each node."""
        return {node["name"]: float(node["delay_ns"]) for node in self.description["nodes"]}

    @cached_property
    def links(self) -> dict[str, Mapping[str, Any]]:
        """The link above each node."""
        return {link["lower"]: link for link in self.description["links"]}

    @cached_property
    def lowers(self) -> dict[str, list[str]]:
        """The nodes below each node."""
        found: dict[str, list[str]] = {name: [] for name in self.nodes}
        for lower, upper in self.uppers.items():
            found[upper].append(lower)
        return found

    def above(self, name: str) -> list[str]:
        """A node and those above it, up to the root."""
        found = [name]
        while (upper := self.uppers.get(found[-1])) is not None:
            found.append(upper)
        return found

    def between(self, source: str, destination: str) -> tuple[list[str], str]:
        """The nodes from one to another, and the one at the top."""
        up, down = self.above(source), self.above(destination)
        known = set(down)
        top = next(name for name in up if name in known)
        return [*up[: up.index(top) + 1], *reversed(down[: down.index(top)])], top

    def part(self, name: str) -> PartKind:
        """What a node is in its machine: as its file says, or after its kind."""
        node = self.nodes[name]
        return node.machine.part if node.machine is not None else _PARTS.get(node.kind, "switch")

    def machine(self, name: str) -> MachinePart | None:
        """What its file says of a node as a part of a machine."""
        return self.nodes[name].machine

    def kind(self, name: str) -> DeviceKind | None:
        """The kind of a device: as its file says, or after its preset; None of what is no device."""
        node = self.nodes[name]
        if node.machine is not None:
            return node.machine.kind
        if node.kind != "device":
            return None
        return next((kind for kind in _KINDS if (node.device or "").startswith(kind)), "device")
