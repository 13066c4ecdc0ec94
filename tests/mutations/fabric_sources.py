"""Changed machines as fabrics: lspci texts, NCCL topologies, and both together.

Each fabric file must load, and each of its PCIe links must be in the source: an oracle that knows neither the
reader nor the topology looks for both ends, the bus below the port, and the trained speed and width.
"""

import random
import re
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import mutate

from copied_lspci import as_printed
from fabric_machines import MACHINES, NCCL
from pcielab.doctor import Tree, machine_of_text, merged, read_machine
from pcielab.errors import InputError
from pcielab.fabric import Fabric, drawn, fabric_of, placements, shares, written_flows
from pcielab.library.fabrics.load import of_text

Draw = random.Random
_SLOT = re.compile(r"^(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) ", re.MULTILINE)
_SPEEDS = {1: "2.5", 2: "5", 3: "8", 4: "16", 5: "32", 6: "64", 7: "128"}


@cache
def _text(name: str) -> bytes:
    return MACHINES[name]().encode()


def _changed(draw: Draw) -> bytes:
    """A machine, or a part of a large one, with changes."""
    text = _text(draw.choice(sorted(MACHINES)))
    blocks = text.strip().split(b"\n\n")
    first = draw.randrange(max(1, len(blocks) - 12))
    return mutate.text(draw, b"\n\n".join(blocks[first : first + draw.choice([4, 12, 24])]) + b"\n")


def fabric_content(tree: Tree) -> dict[str, Any]:
    """The file of a tree, loaded; its content."""
    text = fabric_of(tree, "mine").text
    of_text(text, Path("mine.toml"))
    return tomllib.loads(text)


def lspci_text(draw: Draw, folder: Path) -> None:
    """A changed text of lspci."""
    path = folder / "lspci.txt"
    path.write_bytes(_changed(draw))
    check_lspci(fabric_content(read_machine(path)), path.read_bytes().decode(errors="replace"))


def nccl_topology(draw: Draw, folder: Path) -> None:
    """A changed topology of NCCL."""
    path = folder / "topo.xml"
    path.write_bytes(mutate.text(draw, NCCL.encode()))
    content = fabric_content(read_machine(path))
    if next(iter(_links(content)), None) is not None:
        _check_nccl(content, path.read_bytes())


def both_sources(draw: Draw, folder: Path) -> None:
    """A changed text of lspci, and a changed topology of the same machine."""
    lspci, topology = folder / "lspci.txt", folder / "topo.xml"
    lspci.write_bytes(mutate.text(draw, _text("dgx")[:20_000]))
    topology.write_bytes(mutate.text(draw, NCCL.encode()))
    trees = [read_machine(path) for path in (lspci, topology)]
    if all(tree.is_nested for tree in trees):
        raise InputError("two topologies: not what this case tries")
    elements = _elements(topology.read_bytes()) if trees[1].is_nested else {}
    check_lspci(fabric_content(merged(*trees)), lspci.read_bytes().decode(errors="replace"), elements)


def check_lspci(
    content: dict[str, Any], text: str, elements: Mapping[str, ElementTree.Element] = MappingProxyType({})
) -> None:
    """Check that a text shows every PCIe link of a fabric; its speed and width may be in an element of NCCL."""
    shown = as_printed(text)
    starts = [*_SLOT.finditer(shown)]
    ends = [start.start() for start in starts[1:]] + [len(shown)]
    blocks: dict[str, str] = {}
    for start, end in zip(starts, ends, strict=True):
        blocks.setdefault(f"{start[1] or '0000'}:{start[2]}", shown[start.start() : end])
    for link, lower in _links(content):
        slot, port = lower["slot"], lower["port"]
        generation, lanes = re.fullmatch(r"gen(\d)x(\d+)", link["link"]).groups()
        assert f"secondary={slot.split(':')[1]}" in blocks[port], f"{port} is not above {slot}"
        speed = rf"LnkSta:\s+Speed {_SPEEDS[int(generation)]} ?GT/s.*?Width x{lanes}\b"
        ends_of = blocks[slot] + blocks[port]
        in_text = re.search(speed, ends_of, re.DOTALL) is not None
        in_element = slot in elements and _trained_to(elements[slot], int(generation), lanes)
        assert in_text or in_element, f"no end of {port} to {slot} trained to {link['link']}"


def _check_nccl(content: dict[str, Any], text: bytes) -> None:
    root, elements = _root(text), _elements(text)
    above = {child.get("busid", "").lower(): element for element in root.iter() for child in element}
    parts = {node["name"]: node["machine"] for node in content["node"]}
    for link, lower in _links(content):
        element = elements[lower["slot"]]
        generation, lanes = re.fullmatch(r"gen(\d)x(\d+)", link["link"]).groups()
        assert _trained_to(element, int(generation), lanes)
        outer = above[lower["slot"]]
        assert outer.tag in ("pci", "cpu", "system")
        assert parts[link["upper"]].get("slot") == (outer.get("busid", "").lower() if outer.tag == "pci" else None)


def _root(text: bytes) -> ElementTree.Element:
    # Editions of XML differ in the letters of names: the parser of this test knows an earlier one than the reader.
    return ElementTree.fromstring(text.decode("ascii", errors="replace").replace("\ufffd", "x"))


def _elements(text: bytes) -> dict[str, ElementTree.Element]:
    return {one.get("busid", "").lower(): one for one in _root(text).iter("pci")}


def _trained_to(element: ElementTree.Element, generation: int, lanes: str) -> bool:
    shown = element.get("link_speed", "").replace(".0", "")
    return shown.startswith(f"{_SPEEDS[generation]} GT/s") and element.get("link_width", "").lstrip("0") == lanes


def _links(content: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The PCIe links of a fabric, each with the part on its lower end."""
    parts = {node["name"]: node["machine"] for node in content["node"]}
    return [(link, parts[link["lower"]]) for link in content["link"] if "link" in link]


@cache
def _dgx() -> Fabric:
    return of_text(fabric_of(machine_of_text(MACHINES["dgx"](), "lspci.txt"), "dgx").text, Path("dgx.toml"))


_FLOWS = ("gpu0->nic1:20GB/s", "gpu7->host0", "nvme0 -> gpu3 : 16 Gb/s", "gpu0->stack 0000:15")
_PATTERNS = ("all-to-host", "ring:gpu0,gpu1,nic3", "ring", "pairs", "checkpoint-to-nvme")


def written(draw: Draw, folder: Path) -> None:
    """Changed flows as written, and patterns, with their shares, tree and placements."""
    del folder
    # A change of a short text mostly destroys it: the other is then left as it is.
    flow, pattern = draw.choice(_FLOWS), draw.choice(_PATTERNS)
    if draw.random() < 0.5:
        flow = mutate.text(draw, flow.encode()).decode(errors="replace")
    else:
        pattern = mutate.text(draw, pattern.encode()).decode(errors="replace")
    flows = written_flows(_dgx(), [flow], draw.choice([None, pattern]))
    found = shares(_dgx(), flows)
    drawn(_dgx(), found)
    assert (found.flows["gbytes_per_s"] < 200).all()
    if draw.random() < 0.1:
        placements(_dgx(), flows, found)


KINDS = {
    "fabric-texts": lspci_text,
    "fabric-nccl": nccl_topology,
    "fabric-merged": both_sources,
    "written-flows": written,
}
