"""The edges that flows of a question pass: links, the root complex, host memory, engines, lines and media.

An edge states what it carries at most by the model, and which published figures are comparable (`Facets`).
`pcielab.expectations.ranges` turns both into what to expect.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from pcielab.expectations.machine import Direction, Link, Machine, Part, Way
from pcielab.expectations.processors import families
from pcielab.expectations.questions import Question

EdgeKind: TypeAlias = Literal[
    "link",
    "uplink",
    "crossing",
    "sockets",
    "quadrant",
    "memory",
    "both-ways",
    "line",
    "media",
    "staging",
    "stores",
    "busy",
    "peer",
]
Facets: TypeAlias = dict[str, str]
_QUADRANT_LINEAGE = "amd-io-die"
ANY = "any"
"""Of a facet: whatever its value, if rows of two lineages of processors are there."""
_SHARED = ("sockets", "quadrant", "memory")
"""Edges that one flow alone never fills."""
_ABSOLUTE = ("sockets", "quadrant", "memory")


@dataclass(frozen=True, eq=False)
class Edge:
    """Something that a flow passes; edges with the same key are the same.

    Attributes:
        key: Distinguishes it from the other edges of its machine; each direction is an edge.
        kind: What it is.
        label: For people.
        nominal: What it carries by the model, GB/s; infinite where only figures say what it carries.
        bound: What it cannot exceed, GB/s.
        facets: What figures must share to be comparable, the most specific first.
        at_once: The same, of figures of several flows at once, which may reach less; empty: one flow.
        is_driven: Whether devices of the figures' kind move the data; another kind may reach the bound.
    """

    key: str
    kind: EdgeKind
    label: str
    nominal: float
    bound: float
    facets: tuple[Facets, ...]
    at_once: tuple[Facets, ...] = ()
    is_driven: bool = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Edge) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def is_absolute(self) -> bool:
        """Whether its range is in GB/s, and not a share of `nominal`."""
        return self.kind in _ABSOLUTE


@dataclass(frozen=True)
class Flow:
    """Data that move from one end to another.

    Attributes:
        label: Its ends.
        edges: What it passes, each with how many times.
        is_way_back: Whether it is the other direction of the flow before it.
    """

    label: str
    edges: dict[Edge, int]
    is_way_back: bool = False


def flows_of(question: Question, machine: Machine) -> list[Flow]:
    """The flows of a question that moves data.

    Raises:
        InputError: A link or another fact that the question needs is missing.
    """
    return flows_together([question], machine)


def flows_together(questions: Sequence[Question], machine: Machine) -> list[Flow]:
    """The flows of several questions at once, as `flows_of`."""
    asked = ((question, machine.with_links(question.links)) for question in questions)
    found = [flow for question, changed in asked for flow in _Flows(question, changed).all()]
    meeting = Counter(edge for flow in found for edge in flow.edges)
    several = sum(not flow.is_way_back for flow in found) > 1
    return [replace(flow, edges=_where_flows_meet(flow, meeting, several)) for flow in found]


def _where_flows_meet(flow: Flow, meeting: Counter[Edge], several: bool) -> dict[Edge, int]:
    """The edges of a flow: without those that one flow alone never fills, and links as several flows use them."""
    return {
        _several(edge) if (several or meeting[edge] > 1) and edge.kind in ("link", "uplink") else edge: times
        for edge, times in flow.edges.items()
        if meeting[edge] > 1 or edge.kind not in _SHARED
    }


def _several(edge: Edge) -> Edge:
    generation = edge.facets[0]["generation"]
    base: Facets = {"edge": "shared-link"}
    return replace(edge, at_once=({**base, "generation": generation}, base))


class _Flows:
    """Makes the flows of one question."""

    def __init__(self, question: Question, machine: Machine) -> None:
        self.question, self.machine = question, machine
        family = families().get(machine.family or "")
        self.family, self.lineage = (family.name, family.lineage) if family else ("", "")
        fastest = max((part.link.generation for part in machine.parts.values() if part.link), default=3)
        # What a root complex forwards does not depend on a slower link below one of its ports.
        self.port = Link(family.generation if family else fastest, 16)

    def all(self) -> Iterator[Flow]:
        """Its flows."""
        asked, kind = self.question, self.question.kind
        match kind:
            case "h2d" | "d2h":
                yield from (self._host(name, kind) for name in asked.devices)
            case "store":
                yield from (self._stores(name) for name in asked.devices)
            case "h2d-busy" | "d2h-busy":
                yield from (self._busy(name, kind) for name in asked.devices)
            case "both":
                for name in asked.devices:
                    yield from self._both([self._host(name, "h2d"), self._host(name, "d2h")], "host", (name,))
            case "p2p-write" | "p2p-read":
                yield from (self._peer(*pair, reads=kind == "p2p-read") for pair in asked.pairs)
            case "p2p-both":
                for one, other in asked.pairs:
                    ways = [self._peer(one, other, reads=False), self._peer(other, one, reads=False)]
                    is_peer = self.machine.peers_of(one, other) is not None
                    yield from ways if is_peer else self._both(ways, "p2p", (one, other))
            case "staged" | "staged-both":
                for one, other in asked.pairs:
                    yield from self._staged(one, other, both=kind == "staged-both")
            case "all-to-all" | "all-to-all-read":
                names = asked.devices
                yield from (
                    self._peer(one, other, reads=kind == "all-to-all-read")
                    for one in names
                    for other in names
                    if one != other
                )
            case "ring" | "ring-staged":
                names = ring_order(asked.devices, self.machine)
                for one, other in zip(names, (*names[1:], names[0]), strict=True):
                    if kind == "ring":
                        yield self._peer(one, other, reads=False)
                    else:
                        yield from self._staged(one, other, both=False)
            case _:
                yield from (self._peer(*pair, reads=False) for pair in asked.pairs)

    def _host(self, name: str, use: Literal["h2d", "d2h"]) -> Flow:
        data: Direction = "down" if use == "h2d" else "up"
        chain = self.machine.chain(name)
        top, home = chain[-1], chain[-1].socket
        edges = [self._link(part, data, reads=use == "h2d", use=use) for part in chain]
        memory = self.question.memory if self.question.memory is not None else home
        if memory is not None and home is not None and memory != home:
            edges.append(self._crossing("other-socket", use, chain[-1].name, f"socket{memory}"))
            edges.append(self._sockets(memory, home) if use == "h2d" else self._sockets(home, memory))
        if self.lineage == _QUADRANT_LINEAGE and top.stack is not None:
            edges.append(
                self._absolute("quadrant", f"{home}/{top.stack}", f"quadrant {top.stack} of the I/O die", data)
            )
        place = "" if memory is None else f" of socket {memory}"
        edges.append(self._absolute("memory", str(memory), f"host memory{place}", data))
        edges += self._ends(self.machine.part(name), data)
        label = f"host>{name}" if use == "h2d" else f"{name}>host"
        return Flow(label, dict.fromkeys(edges, 1))

    def _stores(self, name: str) -> Flow:
        """What a processor's own stores carry: a TLP for each line of a cache."""
        flow = self._host(name, "h2d")
        return self._with_share(flow, "stores", f"stores of the processor to {name}", {"edge": "stores"})

    def _busy(self, name: str, kind: str) -> Flow:
        """What one direction keeps while a copy runs the other way."""
        use = kind.removesuffix("-busy")
        flow = self._host(name, "h2d" if use == "h2d" else "d2h")
        label = f"copy engine of {name}, {use} while it copies the other way"
        return self._with_share(flow, "busy", label, {"edge": "busy", "use": use})

    def _with_share(self, flow: Flow, kind: Literal["stores", "busy"], label: str, facets: Facets) -> Flow:
        nominal = min(edge.nominal for edge in flow.edges)
        bound = min(edge.bound for edge in flow.edges)
        share = Edge(f"{kind} {flow.label}", kind, label, nominal, bound, (facets,))
        return Flow(flow.label, {**flow.edges, share: 1})

    def _peer(self, one: str, other: str, *, reads: bool) -> Flow:
        if self.machine.peers_of(one, other) is not None:
            return Flow(f"{one}>{other}", self._by_peers(one, other))
        way = self.machine.way(one, other, redirected=self.question.is_redirected)
        edges = self._on_way(way, reads=reads, use="p2p", mover=self.machine.part(other if reads else one).kind)
        if way.scope != "same-switch":
            operation = "read" if reads else "write"
            edges[self._crossing(way.scope, operation, way.up[-1].name, way.down[0].name)] = 1
            if way.scope == "other-socket":
                edges[self._sockets(way.up[-1].socket, way.down[0].socket)] = 1
        for name, data in ((one, "up"), (other, "down")):
            edges |= dict.fromkeys(self._ends(self.machine.part(name), "up" if data == "up" else "down"), 1)
        return Flow(f"{one}>{other}", edges)

    def _by_peers(self, one: str, other: str) -> dict[Edge, int]:
        peers = self.machine.peers_of(one, other)
        assert peers is not None
        raw = peers.gbytes_per_s if peers.gbytes_per_s is not None else math.inf
        pair = peers.pair_gbytes_per_s if peers.pair_gbytes_per_s is not None else raw
        label = f"{peers.kind} of {{}}"

        def edge(key: str, label: str, rate: float) -> Edge:
            # An unknown rate is no link that limits nothing: figures of the kind do not say what it carries.
            facets = ({"edge": "peer", "kind": peers.kind},) if math.isfinite(rate) else ()
            return Edge(key, "peer", label, rate, rate, facets)

        return {
            edge(f"peer {one}>{other}", label.format(f"{one}>{other}"), pair): 1,
            edge(f"peer {one}>", label.format(f"{one}, outwards"), raw): 1,
            edge(f"peer >{other}", label.format(f"{other}, inwards"), raw): 1,
        }

    def _staged(self, one: str, other: str, *, both: bool) -> Iterator[Flow]:
        """Through host memory: the links of both ways, and what one copy leaves of them."""
        ways = ((one, other), (other, one)) if both else ((one, other),)
        shared: Edge | None = None
        for source, target in ways:
            up, down = self.machine.chain(source), self.machine.chain(target)
            way = Way(up, down[::-1], "unknown")
            edges = self._on_way(way, reads=False, use="staged")
            nominal = min(edge.nominal for edge in edges)
            bound = min(edge.bound for edge in edges)
            word = "both" if both else "one"
            facets: tuple[Facets, ...] = ({"edge": "staging", "ways": word},)
            shared = shared or Edge(
                f"staging {one} {other}",
                "staging",
                f"staging of {one} and {other} through host memory",
                nominal * len(ways),
                bound * len(ways),
                facets,
            )
            yield Flow(f"{source}>host>{target}", {**edges, shared: 1}, is_way_back=source != one)

    def _on_way(self, way: Way, *, reads: bool, use: str, mover: str = "gpu") -> dict[Edge, int]:
        edges = [self._link(part, "up", reads=reads, use=use, mover=mover) for part in way.up]
        edges += [self._link(part, "down", reads=reads, use=use, mover=mover) for part in way.down]
        return {edge: edges.count(edge) for edge in edges}

    def _link(self, part: Part, data: Direction, *, reads: bool, use: str, mover: str = "") -> Edge:
        link = part.link
        if link is None:
            from pcielab.errors import refusal

            raise refusal(
                "missing",
                f'{self.machine.name}: the link of {part.name} is unknown: give it, as link = "gen5x16"',
            )
        word: EdgeKind = "uplink" if part.kind == "switch" else "link"
        towards = "downwards" if data == "down" else "upwards"
        nominal = link.payload_gbytes_per_s(data, reads=reads)
        bound = link.bound_gbytes_per_s(data, reads=reads)
        generation = str(link.generation)
        # A switch's uplink carries what the copies of devices below it put on it.
        base: Facets = {"edge": "link", "kind": "gpu" if part.kind == "switch" else part.kind}
        as_gpu: Facets = {"edge": "link", "kind": "gpu"}
        vendor = self._vendor_below(part)
        facets: tuple[Facets, ...] = (
            {**base, "vendor": vendor, "use": use, "generation": generation},
            # Engines copy one way alike in all generations, and the ways differ: reads wait, writes do not.
            {**base, "vendor": vendor, "use": use},
            {**base, "vendor": vendor, "generation": generation},
            {**base, "vendor": vendor},
            {**base, "use": use, "generation": generation},
            {**base, "generation": generation},
            base,
            {**as_gpu, "generation": generation},
            as_gpu,
        )
        # Both kinds of requests share a link's bytes: one edge for a direction, whichever asks.
        return Edge(
            f"{part.name} {data}",
            word,
            f"{word} of {part.name} ({link.words}), {towards}",
            nominal,
            bound,
            facets,
            is_driven=part.kind not in ("gpu", "switch") or mover in ("", "gpu"),
        )

    def _vendor_below(self, part: Part) -> str:
        """The vendor of a device, or of all GPUs below a switch; empty if unknown, or if there are several."""
        if part.kind != "switch":
            return part.vendor or ""
        gpus = self.machine.devices("gpu")
        vendors = {gpu.vendor or "" for gpu in gpus if part in self.machine.chain(gpu.name)}
        return vendors.pop() if len(vendors) == 1 else ""

    def _crossing(self, scope: str, operation: str, one: str, other: str) -> Edge:
        """What the root complex forwards from one of its ports to another."""
        scope = "one-socket" if scope == "same-stack" else scope
        base: Facets = {"edge": "crossing", "scope": scope}
        reads = operation in ("read", "h2d")
        # Where nobody says which sockets the ends have, the root complex is one of either kind.
        any_scope: Facets = base if scope != "unknown" else {"edge": "crossing"}
        facets: tuple[Facets, ...] = ({**any_scope, "family": ANY},)
        if operation in ("h2d", "d2h"):
            facets = (
                {"edge": "memory-crossing", "family": self.family},
                {"edge": "memory-crossing", "lineage": self.lineage},
                {"edge": "memory-crossing"},
            )
        elif self.family:
            facets = (
                {**base, "operation": operation, "family": self.family},
                {**base, "family": self.family},
                {**base, "operation": operation, "lineage": self.lineage},
                {**base, "lineage": self.lineage},
            )
        words = {"one-socket": " (one socket)", "other-socket": " (two sockets)"}
        label = f"root complex, {one} to {other}{words.get(scope, '')}"
        return Edge(
            f"crossing {one}>{other}",
            "crossing",
            label,
            self.port.payload_gbytes_per_s("up", reads=reads),
            self.port.bound_gbytes_per_s("up", reads=reads),
            facets,
        )

    def _sockets(self, one: int | None, other: int | None) -> Edge:
        facets: tuple[Facets, ...] = (
            {"edge": "sockets", "family": self.family},
            {"edge": "sockets", "lineage": self.lineage},
        )
        label = f"way from socket {one} to socket {other}, all flows"
        return Edge(f"sockets {one}>{other}", "sockets", label, math.inf, math.inf, facets if self.family else ())

    def _absolute(self, kind: Literal["quadrant", "memory"], key: str, label: str, data: Direction) -> Edge:
        facets = facets_of_socket(kind, self.family, self.lineage, data) if self.family else ()
        towards = "reads of devices" if data == "down" else "writes of devices"
        return Edge(f"{kind} {key} {data}", kind, f"{label}, {towards}", math.inf, math.inf, facets)

    def _ends(self, part: Part, data: Direction) -> list[Edge]:
        """What the device itself carries: a NIC's line, a drive's medium."""
        found = []
        if part.line_gbps is not None:
            towards = "out" if data == "down" else "in"
            protocol, mtu_bytes = self.question.protocol, self.question.mtu_bytes
            rate = part.line_gbps / 8 * (protocol.share(mtu_bytes) if protocol else 1.0)
            how = f", {protocol.words(mtu_bytes)}" if protocol else ""
            label = f"line of {part.name} ({part.line_gbps:g} Gb/s{how}), {towards}"
            found.append(Edge(f"{part.name} line {towards}", "line", label, rate, rate, ({"edge": "line"},)))
        medium = part.read_gbytes_per_s if data == "up" else part.write_gbytes_per_s
        if medium is not None:
            operation = "read" if data == "up" else "write"
            facets: tuple[Facets, ...] = ({"edge": "media", "operation": operation}, {"edge": "media"})
            label = f"medium of {part.name}, {operation}s"
            found.append(Edge(f"{part.name} medium {operation}", "media", label, medium, math.inf, facets))
        return found

    def _both(self, ways: list[Flow], use: str, names: tuple[str, ...]) -> Iterator[Flow]:
        """Flows both ways of the same devices, with what the devices do both ways at once."""
        edges = {edge for flow in ways for edge in flow.edges}
        engines = []
        for name in names:
            links = [edge for edge in edges if edge.key in (f"{name} up", f"{name} down")]
            generation = str(link.generation) if (link := self.machine.part(name).link) else ""
            kind = self.machine.part(name).kind
            base: Facets = {"edge": "both-ways", "kind": kind}
            facets: tuple[Facets, ...] = (
                {**base, "use": use, "generation": generation},
                {**base, "use": use},
                base,
                {"edge": "both-ways"},
            )
            engines.append(
                Edge(
                    f"{name} both",
                    "both-ways",
                    f"both directions of {name} at once",
                    sum(edge.nominal for edge in links),
                    sum(edge.bound for edge in links),
                    facets,
                )
            )
        for at, flow in enumerate(ways):
            yield Flow(flow.label, {**flow.edges, **dict.fromkeys(engines, 1)}, is_way_back=at > 0)


def facets_of_socket(kind: str, family: str, lineage: str, data: Direction) -> tuple[Facets, ...]:
    """What the memory or a quadrant of a socket is comparable by."""
    base: Facets = {"edge": kind, "family": family}
    alike: Facets = {"edge": kind, "lineage": lineage}
    return ({**base, "data": data}, base, {**alike, "data": data}, alike)


def ring_order(names: Sequence[str], machine: Machine) -> tuple[str, ...]:
    """Devices in the order of a ring that crosses sockets, stacks and switches as seldom as possible."""

    def position(name: str) -> tuple[str, ...]:
        chain = machine.chain(name)
        return (str(chain[-1].socket), str(chain[-1].stack), *(part.name for part in reversed(chain[1:])))

    return tuple(sorted(dict.fromkeys(names), key=position))
