"""A machine as `pcielab expect` asks about it: devices, switches, the root complex above them, and peers.

Three sources give one: what a machine shows (`lspci -vvv`, NCCL's topology, `/sys`), a fabric file that
`pcielab fabric from` wrote, and a file with `kind = "machine"`, which people write by hand. A key that a source
does not have is None: unknown, never a guess.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal, TypeAlias

from pcielab import _core, model
from pcielab.errors import refusal
from pcielab.library.alike import suggestion
from pcielab.library.usual_link import USUAL_MPS_BYTES
from pcielab.wording import named

Direction: TypeAlias = Literal["down", "up"]
Scope: TypeAlias = Literal["same-switch", "same-stack", "one-socket", "other-socket", "unknown"]
PartKind: TypeAlias = Literal["switch", "gpu", "nic", "nvme", "storage", "accelerator", "fpga", "cxl", "device"]
_LARGE_BYTES = 4096
_LARGEST_MPS_BYTES = 512
"""Largest MPS that ports of servers usually support: what an unknown MPS may be."""
_LANES = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class Link:
    """A PCIe link as it trained.

    Attributes:
        generation: 1 to 6.
        lanes: Its width.
        mps_bytes: MPS of the path; None if no source shows it.
        given_gbytes_per_s: What a fabric file says that it carries, downwards and upwards; None: modelled.
    """

    generation: int
    lanes: int
    mps_bytes: int | None = None
    given_gbytes_per_s: tuple[float, float] | None = None

    @property
    def words(self) -> str:
        """`Gen5 x16`."""
        return f"Gen{self.generation} x{self.lanes}"

    def payload_gbytes_per_s(self, data: Direction, *, reads: bool) -> float:
        """Payload of large transfers one way, GB/s: completions of reads, or writes.

        Where MPS is unknown, it is the usual one.
        """
        return self._payload(data, reads=reads, mps_bytes=self.mps_bytes or USUAL_MPS_BYTES)

    def bound_gbytes_per_s(self, data: Direction, *, reads: bool) -> float:
        """The most that the link carries, GB/s: with the largest usual MPS where it is unknown."""
        return self._payload(data, reads=reads, mps_bytes=self.mps_bytes or _LARGEST_MPS_BYTES)

    def _payload(self, data: Direction, *, reads: bool, mps_bytes: int) -> float:
        if self.given_gbytes_per_s is not None:
            return self.given_gbytes_per_s[0 if data == "down" else 1]
        completions, writes = _payloads(self.generation, self.lanes, mps_bytes)
        return completions if reads else writes


@cache
def _payloads(generation: int, lanes: int, mps_bytes: int) -> tuple[float, float]:
    """What completions and writes of large transfers carry, GB/s."""
    link = model.Link(
        generation=generation, lanes=lanes, mps_bytes=mps_bytes, mrrs_bytes=_LARGE_BYTES, rcb_bytes=64
    )
    [row] = model.bandwidth(link, [_LARGE_BYTES])
    return row.read.gbps / 8, row.write.gbps / 8


def link_of_capacity(down: float, up: float) -> Link:
    """The link whose payload is nearest to given capacities, GB/s, with those capacities."""
    nearest = min(
        ((generation, lanes) for generation in range(1, 7) for lanes in _LANES),
        key=lambda one: abs(_payloads(*one, USUAL_MPS_BYTES)[1] / up - 1),
    )
    return Link(*nearest, given_gbytes_per_s=(down, up))


@dataclass(frozen=True)
class Part:
    """A switch or a device, and its link.

    Attributes:
        name: Unique in its machine.
        kind: `switch`, or the kind of a device.
        link: The link above it.
        upper: The switch above; None: a root port.
        socket: Of its root port; None if unknown.
        stack: Stack of the root complex (host bridge; on AMD a quadrant of the I/O die); None if unknown.
        redirects: Whether ACS redirects requests between the devices of a switch at its ports.
        line_gbps: Of a NIC, all ports together, Gb/s.
        read_gbytes_per_s: Of a drive, its medium.
        write_gbytes_per_s: Of a drive, its medium.
        vendor: Of a GPU: `nvidia`, `amd` or `intel`; None if unknown.
        title: What it is, for people.
    """

    name: str
    kind: PartKind
    link: Link | None
    upper: str | None = None
    socket: int | None = None
    stack: str | None = None
    redirects: bool | None = None
    line_gbps: float | None = None
    read_gbytes_per_s: float | None = None
    write_gbytes_per_s: float | None = None
    vendor: str | None = None
    title: str = ""


@dataclass(frozen=True)
class Peers:
    """Devices that links of their own connect, beside PCIe.

    Attributes:
        kind: `nvlink`, `infinity-fabric`...
        devices: Their names.
        gbytes_per_s: What one device sends to all others, raw, GB/s; None if unknown.
        pair_gbytes_per_s: What one sends to one other, raw; None: as to all.
    """

    kind: str
    devices: tuple[str, ...]
    gbytes_per_s: float | None = None
    pair_gbytes_per_s: float | None = None

    def connect(self, one: str, other: str) -> bool:
        """Whether both are among its devices."""
        return one in self.devices and other in self.devices


@dataclass(frozen=True)
class Way:
    """What data pass between two devices.

    Attributes:
        up: The parts whose links they go up.
        down: The parts whose links they go down.
        scope: What is between them.
        is_redirected: Whether ACS sends them to the root port and back.
    """

    up: tuple[Part, ...]
    down: tuple[Part, ...]
    scope: Scope
    is_redirected: bool = False


@dataclass(frozen=True)
class Machine:
    """A machine.

    Attributes:
        name: Short name.
        title: One line for people.
        processor: Its processor as a source names it; empty if none does.
        family: Its processors' family (`pcielab.expectations.processors`); None if unknown.
        sockets: Number of sockets; None if unknown.
        parts: Switches and devices by name.
        peers: Links beside PCIe.
        p2p: Whether drivers let devices exchange data directly; None if unknown.
        host: The host profile whose times simulators use; None: none is named.
        notes: What was assumed or not seen.
    """

    name: str
    title: str
    processor: str
    family: str | None
    sockets: int | None
    parts: Mapping[str, Part]
    peers: tuple[Peers, ...] = ()
    p2p: bool | None = None
    host: str | None = None
    notes: tuple[str, ...] = field(default=())

    def devices(self, *kinds: str) -> list[Part]:
        """Its devices, or those of some kinds, in order."""
        return [
            part for part in self.parts.values() if part.kind in kinds or (not kinds and part.kind != "switch")
        ]

    def part(self, name: str) -> Part:
        """A switch or device by name.

        Raises:
            InputError: There is none.
        """
        if name not in self.parts:
            raise refusal(
                "not-found", f"{named(name)}: no device of {self.name}: {suggestion(name, list(self.parts))}"
            )
        return self.parts[name]

    def chain(self, name: str) -> tuple[Part, ...]:
        """A part and the switches above it."""
        found = [self.part(name)]
        while (upper := found[-1].upper) is not None:
            found.append(self.part(upper))
        return tuple(found)

    def top(self, name: str) -> Part:
        """The part below the root port that leads to a part; it has the socket and the stack."""
        return self.chain(name)[-1]

    def way(self, source: str, destination: str, *, redirected: bool | None = None) -> Way:
        """What data pass from one device to another.

        Args:
            source: Where they come from.
            destination: Where they go to.
            redirected: Whether ACS redirects requests; None: as the machine says.
        """
        first, last = self.chain(source), self.chain(destination)
        shared = [part for part in first if part in last]
        if not shared:
            return Way(first, last[::-1], self._scope(first[-1], last[-1]))
        up, down = first[: first.index(shared[0])], last[: last.index(shared[0])]
        redirects = shared[0].redirects if redirected is None else redirected
        detour = tuple(shared) if redirects else ()
        return Way((*up, *detour), (*detour[::-1], *down[::-1]), "same-switch", bool(redirects))

    def _scope(self, one: Part, other: Part) -> Scope:
        if self.sockets == 1:
            same = one.stack is not None and one.stack == other.stack
            return "same-stack" if same else "one-socket"
        if one.socket is None or other.socket is None:
            return "unknown"
        if one.socket != other.socket:
            return "other-socket"
        return "same-stack" if one.stack is not None and one.stack == other.stack else "one-socket"

    def peers_of(self, one: str, other: str) -> Peers | None:
        """The links beside PCIe that connect two devices; None if there are none."""
        return next((peers for peers in self.peers if peers.connect(one, other)), None)

    def with_links(self, links: Mapping[str, Link]) -> "Machine":
        """The machine with other links above some parts.

        Raises:
            InputError: There is no such part.
        """
        changed = {name: replace(self.part(name), link=link) for name, link in links.items()}
        return replace(self, parts={**self.parts, **changed})


def expanded(names: str) -> list[str]:
    """The names of a text: `gpu0`, `gpu0..3`, `gpu0..1,gpu4`.

    Raises:
        InputError: A range has no numbers.
    """
    return _core.expanded_names(names)


def checked(parts: Iterable[Part]) -> dict[str, Part]:
    """Parts by name; each names a switch above it that is there, and no switch is above itself.

    Raises:
        InputError: A name is there twice, or a switch is missing or above itself.
    """
    found: dict[str, Part] = {}
    for part in parts:
        if part.name in found:
            raise refusal("conflict", f"{named(part.name)}: is there twice: give every device its own name")
        found[part.name] = part
    switches = [name for name, part in found.items() if part.kind == "switch"]
    for part in found.values():
        seen, upper = {part.name}, part.upper
        while upper is not None:
            if upper not in switches:
                raise refusal(
                    "not-found", f"{named(part.name)}.below is {named(upper)}: {suggestion(upper, switches)}"
                )
            if upper in seen:
                raise refusal("conflict", f"{named(upper)}: is below itself: give the switches as a tree")
            seen.add(upper)
            upper = found[upper].upper
    return found


def link_of_word(word: str) -> Link | None:
    """The link of a word, `gen5x16`; None if it names no link."""
    generation, cross, lanes = word.removeprefix("gen").partition("x")
    if not (cross and generation in "123456" and generation and lanes.isdigit() and int(lanes) in _LANES):
        return None
    return Link(int(generation), int(lanes))
