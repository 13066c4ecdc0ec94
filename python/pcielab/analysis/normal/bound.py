"""What link, path and engine allow: the bounds of a question, in the units of its value.

Wire: the link with the payload that this path carries in a TLP. Line: a NIC's. In flight: bytes in flight over the
round trip. Call: size / (t0 + size / B), with the usual cost t0 of a call, of copy engines. Memory behind CXL.mem
has the bounds of `pcielab model cxl`: slots each way, the memory's bus and its banks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from pcielab._core import Tunnel, Width
from pcielab.kinds.line import Line
from pcielab.kinds.question import Question
from pcielab.library.link import Link
from pcielab.library.packet_rates import rate_of_name
from pcielab.library.usual_link import USUAL_MPS_BYTES, usual_mrrs_bytes
from pcielab.model.link import Accounting
from pcielab.model.questions import bandwidth, expander
from pcielab.wording import byte_size, time_text

_LINE_BYTES = 64
"""What a core stores in one TLP, its write-combining buffer, or loads at a time; less if less is asked."""
_FRAME_GAP_BYTES = 20
"""Preamble, start and gap of an Ethernet frame on its line."""
_LEAST_MPS_BYTES = 128
_LARGE_BYTES = 1 << 20
_TLP_BYTES = 24
"""Framing, sequence number, header of 4 dwords, LCRC: of a request with a 64-bit address."""
_COMPLETION_BYTES = 20
_MESSAGE_BYTES = _TLP_BYTES + 4
"""An interrupt message: a write of 4 bytes."""
_TUNNELLED = Width(3, 4)
"""The link whose framing a tunnel is taken to keep: its share of payload, at the tunnel's rate."""


@dataclass(frozen=True)
class Bound:
    """One bound of a question.

    Attributes:
        name: `wire`, `line`, `packets`, `in flight` or `call`; of an expander, a bound of
            `pcielab.model.expander`, or `unloaded`.
        value: What it allows, in GB/s or commands a second; of a latency, the least time, ns.
        because: How it is computed, with its numbers.
        assumed: What was assumed, empty if nothing was.
    """

    name: str
    value: float
    because: str
    assumed: str = ""


@dataclass(frozen=True)
class Call:
    """The usual cost of a call: rows of the published figures.

    Attributes:
        cost_ns: Median over their sources.
        ids: Those rows.
    """

    cost_ns: float
    ids: tuple[str, ...]


def bounds(question: Question, call: Call | None) -> list[Bound]:
    """Every bound that can be computed for a question, the least first (of a latency, the one bound)."""
    if question.is_time:
        return _least_time(question)
    found = [*_of_expander(question)] if question.kind == "expander" else [*_wire(question), *_line(question)]
    size = question.size_bytes or (_LINE_BYTES if question.kind == "expander" else None)
    if size and question.depth and question.round_trip_ns:
        found.append(_in_flight(question, size, question.depth, question.round_trip_ns))
    if call and found and question.engine == "copy" and question.size_bytes:
        found.append(_call(question, min(bound.value for bound in found), call, question.size_bytes))
    if question.what == "iops":
        size = question.size_bytes
        packets = question.value.unit.endswith("pps")
        found = [_commands(bound, size, packets) for bound in found] if size else []
        found += _packets(question) if packets else []
    return sorted(found, key=lambda bound: bound.value)


def raw_rate(question: Question) -> float | None:
    """The raw rate of the link, of both directions if the value is their sum; None: unknown."""
    if question.width is None or question.is_time:
        return None
    raw = question.width.raw_gbps / 8 * (2 if question.what == "both" else 1)
    if question.what == "iops":
        return raw * 1e9 / question.size_bytes if question.size_bytes else None
    return raw


def read_share_of(question: Question) -> float:
    """Share of the lines that are read: as given, or by what moves, half of them both ways."""
    if question.read_share is not None:
        return question.read_share
    return {"d2h": 1.0, "h2d": 0.0, "latency": 1.0}.get(question.what, 0.5)


def _of_expander(question: Question) -> Iterator[Bound]:
    """The bounds of `pcielab model cxl`, of all links together."""
    if question.expander is None:
        return
    profile, assumed = question.expander
    share = read_share_of(question)
    [rates] = expander(profile, [share])
    links = question.width.links if isinstance(question.width, Width) else 1
    link, memory = f"Gen{profile.link.generation} x{profile.link.lanes}", profile.memory
    mix = f"({100 * share:.3g} % reads)"
    because = {
        "slots-to-memory": f"CXL on {link} with {rates.slots_to_memory:.3g} slots to memory a line {mix}",
        "slots-from-memory": f"CXL on {link} with {rates.slots_from_memory:.3g} slots from memory a line {mix}",
        "memory-bus": f"memory behind CXL of {memory.channels} x {memory.megatransfers_per_s} MT/s {mix}",
        "memory-banks": f"memory behind CXL of {memory.channels} x {memory.banks} banks {mix}",
    }
    for name, rate in rates.ceilings.items():
        yield Bound(name, rate * links, because[name], assumed)


def _wire(question: Question) -> list[Bound]:
    if question.width is None:
        return []
    mps, assumed = _payload(question)
    size = question.size_bytes if question.engine in ("dma", "core") and question.size_bytes else _LARGE_BYTES
    if question.engine == "core" and question.what in ("h2d", "d2h"):
        mps, size, assumed = _LINE_BYTES, min(size, _LINE_BYTES), ""
    width, scale = question.width, 1.0
    if isinstance(width, Tunnel):
        width, scale = _TUNNELLED, width.raw_gbps / _TUNNELLED.raw_gbps
    mps = max(mps, _LEAST_MPS_BYTES)
    rate = _wire_gbytes(_link(question, width, mps), min(size, _LARGE_BYTES), _way(question))
    payload = f"{question.width} with {mps} B of payload in a TLP"
    if size < mps:
        payload = f"{question.width} with transfers of {size} B"
    return [Bound("wire", rate * width.links * scale, payload, assumed)]


def _link(question: Question, width: Width, mps_bytes: int) -> Link:
    """The link of one device: as a store has it, for its own width and MPS, otherwise the usual one."""
    known = question.link
    if known is not None and (known.generation, known.lanes, known.mps_bytes) == (
        width.generation,
        width.lanes,
        mps_bytes,
    ):
        return known
    return Link(
        generation=width.generation,
        lanes=width.lanes,
        mps_bytes=mps_bytes,
        mrrs_bytes=usual_mrrs_bytes(mps_bytes),
    )


def _payload(question: Question) -> tuple[int, str]:
    """The most bytes of payload in a TLP, and what was assumed."""
    if isinstance(question.width, Tunnel):
        return question.width.payload_bytes, ""
    return question.mps_bytes or USUAL_MPS_BYTES, "" if question.mps_bytes else f"MPS {USUAL_MPS_BYTES} B assumed"


def _way(question: Question) -> str:
    if question.what == "both":
        return "both"
    reads = "d2h" if question.engine == "core" else "h2d"
    return "read" if question.what == reads else "write"


@cache
def _wire_gbytes(link: Link, size: int, way: str) -> float:
    """Payload rate of one link: of reads, of writes, or of both at once, their sum."""
    [answer] = bandwidth(link, [_whole(size)], accounting=Accounting.SPEC)
    rates = {"read": answer.read.gbps, "write": answer.write.gbps, "both": 2 * answer.rdwr.gbps}
    return rates[way] / 8


def _whole(size: int) -> int:
    """A size that the closed form has: up to a page any, above it whole pages."""
    page = 4096
    return size if size <= page else size // page * page


def _line(question: Question) -> list[Bound]:
    # Packets have a size of their own, with which `_commands` counts preamble and gap.
    protocol = None if question.what == "iops" else question.protocol
    line = Line(
        line_gbps=question.line_gbps, ports=question.ports, protocol=protocol, mtu_bytes=question.mtu_bytes
    )
    rate = line.payload_gbps(question.size_bytes)
    if rate is None:
        return []
    directions = 2 if question.what == "both" else 1
    assumed = "" if protocol is None or question.mtu_bytes else f"MTU {protocol.usual_mtu} B assumed"
    return [Bound("line", directions * rate / 8, line.words, assumed)]


def _packets(question: Question) -> list[Bound]:
    """What the vendor states of frames of this size, all ports together."""
    size = question.size_bytes if question.kind == "nic" else None
    stated = rate_of_name(question.device, size) if size else None
    if stated is None or not stated.limits:
        return []
    return [Bound("packets", stated.rate_mpps * 1e6, f"{stated.model} by its vendor's specification")]


def _in_flight(question: Question, size: int, depth: int, round_trip_ns: float) -> Bound:
    because = f"{depth} x {byte_size(size)} in flight over {time_text(round_trip_ns)}"
    return Bound("in flight", depth * size / round_trip_ns, because)


def _call(question: Question, peak: float, call: Call, size: int) -> Bound:
    rate = size / (call.cost_ns + size / peak)
    because = f"{byte_size(size)} / ({time_text(call.cost_ns)} + {byte_size(size)} / {peak:.3g} GB/s)"
    return Bound("call", rate, because, f"{time_text(call.cost_ns)} a call assumed, as in {', '.join(call.ids)}")


def _commands(bound: Bound, size: int, packets: bool) -> Bound:
    """Commands, or packets: on its line, a frame has a preamble and a gap beside it."""
    taken = size + _FRAME_GAP_BYTES if packets and bound.name == "line" else size
    each = f"{byte_size(taken)} a {'packet' if packets else 'command'}"
    return Bound(bound.name, bound.value * 1e9 / taken, f"{bound.because}, {each}", bound.assumed)


def _least_time(question: Question) -> list[Bound]:
    """The time that request, data and interrupt need on the wire alone; of an expander, an unloaded read."""
    if question.kind == "expander" and question.expander is not None:
        profile, assumed = question.expander
        because = "an unloaded read beyond the host's port"
        return [Bound("unloaded", profile.controller.unloaded_ns, because, assumed)]
    if question.width is None:
        return []
    size = question.size_bytes or 4
    parts = [("interrupt message", _MESSAGE_BYTES)]
    if question.what != "interrupt":
        moved = (f"request and completion of {size} B", _TLP_BYTES + _COMPLETION_BYTES + size)
        parts = [moved, *(parts if question.completion == "interrupt" else [])]
    sent = sum(number for _, number in parts)
    words = " and ".join(word for word, _ in parts)
    return [Bound("wire", sent * 8 / question.width.raw_gbps, f"{words}, {sent} B on {question.width}")]
