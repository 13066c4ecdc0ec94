"""How many packets NICs move: the link, the line, and what the device itself processes.

What a device processes is an edge of its own, in millions of packets a second. Its bound is what the vendor states
of frames, if that source was read (`pcielab.library.packet_rates`); its range is that of published rates of NICs
with the same line. Where nobody published one, the answer is unknown, between other NICs' rates and the bound.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from pcielab import model
from pcielab._core import FCS_BYTES
from pcielab.errors import refusal
from pcielab.expectations.edges import Facets
from pcielab.expectations.machine import Machine, Part
from pcielab.expectations.questions import Question
from pcielab.expectations.ranges import Range, Ranges
from pcielab.library.packet_rates import PacketRate, rate_of_name
from pcielab.library.usual_link import USUAL_MPS_BYTES, usual_mrrs_bytes

_GAP_BYTES = 20
"""Preamble, start and gap of a frame on its line."""


@dataclass(frozen=True)
class PacketEdge:
    """One thing that packets of a NIC pass.

    Attributes:
        kind: `link`, `line` or `packets`.
        label: For people.
        lower: Millions of packets a second, the lower end of its range.
        upper: The upper end.
        bound: What it cannot exceed; infinite where nothing is known.
        found: The range that it rests on; None: the closed form, or an unknown device.
        is_unknown: Whether nobody published a comparable rate.
        note: What a vendor states, where that is no bound.
    """

    kind: str
    label: str
    lower: float
    upper: float
    bound: float
    found: Range | None = None
    is_unknown: bool = False
    note: str = ""


def packet_edges(machine: Machine, question: Question, name: str, ranges: Ranges) -> list[PacketEdge]:
    """What packets of one NIC pass.

    Raises:
        InputError: The device is no NIC, or its link is unknown.
    """
    machine = machine.with_links(question.links)
    part = machine.part(name)
    if part.kind != "nic":
        raise refusal("wrong-value", f"{question.kind} {name}: is a {part.kind}: give a NIC")
    edges = [_link(one, question) for one in machine.chain(name)]
    if part.line_gbps is None:
        edges.append(_device(part, question, None, ranges))
        return edges
    rate = line_mpps(part.line_gbps, question.frame_bytes)
    label = f"line of {name} ({part.line_gbps:g} Gb/s), frames of {question.frame_bytes} B"
    found = ranges.of(({"edge": "line"},))
    edges.append(PacketEdge("line", label, rate * (found.lower if found else 1.0), rate, rate, found))
    edges.append(_device(part, question, part.line_gbps, ranges))
    return edges


def line_mpps(line_gbps: float, frame_bytes: int) -> float:
    """Frames of a size on a line, millions a second; FCS included."""
    return 1e3 * line_gbps / (8 * (frame_bytes + _GAP_BYTES))


def facets_of_packets(line_gbps: float | None) -> tuple[Facets, ...]:
    """What packet rates are comparable by: the line of the NIC."""
    return ({"edge": "packets", "line": "" if line_gbps is None else f"{line_gbps:g}"},)


def _link(part: Part, question: Question) -> PacketEdge:
    """What a link carries of packets alone: descriptors and completions come on top."""
    if part.link is None:
        raise refusal("missing", f'{part.name}: its link is unknown: give it, as link = "gen5x16"')
    mps_bytes = part.link.mps_bytes or USUAL_MPS_BYTES
    link = model.Link(
        generation=part.link.generation,
        lanes=part.link.lanes,
        mps_bytes=mps_bytes,
        mrrs_bytes=usual_mrrs_bytes(mps_bytes),
    )
    [answer] = model.bandwidth(link, [question.frame_bytes - FCS_BYTES])
    rate = (answer.read if question.kind == "packets-out" else answer.write).millions_per_s
    return PacketEdge("link", f"link of {part.name} ({part.link.words}), packets alone", rate, rate, rate)


def _device(part: Part, question: Question, line_gbps: float | None, ranges: Ranges) -> PacketEdge:
    stated = rate_of_name(part.title, question.frame_bytes)
    bound = stated.rate_mpps if stated is not None and stated.limits else math.inf
    found = ranges.of(facets_of_packets(line_gbps))
    of_any = found or ranges.of(({"edge": "packets"},))
    return PacketEdge(
        "packets",
        f"packet rate of {part.name}" + (f" ({stated.model})" if stated else ""),
        min(of_any.lower, bound) if of_any else 0.0,
        min(found.upper, bound) if found else bound,
        bound,
        found,
        is_unknown=found is None and not math.isfinite(bound),
        note="; ".join(_notes(stated, bound)),
    )


def _notes(stated: PacketRate | None, bound: float) -> Iterator[str]:
    if stated is not None and not math.isfinite(bound):
        yield f"{stated.words}, which is no bound of frames"
