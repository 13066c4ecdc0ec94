"""The topology of a tree: sockets, stacks of the root complex, root ports, switches, devices, and their links.

A *stack* is what one host bridge serves: a domain and its root bus. A switch is one position, its upstream and
downstream ports together. The doctor names links by the same edges as a fabric file of the machine. Links that are
left out are counted, and what no source shows is listed as assumed: nothing is guessed silently.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from pcielab.argument_types import refuses_wrong_types
from pcielab.doctor.hardware import on_card_uplink
from pcielab.doctor.internal_links import internal
from pcielab.doctor.real_links import made_up
from pcielab.doctor.tree import Function, Link, LinkEnd, Tree

Part = Literal["sockets", "socket", "memory", "stack", "root-port", "switch", "device"]
DeviceKind = Literal["gpu", "nic", "nvme", "storage", "accelerator", "fpga", "cxl", "device"]
_FPGA_VENDORS = (0x10EE, 0x1172)
_KINDS: dict[int, DeviceKind] = {0x0108: "nvme", 0x0502: "cxl"}
_KINDS_OF_BASES: dict[int, DeviceKind] = {0x01: "storage", 0x02: "nic", 0x03: "gpu", 0x12: "accelerator"}
_NO_PORT = "the port above is not shown"


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
    return _Builder(tree).built()


@dataclass
class _Builder:
    """Positions by the slot of their lower end or root port, and why links are left out."""

    tree: Tree
    positions: dict[str, Position] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    assumed: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def built(self) -> Topology:
        links = sorted(self.tree.links, key=lambda link: (len(self.tree.path(link.device)), link.device.slot))
        for link in links:
            reason = self._take(link)
            if reason is not None:
                self.left_out[reason] += 1
        self._leave_out_empty_switches()
        named = self._named()
        tops = self._tops(named)
        for peer in self.tree.peers:
            self.left_out[f"{peer.kind} between devices, which is no PCIe link"] += 1
        left = tuple(f"{count} x {reason}" for reason, count in sorted(self.left_out.items()))
        return Topology((*tops, *named.values()), left, tuple(self.assumed))

    def _take(self, link: Link) -> str | None:
        """Add the position below a link, and its root port; otherwise why it is left out."""
        # In a nested source, what is above is a switch with an uplink of its own, and no port.
        above, device = link.port, link.device
        port = None if self.tree.is_nested else above
        end = _trained(device, port)
        if not self.tree.is_nested and (unreal := _unreal(self.tree, link)) is not None:
            return unreal
        if (uplink := on_card_uplink(self.tree, link)) is not None:
            # The nominal link inside a card does not limit it: the link of the card does.
            end = _trained(uplink.device) or end
        if end is None:
            return "speed or width of the link is not shown"
        upper: str | None = None
        if above is not None:
            upper = self._upper(above)
            if upper is None:
                return "what is above its port is not shown, or is left out"
        is_switch = device.kind == "upstream-port" or (device.kind is None and device.secondary_bus is not None)
        self.positions[_key(device)] = Position(
            name="",
            part="switch" if is_switch else "device",
            upper=upper,
            functions=link.functions,
            port=port,
            end=end,
            node=_node(link.functions),
            kind=None if is_switch else _kind(link.functions),
        )
        return None

    def _upper(self, port: Function) -> str | None:
        """The key of the position above a port; None if it is not shown."""
        if self.tree.is_nested:
            return _key(port) if _key(port) in self.positions else None
        above = self.tree.parent(port)
        if above is not None:
            is_ours = _key(above) in self.positions and self.positions[_key(above)].part == "switch"
            return _key(above) if is_ours and port.kind in ("downstream-port", None) else None
        if port.kind not in ("root-port", None):
            return None
        # Ports of one device have its slot but for the function.
        if port.slot not in self.positions:
            self.positions[port.slot] = Position("", "root-port", None, (port,), node=_node((port,)))
        return port.slot

    def _leave_out_empty_switches(self) -> None:
        """Leave out switches and root ports without a device below."""
        while empty := self._without_devices():
            for key in empty:
                if self.positions.pop(key).part == "switch":
                    self.left_out["nothing is shown below the switch"] += 1

    def _without_devices(self) -> list[str]:
        uppers = {position.upper for position in self.positions.values()}
        return [key for key, position in self.positions.items() if position.part != "device" and key not in uppers]

    def _named(self) -> dict[str, Position]:
        """The positions with names, in the order of slots; uppers come first."""
        names: dict[str, str] = {}
        taken = {one.label for position in self.positions.values() for one in position.functions if one.label}
        for key in sorted(self.positions):
            names[key] = self._name(self.positions[key], taken)
        found: dict[str, Position] = {}
        for key in sorted(self.positions, key=lambda key: (self._depth(key), key)):
            position = self.positions[key]
            upper = names[position.upper] if position.upper is not None else self._stack(position)
            found[names[key]] = replace(position, name=names[key], upper=upper)
        return found

    def _depth(self, key: str) -> int:
        depth, upper = 0, self.positions[key].upper
        while upper is not None:
            depth, upper = depth + 1, self.positions[upper].upper
        return depth

    def _name(self, position: Position, taken: set[str]) -> str:
        label = next((one.label for one in position.functions if one.label), None)
        if label is not None and self.counts[f"label {label}"] == 0:
            self.counts[f"label {label}"] += 1
            return label
        if position.part == "root-port" and position.function is not None:
            return f"root port {position.function.slot}"
        stem = position.kind or position.part
        while (name := f"{stem}{self.counts[stem]}") in taken:
            self.counts[stem] += 1
        self.counts[stem] += 1
        return name

    def _stack(self, position: Position) -> str:
        """The name of the stack above a root port, or of the socket above a device of a nested source."""
        if position.part != "root-port" or position.function is None:
            return _socket_name(self._socket(position.node))
        return f"stack {position.function.domain}:{position.function.bus:02x}"

    def _tops(self, named: dict[str, Position]) -> Iterator[Position]:
        """Sockets with their memory, and stacks."""
        nodes = self._nodes_of_stacks(named)
        sockets = {self._socket(node) for node in nodes.values()}
        sockets |= {
            self._socket(one.node) for one in named.values() if one.upper and one.upper.startswith("socket")
        }
        many = len(sockets) > 1
        self._say_assumptions(nodes, many=many)
        if many:
            yield Position("sockets", "sockets", None)
        for socket in sorted(sockets):
            yield Position(_socket_name(socket), "socket", "sockets" if many else None)
            yield Position(f"host{socket}", "memory", _socket_name(socket))
        for name, node in sorted(nodes.items()):
            yield Position(name, "stack", _socket_name(self._socket(node)), node=node)

    def _nodes_of_stacks(self, named: dict[str, Position]) -> dict[str, int | None]:
        """The NUMA node of each stack: the first that a function on or below one of its root ports has."""
        uppers = {position.name: position.upper for position in named.values()}
        found: dict[str, int | None] = {}
        for position in named.values():
            top = position.name
            while (above := uppers.get(top)) is not None:
                top = above
            if top.startswith("stack"):
                found[top] = position.node if found.get(top) is None else found[top]
        return found

    def _socket(self, node: int | None) -> int:
        known = self.tree.host.node_sockets
        if node is None:
            return min((known or {0: 0}).values())
        return known.get(node, node) if known else node

    def _say_assumptions(self, nodes: dict[str, int | None], *, many: bool) -> None:
        unknown = [name for name, node in nodes.items() if node is None]
        if unknown and not many:
            self.assumed.append("no source shows NUMA nodes: one socket")
        elif unknown:
            self.assumed.append(f"no source shows the NUMA node of {', '.join(unknown[:4])}: the first socket")
        if many and self.tree.host.node_sockets is None:
            self.assumed.append("no source shows sockets: each NUMA node is one")
        if self.tree.is_nested:
            self.assumed.append(
                "the source shows no root ports: devices of a socket that share no switch are on different stacks"
            )


def _key(function: Function) -> str:
    return function.slot.rpartition(".")[0]


def _trained(*ends: Function | None) -> LinkEnd | None:
    """The first of the ends of a link with a known speed and width."""
    links = (end.link for end in ends if end is not None)
    return next((link for link in links if link is not None and link.is_up), None)


def _unreal(tree: Tree, link: Link) -> str | None:
    if internal(link) is not None:
        return "link inside a chip"
    if link.port is None:
        return _NO_PORT
    reason = made_up(tree, link)
    return None if reason is None else reason.partition(" (")[0] if "(" in reason else reason


def _node(functions: tuple[Function, ...]) -> int | None:
    nodes = [one.numa_node for one in functions if one.numa_node is not None and one.numa_node >= 0]
    return nodes[0] if nodes else None


def _kind(functions: tuple[Function, ...]) -> DeviceKind:
    """The kind of a device: that of its first function with a known class."""
    first = functions[0]
    if first.vendor_id in _FPGA_VENDORS:
        return "fpga"
    for one in functions:
        if one.class_code in _KINDS:
            return _KINDS[one.class_code]
        if one.base_class in _KINDS_OF_BASES:
            return _KINDS_OF_BASES[one.base_class]
    return "device"


def _socket_name(socket: int) -> str:
    return f"socket{socket}"


def edges(tree: Tree) -> dict[str, str]:
    """The edge above each device or switch, `upper->lower`, by the slots of its functions and of its port."""
    found: dict[str, str] = {}
    for position in topology(tree).positions:
        if position.end is None:
            continue
        for one in (*position.functions, *([position.port] if position.port else [])):
            found[one.slot] = f"{position.upper}->{position.name}"
    return found
