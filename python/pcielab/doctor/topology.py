"""The topology of a tree: sockets, stacks of the root complex, root ports, switches, devices, and their links.

A *stack* is what one host bridge serves: a domain and its root bus. A switch is one position, its upstream and
downstream ports together. The doctor names links by the same edges as a fabric file of the machine. Links that are
left out are counted, and what no source shows is listed as assumed: nothing is guessed silently.
"""

import json
from dataclasses import dataclass
from typing import Any, Literal

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.doctor.tree import Function, LinkEnd, Tree

Part = Literal["sockets", "socket", "memory", "stack", "root-port", "switch", "device"]
DeviceKind = Literal["gpu", "nic", "nvme", "storage", "accelerator", "fpga", "cxl", "device"]


@dataclass(frozen=True)
class Position:
    """A node of the topology, with the link above it if there is one."""

    name: str
    """Unique name: `gpu0`, `switch1`, `root port 0000:40:01.1`."""
    part: Part
    upper: str | None
    """The name of the position above; None at the top."""
    functions: tuple[Function, ...] = ()
    """The functions on the lower end of its link; of a root port, the port."""
    port: Function | None = None
    """The port on the upper end of its link."""
    end: LinkEnd | None = None
    """The trained link above: its speed and lanes are known."""
    node: int | None = None
    """NUMA node; None if no source shows it."""
    kind: DeviceKind | None = None
    """Of a device: its kind, from its class."""

    @property
    def function(self) -> Function | None:
        """The first function."""
        return self.functions[0] if self.functions else None


@dataclass(frozen=True)
class Topology:
    """The positions of a machine, each after the one above it.

    Attributes:
        positions: The positions.
        left_out: Reasons why links are left out, with how many.
        assumed: What no source shows.
    """

    positions: tuple[Position, ...]
    left_out: tuple[str, ...]
    assumed: tuple[str, ...]


@refuses_wrong_types
def topology(tree: Tree) -> Topology:
    """The topology of a tree."""
    found = json.loads(_core.machine_topology(tree.model_dump_json()))
    positions = tuple(_position(tree, position) for position in found["positions"])
    return Topology(positions, tuple(found["left_out"]), tuple(found["assumed"]))


def _position(tree: Tree, found: dict[str, Any]) -> Position:
    end = found["end"]
    functions = (tree.function(slot) for slot in found["functions"])
    return Position(
        **found
        | {
            "functions": tuple(one for one in functions if one is not None),
            "port": found["port"] and tree.function(found["port"]),
            "end": end and LinkEnd.model_validate_json(json.dumps(end)),
        }
    )
