"""The answer to a question: its bound, what to expect, the edge that limits it, and how sure that is."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pcielab.expectations.accesses import access_range
from pcielab.expectations.edges import Edge, Facets, Flow, flows_of
from pcielab.expectations.latencies import facets_of_latency, latency_range
from pcielab.expectations.machine import Machine
from pcielab.expectations.packets import PacketEdge, packet_edges
from pcielab.expectations.questions import OF_ACCESSES, OF_PACKETS, Question
from pcielab.expectations.ranges import SURENESS, Range, Ranges, Sureness
from pcielab.expectations.sharing import equal_rate, fair_rates

_STAGED = "copies through host memory"
_SHOWN_ROWS = 4
_LATENCIES = ("latency-read", "latency-write", "latency-staged", "latency-rdma")
_COLLAPSE = (
    "several flows leave one switch for different root ports: on some machines posted writes then collapse to a "
    "few GB/s (B01-16, B04-18: 2.7 to 13.5 GB/s; after a change of firmware, kernel and driver 52 to 56 GB/s on "
    "the same machine). Measure it; this range is that of a machine without it"
)


@dataclass(frozen=True)
class Answer:
    """What a machine should give.

    Attributes:
        question: The question, as text.
        unit: `GB/s`, `us`, or `Mpps`: millions of packets a second.
        bound: What the model allows at most; None of latencies, which have none.
        lower: Lower end of what to expect; None if unknown.
        upper: Upper end.
        limit: The edge that limits, for people; empty if none is known.
        limit_kind: Its kind.
        sureness: The least sure of the edges that decide.
        rows: Published rows that the range rests on; of an access of a core, profiles.
        sites: From how many sites at least one deciding edge has them: the smallest number.
        unknown: The edges without comparable figures, in words; empty if there are none.
        notes: Warnings.
        flows: Number of flows.
    """

    question: str
    unit: str
    bound: float | None
    lower: float | None
    upper: float | None
    limit: str
    limit_kind: str
    sureness: Sureness
    rows: tuple[str, ...]
    sites: int
    unknown: tuple[str, ...]
    notes: tuple[str, ...]
    flows: int

    @property
    def shown_rows(self) -> str:
        """The first rows, and how many there are more."""
        more = len(self.rows) - _SHOWN_ROWS
        return " ".join(self.rows[:_SHOWN_ROWS]) + (f" +{more}" if more > 0 else "")


@dataclass(frozen=True)
class _Ends:
    """The capacities of edges at both ends of their ranges."""

    lower: dict[Edge, float]
    upper: dict[Edge, float]
    bound: dict[Edge, float]
    ranges: dict[Edge, Range | None]

    def middle(self) -> dict[Edge, float]:
        return {
            edge: math.sqrt(low * self.upper[edge]) if math.isfinite(self.upper[edge]) else math.inf
            for edge, low in self.lower.items()
        }


@dataclass(frozen=True)
class Share:
    """What one of several flows gets, at the middle of what its edges carry.

    Attributes:
        rates: What its edges carry, GB/s; infinite where nobody measured it and no model says it.
        gbytes_per_s: Its share.
        bound: Its share of what edges carry at most.
        limit: The edge that limits it.
        unknown: Its deciding edges that nobody measured.
    """

    rates: dict[Edge, float]
    gbytes_per_s: float
    bound: float
    limit: Edge
    unknown: tuple[Edge, ...]


def shares_of(flows: Sequence[Flow], ranges: Ranges) -> list[Share]:
    """The max-min fair share of each of several flows."""
    ends = _ends(flows, ranges)
    middle, edges = ends.middle(), [flow.edges for flow in flows]
    rates, limits = fair_rates(edges, middle)
    bounds, _ = fair_rates(edges, ends.bound)
    (_, low), (_, high) = fair_rates(edges, ends.lower), fair_rates(edges, ends.upper)
    found = []
    for at, flow in enumerate(flows):
        unknown = tuple(edge for edge in dict.fromkeys((low[at], high[at])) if ends.ranges[edge] is None)
        limit = unknown[0] if unknown else limits[at]
        found.append(Share({edge: middle[edge] for edge in flow.edges}, rates[at], bounds[at], limit, unknown))
    return found


def answer(machine: Machine, question: Question, ranges: Ranges) -> Answer:
    """What to expect of a machine.

    Raises:
        InputError: The machine lacks a fact that the question needs.
    """
    if question.kind in _LATENCIES:
        return _latency(machine, question, ranges)
    if question.kind in OF_ACCESSES:
        return _of_access(machine, question)
    if question.kind in OF_PACKETS:
        return _of_packets(machine, question, ranges)
    flows = flows_of(question, machine)
    ends = _ends(flows, ranges)
    if question.kind in ("ring", "ring-staged"):
        return _ring(machine, question, ranges, flows, ends)
    if question.kind.startswith("all-to-all"):
        return _all_to_all(machine, question, ranges, flows, ends)
    lower, upper = _total(flows, ends.lower), _total(flows, ends.upper)
    limit = _limit(flows, ends)
    return _answer(question, machine, flows, ends, limit, (lower, upper), _total(flows, ends.bound))


def _total(flows: Sequence[Flow], capacities: dict[Edge, float]) -> float:
    rates, _ = fair_rates([flow.edges for flow in flows], capacities)
    return sum(rates)


def _limit(flows: Sequence[Flow], ends: _Ends) -> Edge:
    """The edge that holds most of the flows down, between the ends of the ranges."""
    _, limits = fair_rates([flow.edges for flow in flows], ends.middle())
    return max(dict.fromkeys(limits), key=limits.count)


def _ends(flows: Sequence[Flow], ranges: Ranges) -> _Ends:
    edges = list(dict.fromkeys(edge for flow in flows for edge in flow.edges))
    found = {edge: ranges.of_edge(edge) for edge in edges}
    wide = {edge: _of_any_kind(edge, ranges) for edge in edges if found[edge] is None}
    lower: dict[Edge, float] = {}
    upper: dict[Edge, float] = {}
    for edge in edges:
        one = found[edge] or wide[edge]
        scale = 1.0 if edge.is_absolute else edge.nominal
        lower[edge] = min(one.lower * scale, edge.bound) if one is not None else math.inf
        is_held = found[edge] is not None and edge.is_driven
        upper[edge] = min(one.upper * scale, edge.bound) if is_held and one else edge.bound
    for edge, one in wide.items():
        if one is None:
            # Nothing is published: it carries at least what the largest flow alone gets of the other edges.
            alone = (min(lower[other] for other in flow.edges) for flow in flows if edge in flow.edges)
            lower[edge] = max(rate if math.isfinite(rate) else 0.0 for rate in alone)
    return _Ends(lower, upper, {edge: edge.bound for edge in edges}, found)


def _of_any_kind(edge: Edge, ranges: Ranges) -> Range | None:
    """What edges of any family carry: the lower end of an edge that nobody measured."""
    kind = edge.facets[0]["edge"] if edge.facets else edge.kind
    return ranges.of(({"edge": kind},)) if edge.kind != "peer" else None


def _answer(
    question: Question,
    machine: Machine,
    flows: Sequence[Flow],
    ends: _Ends,
    limit: Edge,
    totals: tuple[float, float],
    bound: float,
    factor: Range | None = None,
) -> Answer:
    lower, upper = totals
    deciding = _deciding(flows, ends)
    unmeasured = [edge for edge in deciding if ends.ranges[edge] is None]
    unknown = tuple(edge.label for edge in unmeasured)
    # An edge that nobody measured may be the one that limits: the answer names it.
    limit = unmeasured[0] if unmeasured else limit
    used = [found for edge in deciding if (found := ends.ranges[edge]) is not None]
    used += [factor] if factor is not None else []
    sureness = max((one.sureness for one in used), key=SURENESS.index) if used else "unknown"
    rows = tuple(dict.fromkeys(row for one in used for row in one.rows))
    return Answer(
        question=question.text,
        unit="GB/s",
        bound=bound if math.isfinite(bound) else None,
        lower=lower if lower > 0 else None,
        upper=min(upper, bound) if math.isfinite(upper) else None,
        limit=limit.label,
        limit_kind=limit.kind,
        sureness="unknown" if unknown else sureness,
        rows=rows,
        sites=min((one.sites for one in used), default=0),
        unknown=unknown,
        notes=tuple(_notes(question, machine)),
        flows=len(flows),
    )


def _deciding(flows: Sequence[Flow], ends: _Ends) -> list[Edge]:
    """The edges that hold a flow down at either end of the ranges."""
    edges = [flow.edges for flow in flows]
    _, low = fair_rates(edges, ends.lower)
    _, high = fair_rates(edges, ends.upper)
    return list(dict.fromkeys((*low, *high)))


def _ring(machine: Machine, question: Question, ranges: Ranges, flows: Sequence[Flow], ends: _Ends) -> Answer:
    """Bus bandwidth of a ring: what its worst hop gives while all hops move data, times what rings reach of it."""
    via = via_of_ring(question, flows)
    factor = ranges.of(({"edge": "ring", "via": via}, {"edge": "ring"}))
    edges = [without_staging(flow) for flow in flows]
    if via == "p2p":
        worst, limit = equal_rate(edges, ends.middle())
    else:
        worst, limit = equal_rate(edges, {edge: edge.nominal for edge in ends.lower})
    most, _ = equal_rate(edges, ends.bound)
    if factor is None:
        return _without_factor(question, machine, flows, ends, limit, most)
    totals = (worst * factor.lower, min(worst * factor.upper, most))
    hop: dict[Edge, Range | None] = ends.ranges if via == "p2p" else dict.fromkeys(ends.ranges, factor)
    ends = _Ends(ends.lower, ends.upper, ends.bound, hop)
    found = _answer(question, machine, flows, ends, limit, totals, most, factor)
    return replace(found, limit=_STAGED, limit_kind="staging") if via == "host" else found


def _without_factor(
    question: Question, machine: Machine, flows: Sequence[Flow], ends: _Ends, limit: Edge, most: float
) -> Answer:
    """An answer where no figure says what such traffic reaches of its worst hop."""
    found = _answer(question, machine, flows, ends, limit, (0.0, most), most)
    return replace(found, lower=None, sureness="unknown", unknown=(f"what {question.kind} traffic reaches of it",))


def via_of_ring(question: Question, flows: Sequence[Flow]) -> str:
    """What the hops of a ring are: links beside PCIe, host memory, or peer-to-peer over PCIe."""
    if all(edge.kind == "peer" for flow in flows for edge in flow.edges):
        return "peer"
    return "host" if question.kind == "ring-staged" else "p2p"


def without_staging(flow: Flow) -> dict[Edge, int]:
    """The edges of a hop through host memory without what one copy leaves of them: rings state that themselves."""
    return {edge: times for edge, times in flow.edges.items() if edge.kind != "staging"}


def _all_to_all(
    machine: Machine, question: Question, ranges: Ranges, flows: Sequence[Flow], ends: _Ends
) -> Answer:
    """The sum over all pairs, where every pair moves the same amount: the slowest decides."""
    edges = [flow.edges for flow in flows]
    rate, limit = equal_rate(edges, ends.middle())
    most, _ = equal_rate(edges, ends.bound)
    count = len(flows)
    factor = ranges.of(facets_of_all_to_all(limit))
    if factor is None:
        return _without_factor(question, machine, flows, ends, limit, count * most)
    totals = (count * rate * factor.lower, min(count * rate * factor.upper, count * most))
    return _answer(question, machine, flows, ends, limit, totals, count * most, factor)


def facets_of_all_to_all(limit: Edge) -> tuple[Facets, ...]:
    """What all-to-all traffic is comparable by: whether devices' own links limit it, or what they share."""
    own = "peer" if limit.kind == "peer" else "device" if limit.kind == "link" else "shared"
    return ({"edge": "all-to-all", "limited_by": own}, {"edge": "all-to-all"})


def _of_packets(machine: Machine, question: Question, ranges: Ranges) -> Answer:
    """The packets of all NICs together: of each, the least of link, line and device."""
    lower = upper = bound = 0.0
    limits: list[PacketEdge] = []
    for name in question.devices:
        edges = packet_edges(machine, question, name, ranges)
        lower, upper = lower + min(one.lower for one in edges), upper + min(one.upper for one in edges)
        bound += min(one.bound for one in edges)
        # An unknown device decides nothing where even the slowest known one fills link and line.
        limits.append(min(edges, key=lambda one: one.lower))
    limit = limits[0]
    unknown = tuple(dict.fromkeys(one.label for one in limits if one.is_unknown))
    used = [one.found for one in limits if one.found is not None]
    sureness: Sureness = max((one.sureness for one in used), key=SURENESS.index, default="comparable")
    return Answer(
        question=question.text,
        unit="Mpps",
        bound=bound,
        lower=lower if lower > 0 else None,
        upper=min(upper, bound),
        limit=limit.label,
        limit_kind=limit.kind,
        sureness="unknown" if unknown else sureness,
        rows=tuple(dict.fromkeys(row for one in used for row in one.rows)),
        sites=min((one.sites for one in used), default=0),
        unknown=unknown,
        notes=tuple(dict.fromkeys(one.note for one in limits if one.note)),
        flows=len(question.devices),
    )


def _latency(machine: Machine, question: Question, ranges: Ranges) -> Answer:
    how = question.kind.removeprefix("latency-")
    lower, upper = math.inf, 0.0
    found: list[Range] = []
    labels: list[str] = []
    ways = question.pairs or tuple((name, name) for name in question.devices)
    for one, other in ways:
        labels.append(facets_of_latency(machine, how, one, other)[0].get("scope", "host"))
        measured = latency_range(machine, how, (one, other), ranges)
        if measured is not None:
            found.append(measured)
            lower, upper = min(lower, measured.lower), max(upper, measured.upper)
    known = len(found) == len(ways)
    return Answer(
        question=question.text,
        unit="us",
        bound=None,
        lower=lower if known else None,
        upper=upper if known else None,
        limit=", ".join(dict.fromkeys(labels)),
        limit_kind="latency",
        sureness=max((one.sureness for one in found), key=SURENESS.index, default="unknown")
        if known
        else "unknown",
        rows=tuple(dict.fromkeys(row for one in found for row in one.rows)),
        sites=min((one.sites for one in found), default=0),
        unknown=() if known else ("latency of this way",),
        notes=(),
        flows=len(ways),
    )


def _of_access(machine: Machine, question: Question) -> Answer:
    """The time of an access of a core, over all of the devices."""
    found = [
        access_range(machine, machine.part(name), is_load=question.kind == "load", socket=question.memory)
        for name in question.devices
    ]
    return Answer(
        question=question.text,
        unit="us",
        bound=None,
        lower=min(one.lower for one in found),
        upper=max(one.upper for one in found),
        limit="round trip" if question.kind == "load" else "way to the device",
        limit_kind="latency",
        sureness="comparable",
        rows=tuple(dict.fromkeys(profile for one in found for profile in one.profiles)),
        sites=0,
        unknown=(),
        notes=(),
        flows=len(found),
    )


def _notes(question: Question, machine: Machine) -> Iterable[str]:
    if question.kind == "p2p-write" and _may_collapse(question, machine):
        yield _COLLAPSE


def _may_collapse(question: Question, machine: Machine) -> bool:
    """Whether flows leave one switch for destinations below different ports of the root complex."""
    targets: dict[str, set[str]] = {}
    for one, other in question.pairs:
        first, last = machine.chain(one), machine.chain(other)
        if len(first) > 1 and first[-1] != last[-1]:
            targets.setdefault(first[-1].name, set()).add(last[-1].name)
    return any(len(found) > 1 for found in targets.values())
