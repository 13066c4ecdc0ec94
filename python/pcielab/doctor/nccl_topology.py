"""Read a tree from the topology that NCCL dumps (`NCCL_TOPO_DUMP_FILE`), an XML file.

Elements nest as the machine does: `system`, `cpu` (a NUMA node), `pci` (a switch or a device), and in it `gpu`,
`nic` and `net`. A `pci` element has the link above it. NCCL shows upstream ports of switches, but no other ports,
and no registers. A switch may stand there several times, once for each part of what is below it. `nvlink` and
`xgmi` are connections of their own kind. Identifiers of devices (`guid`) are not kept.

The file is foreign: document types, and so entities, are refused, as are deep nesting and unknown structures.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from pcielab.doctor.tree import LANES, MOST_FUNCTIONS, SPEEDS, Function, Host, LinkEnd, Peer, Piece, Tree
from pcielab.errors import InputError
from pcielab.library.input_files import read_bytes
from pcielab.wording import named, printable

_MOST_BYTES = 16 << 20
_MOST_DEPTH = 64
_MOST_ELEMENTS = 100_000
_SLOT = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_CLASS = re.compile(r"0x([0-9a-f]{4})[0-9a-f]{2}", re.IGNORECASE)
_SPEED = re.compile(r"(\d{1,3}(?:\.\d)?) ?GT/s")
_NUMBER = re.compile(r"\d{1,5}")
_LABEL = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_BRIDGE, _BRIDGE_CLASS = 0x0604, "0x0604"
_TITLES = {
    0x02: "Network controller",
    0x03: "Display controller",
    0x06: "PCI bridge",
    0x12: "Processing accelerator",
}
_REMEDY = "give the file that NCCL writes with NCCL_TOPO_DUMP_FILE=topo.xml"


def read_nccl_file(path: Path) -> Tree:
    """The tree of a file.

    Raises:
        InputError: It cannot be read, is not well-formed, or shows no device.
    """
    return read_nccl(read_bytes(path, _MOST_BYTES), str(path))


def read_nccl(content: bytes, source: str) -> Tree:
    """The tree of a text.

    Args:
        content: The XML.
        source: Its name in messages.

    Raises:
        InputError: It is not well-formed, or shows no device.
    """
    reader = _Reader(source)
    # With namespaces, so that names in them are not taken for those of NCCL.
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.StartDoctypeDeclHandler = reader.refuse_document_type
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        reason = printable(expat.ErrorString(error.code))
        raise InputError(f"{source}: line {error.lineno}: not well-formed XML ({reason}): {_REMEDY}") from None
    except InputError:
        raise
    except (ValueError, LookupError):
        raise InputError(f"{source}: not XML in a known encoding: {_REMEDY}") from None
    if not reader.found:
        raise InputError(f"{source}: shows no element pci with a busid: {_REMEDY}")
    host = Host(nodes=tuple(sorted(reader.nodes)) or None)
    functions = tuple(one.function() for one in reader.found.values())
    used = f"links of {len(functions)} functions"
    return Tree(
        source=source,
        functions=functions,
        host=host,
        unseen=tuple(reader.unseen),
        is_nested=True,
        peers=reader.peers(),
        pieces=(Piece(form="NCCL topology", first_line=1, used_for=used),),
    )


@dataclass
class _Found:
    """A `pci` element."""

    slot: str
    attributes: dict[str, str]
    above: str | None
    node: int | None
    label: str | None = None

    def function(self) -> Function:
        code = _CLASS.fullmatch(self.attributes.get("class", ""))
        class_code = int(code[1], 16) if code else None
        vendor, device = (_hex(self.attributes.get(key)) for key in ("vendor", "device"))
        ids = "" if vendor is None or device is None else f" [{vendor:04x}:{device:04x}]"
        kind = _TITLES.get((class_code or 0) >> 8, "Device")
        return Function.model_construct(
            slot=self.slot,
            title=f"{kind}: device{ids}",
            vendor_id=vendor,
            device_id=device,
            class_code=class_code,
            kind="upstream-port" if class_code == _BRIDGE else "endpoint",
            numa_node=self.node,
            link=self._link(),
            above_slot=self.above,
            label=self.label,
        )

    def _link(self) -> LinkEnd | None:
        shown = _SPEED.match(self.attributes.get("link_speed", ""))
        speeds = [speed for speed in SPEEDS if shown and float(shown[1]) == speed]
        width = _number(self.attributes.get("link_width"))
        if not speeds or width not in LANES:
            return None
        return LinkEnd.model_construct(speed_gtps=speeds[0], lanes=width)


@dataclass
class _Reader:
    """Keeps the open elements, and every `pci` element so far."""

    source: str
    found: dict[str, _Found] = field(default_factory=dict)
    nodes: set[int] = field(default_factory=set)
    unseen: list[str] = field(default_factory=list)
    _open: list[tuple[str, _Found | None]] = field(default_factory=list)
    _node: int | None = None
    _elements: int = 0
    _connections: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def peers(self) -> tuple[Peer, ...]:
        """The connections between functions that are no PCIe links; both ends may show one."""
        found = {}
        for (kind, one, other), count in self._connections.items():
            ends = (min(one, other), max(one, other))
            found[kind, ends] = Peer(kind=kind, ends=ends, links=count or None)
        return tuple(found.values())

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        if not self._open and name != "system":
            raise InputError(f"{self.source}: the outermost element is {named(name)}, not system: {_REMEDY}")
        if len(self._open) >= _MOST_DEPTH or self._elements > _MOST_ELEMENTS:
            most = f"{_MOST_DEPTH} levels and {_MOST_ELEMENTS} elements"
            raise InputError(f"{self.source}: more than {most}: {_REMEDY}")
        made = None
        if name == "cpu":
            self._node = _number(attributes.get("numaid"))
            if self._node is not None:
                self.nodes.add(self._node)
        elif name == "pci":
            made = self._pci(attributes)
        elif name in ("gpu", "net"):
            self._name(name, attributes)
        elif name in ("nvlink", "xgmi"):
            self._connect(name, attributes)
        self._open.append((name, made))

    def end(self, name: str) -> None:
        self._open.pop()
        if name == "cpu":
            self._node = None

    def refuse_document_type(self, *_: object) -> None:
        raise InputError(f"{self.source}: has a document type, which may define entities: {_REMEDY}")

    def _pci(self, attributes: dict[str, str]) -> _Found | None:
        slot = attributes.get("busid", "").lower()
        if not _SLOT.fullmatch(slot):
            raise InputError(f"{self.source}: busid is {named(slot)}: {_REMEDY}")
        if (known := self.found.get(slot)) is not None:
            is_bridge = attributes.get("class", "").startswith(_BRIDGE_CLASS)
            if known.attributes != attributes or not is_bridge:
                raise InputError(f"{self.source}: busid {slot} is there twice: give the topology of one machine")
            return known
        if len(self.found) >= MOST_FUNCTIONS:
            raise InputError(f"{self.source}: more than {MOST_FUNCTIONS} PCI functions: give one machine")
        above = self._innermost()
        self.found[slot] = _Found(slot, attributes, above.slot if above else None, self._node)
        return self.found[slot]

    def _connect(self, kind: str, attributes: dict[str, str]) -> None:
        device, target = self._innermost(), attributes.get("target", "").lower()
        if device is None or not _SLOT.fullmatch(target) or target == device.slot:
            return
        count = _number(attributes.get("count")) or 0
        if len(self._connections) < MOST_FUNCTIONS:
            self._connections[kind, device.slot, target] = count

    def _innermost(self) -> _Found | None:
        return next((made for _, made in reversed(self._open) if made is not None), None)

    def _name(self, name: str, attributes: dict[str, str]) -> None:
        device, number = self._innermost(), _number(attributes.get("dev"))
        label = f"gpu{number}" if name == "gpu" and number is not None else attributes.get("name", "")
        if device is not None and device.label is None and _LABEL.fullmatch(label):
            device.label = label


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and _NUMBER.fullmatch(text) else None


def _hex(text: str | None) -> int | None:
    return int(text, 16) if text is not None and re.fullmatch(r"0x[0-9a-fA-F]{1,4}", text) else None
