"""Write a fabric file of a machine: trained links, modelled capacities, and comments on their origin.

Nothing is invented: every link of the file is one that a source shows, with the speed and width that it trained
to. The inside of the processor has no registers: its links carry what `borrowed` says, or limit nothing, and
comments say which.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pcielab import model
from pcielab._core import INSIDE_GBYTES_PER_S, SPEEDS_GTPS as SPEEDS
from pcielab.argument_types import refuses_wrong_types
from pcielab.doctor import Position, Topology, Tree, topology
from pcielab.errors import refusal
from pcielab.fabric.own_links import own_links
from pcielab.library.usual_link import USUAL_MPS_BYTES
from pcielab.wording import printable

_KINDS = {
    "sockets": "internal-switch",
    "socket": "internal-switch",
    "memory": "host",
    "stack": "internal-switch",
    "root-port": "root-port",
    "switch": "switch",
    "device": "device",
}
_REDIRECTS = {"ReqRedir", "CmpltRedir"}
_LARGE_BYTES = 4096
_MOST_LETTERS, _MOST_NOTES = 160, 1000
_NOTES = (
    "Links have the speed and width that they trained to. Their capacities are modelled: payload of large "
    "transfers, downwards of completions to reads, upwards of writes. Capacities inside the processor are "
    "borrowed from published figures, or limit nothing; comments say which."
)
_REMEDY = (
    "give the output of `sudo lspci -vvv` on the whole machine, not inside a virtual machine, or NCCL's topology"
)


@dataclass(frozen=True)
class WrittenFabric:
    """A fabric file.

    Attributes:
        text: The TOML.
        nodes: Number of nodes.
        links: Number of PCIe links.
        notes: What was left out, assumed or not seen.
    """

    text: str
    nodes: int
    links: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class MemoryRate:
    """What the memory of a socket carries for devices, as published figures of such processors have it.

    Attributes:
        gbytes_per_s: The middle of what they reached; None if memory held none of them down.
        text: The figures, for people.
    """

    gbytes_per_s: float | None
    text: str


Memory: TypeAlias = Mapping[Literal["read", "write"], MemoryRate]


@refuses_wrong_types
def fabric_of(tree: Tree, name: str, memory: Memory | None = None) -> WrittenFabric:
    """The fabric file of a tree.

    Args:
        tree: The machine.
        name: Name of the fabric.
        memory: What the memory of a socket carries for reads and writes of devices; nothing of a direction that
            nobody measured on such processors.

    Raises:
        InputError: The tree shows no PCIe link.
    """
    found = topology(tree)
    links = [position for position in found.positions if position.end is not None]
    if not links:
        reasons = "; ".join((*found.left_out, *tree.unseen))
        raise refusal(
            "missing", f"{tree.source}: shows no link with both ends{reasons and f' ({reasons})'}: {_REMEDY}"
        )
    assumed = tuple(f"assumed: {text}" for text in found.assumed)
    left_out = tuple(f"left out: {text}" for text in found.left_out)
    notes = (*assumed, *left_out, *(f"not seen: {text}" for text in tree.unseen))
    payloads = _payloads(found)
    links_in_file = _links(found, payloads, memory or {})
    blocks = [_head(tree, name, notes, payloads), *map(_node, found.positions), *links_in_file]
    blocks += _peers(tree, found)
    return WrittenFabric("\n".join(blocks), len(found.positions), len(links), notes)


def _head(tree: Tree, name: str, notes: tuple[str, ...], payloads: dict[str, int]) -> str:
    return "\n".join(
        [
            f"name = {_text(name)}",
            f"title = {_text(f'{name}, as read from {tree.source}')}",
            f"mps_bytes = {min(payloads.values(), default=USUAL_MPS_BYTES)}",
            "",
            *(f"# {_comment(note)}" for note in notes),
            "[provenance]",
            f"source = {_text(f'pcielab fabric from {tree.source}')}",
            f"notes = {_text(_NOTES, _MOST_NOTES)}",
            "",
        ]
    )


def _payloads(found: Topology) -> dict[str, int]:
    """The smallest MPS on both ends of the link above each position and below it, where one was read."""
    least: dict[str, int] = {}
    for position in reversed(found.positions):
        functions = [*position.functions, *([position.port] if position.port else [])]
        sizes = [one.control.mps_bytes for one in functions if one.control and one.control.mps_bytes]
        size = min([*sizes, *([least[position.name]] if position.name in least else [])], default=None)
        if size is None:
            continue
        least[position.name] = size
        if position.upper is not None:
            least[position.upper] = min(size, least.get(position.upper, size))
    return least


def _node(position: Position) -> str:
    lines = ["[[node]]", f"name = {_text(position.name)}", f'kind = "{_KINDS[position.part]}"']
    if position.function is not None:
        lines.insert(1, f"# {_comment(f'{position.function.slot} {position.function.title}')}")
    if position.kind is not None and (preset := _preset(position)) is not None:
        lines.append(f'device = "{preset}"')
    facts = ", ".join(f"{key} = {value}" for key, value in _facts(position))
    return "\n".join([*lines, f"machine = {{ {facts} }}", ""])


def _facts(position: Position) -> Iterator[tuple[str, str]]:
    """The keys of `machine` that were read."""
    one, port = position.function, position.port
    control = one.control if one else None
    yield "part", f'"{position.part}"'
    known = {
        "kind": position.kind,
        "slot": one.slot if one else None,
        "numa_node": position.node,
        "mps_bytes": control.mps_bytes if control else None,
        "mrrs_bytes": control.mrrs_bytes if control and position.part == "device" else None,
        "relaxed_ordering": control.relaxed_ordering if control else None,
        "ats": one.ats_enabled if one else None,
        "iommu": one.iommu_type if one else None,
        "port": port.slot if port else None,
        "redirects": None
        if port is None or port.acs_enabled is None
        else bool(_REDIRECTS & set(port.acs_enabled)),
    }
    for key, value in known.items():
        if value is not None:
            yield key, _text(value) if isinstance(value, str) else json.dumps(value)


def _preset(position: Position) -> str | None:
    """The preset whose times the simulator uses for a device of that kind and link; None if none is alike."""
    speed = position.end.speed_gtps if position.end is not None else None
    fast, wide = (speed or 0) >= 32, (position.end.lanes or 0) >= 16 if position.end else False
    match position.kind:
        case "gpu" | "accelerator":
            return "gpu-h100" if fast and wide else "gpu"
        case "nic":
            return "nic-400g" if fast and wide else "nic-200g" if (speed or 0) >= 16 and wide else "nic-100g"
        case "nvme":
            return "nvme-gen5" if fast else "nvme-gen4" if (speed or 0) >= 16 else "nvme-gen3"
        case "fpga":
            return "fpga-xdma"
        case _:
            return None


def _links(found: Topology, payloads: dict[str, int], memory: Memory) -> Iterator[str]:
    for position in found.positions:
        if position.upper is None:
            continue
        ends = ["[[link]]", f"upper = {_text(position.upper)}", f"lower = {_text(position.name)}"]
        yield "\n".join(
            [*ends, *(_trained(position, payloads) if position.end else _inside(position, memory)), ""]
        )


def _inside(position: Position, memory: Memory) -> Iterator[str]:
    """The keys of a link inside the processor."""
    if position.part == "root-port":
        return
    if position.part != "memory":
        yield "# inside the processor, no register: limits nothing"
        yield f"down_gbytes_per_s = {INSIDE_GBYTES_PER_S}"
        yield f"up_gbytes_per_s = {INSIDE_GBYTES_PER_S}"
        return
    directions: tuple[tuple[str, Literal["read", "write"]], ...] = (("down", "write"), ("up", "read"))
    for key, direction in directions:
        rate = memory.get(direction)
        if rate is None:
            yield f"# unknown: nobody published what memory carries for {direction}s of devices on such processors"
            yield f"{key}_gbytes_per_s = {INSIDE_GBYTES_PER_S}"
            continue
        yield f"# borrowed, memory for {direction}s of devices, {_comment(rate.text)}"
        limit = INSIDE_GBYTES_PER_S if rate.gbytes_per_s is None else round(rate.gbytes_per_s, 1)
        yield f"{key}_gbytes_per_s = {limit}"


def _peers(tree: Tree, found: Topology) -> Iterator[str]:
    """Links beside PCIe, each kind as edges of its own."""
    names = {position.name for position in found.positions}
    for kind, devices in own_links(tree, found.positions):
        if len(devices) > 1 and names.issuperset(devices):
            listed = ", ".join(_text(device) for device in devices)
            comment = "# no source shows their rate: give gbytes_per_s, what one sends to all others"
            yield "\n".join(["[[peers]]", comment, f"kind = {_text(kind)}", f"devices = [{listed}]", ""])


def _trained(position: Position, payloads: dict[str, int]) -> Iterator[str]:
    """The keys of a PCIe link, with its capacities."""
    end, device = position.end, position.function
    if end is None or end.speed_gtps is None or not end.lanes or device is None:
        return
    mps_bytes = (device.control and device.control.mps_bytes) or USUAL_MPS_BYTES
    link = model.Link(
        generation=SPEEDS.index(end.speed_gtps) + 1,
        lanes=end.lanes,
        mps_bytes=min(mps_bytes, payloads.get(position.name, mps_bytes)),
        mrrs_bytes=_LARGE_BYTES,
        rcb_bytes=end.rcb_bytes or 64,
        ecrc=bool(device.errors and device.errors.ecrc_generated),
        flit_mode=end.flit_mode or None,
    )
    [row] = model.bandwidth(link, [_LARGE_BYTES])
    mps = f"MPS {link.mps_bytes} B{'' if position.name in payloads else ' (not read: assumed)'}"
    yield f"# trained to {end.speed_gtps:g} GT/s x{end.lanes}, {mps}{_below_both_ends(position)}"
    yield f'link = "gen{link.generation}x{end.lanes}"'
    yield f"down_gbytes_per_s = {row.read.gbps / 8:.3f}"
    yield f"up_gbytes_per_s = {row.write.gbps / 8:.3f}"


def _below_both_ends(position: Position) -> str:
    end, ends = (
        position.end,
        [position.port.link if position.port else None, position.function.link if position.function else None],
    )
    speeds = [one.max_speed_gtps for one in ends if one and one.max_speed_gtps]
    lanes = [one.max_lanes for one in ends if one and one.max_lanes]
    if end is None or len(speeds) < 2 or len(lanes) < 2 or end.speed_gtps is None or end.lanes is None:
        return ""
    if end.speed_gtps >= min(speeds) and end.lanes >= min(lanes):
        return ""
    rest = "; devices may lower their speed at rest: read it again under load" if end.lanes >= min(lanes) else ""
    return f", of {min(speeds):g} GT/s x{min(lanes)} that both ends support{rest}"


def _text(value: str, most_letters: int = _MOST_LETTERS) -> str:
    """A TOML string: one line, printable."""
    return json.dumps(_comment(value, most_letters), ensure_ascii=False)


def _comment(text: str, most_letters: int = _MOST_LETTERS) -> str:
    """A foreign text on one line, without control characters, truncated."""
    return re.sub(r"\s+", " ", printable(text))[:most_letters]
