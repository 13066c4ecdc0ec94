"""The path between two nodes: its edges with capacities, what bounds it, its latency, and what slows peer-to-peer.

Capacities of links follow from the fabric. Between devices of one machine, the root complex has capacities of its
own for what crosses it, which no register shows: they are borrowed (`pcielab.fabric.borrowed`). ACS redirection
sends requests between devices of one switch up to the root port and back.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import pandas as pd

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import refusal
from pcielab.fabric.borrowed import (
    Borrowed,
    Operation,
    PathKind,
    are_small,
    peer_gbytes_per_s,
    stack_crossing_ns,
)
from pcielab.library.alike import suggestion
from pcielab.library.fabrics.load import Fabric
from pcielab.library.fabrics.machine_parts import PartKind
from pcielab.library.fabrics.routes import Routes
from pcielab.wording import named

_KINDS: dict[PartKind, PathKind] = {
    "switch": "same-switch",
    "root-port": "same-stack",
    "stack": "same-stack",
    "socket": "other-stack",
    "sockets": "other-socket",
}
KIND_WORDS: dict[PathKind, str] = {
    "same-switch": "below one switch",
    "same-stack": "on one stack of the root complex",
    "other-stack": "across stacks of the root complex",
    "other-socket": "across sockets",
}


@dataclass(frozen=True)
class Limit:
    """What bounds a path in one way of moving data.

    Attributes:
        gbytes_per_s: Payload.
        bound: The edge, or the capacity of the root complex.
    """

    gbytes_per_s: float
    bound: str


@dataclass(frozen=True)
class DevicePath:
    """A path from a source to a destination.

    Attributes:
        source: Its first node.
        destination: Its last node.
        kind: What is between two devices; None to or from a host.
        nodes: The nodes on it, ends included; a redirected path passes some twice.
        edges: One row per edge: edge, capacity_gbytes_per_s, back_gbytes_per_s (of the opposite direction).
        posted: The bound of writes by the source.
        non_posted: The bound of reads by the destination.
        latency_ns: One way, of a TLP with a payload of MPS.
        notes: What prevents or slows peer-to-peer, and where borrowed values come from.
    """

    source: str
    destination: str
    kind: PathKind | None
    nodes: tuple[str, ...]
    edges: pd.DataFrame
    posted: Limit
    non_posted: Limit
    latency_ns: float
    notes: tuple[str, ...]


@refuses_wrong_types
def path(fabric: Fabric, source: str, destination: str) -> DevicePath:
    """The path between two nodes of a fabric.

    Raises:
        InputError: A node is unknown, or both are the same.
    """
    return path_on(Routes.of(fabric), source, destination, capacities_of(fabric))


def capacities_of(fabric: Fabric) -> dict[str, float]:
    """What the link of each edge carries, GB/s."""
    return _link_capacities(fabric.handle)


def capacities_on(routes: Routes) -> dict[str, float]:
    """What the link of each edge of a tree carries, GB/s."""
    return _link_capacities(routes.handle)


def stream_capacities_on(routes: Routes) -> dict[str, float]:
    """What streams get of each edge of a tree, GB/s: what its link carries, or the engine of its device moves."""
    names, capacities, _ = routes.handle.edges()
    return dict(zip(names, capacities, strict=True))


def _link_capacities(fabric: _core.Fabric) -> dict[str, float]:
    names, _, capacities = fabric.edges()
    return dict(zip(names, capacities, strict=True))


def path_on(routes: Routes, source: str, destination: str, capacities: Mapping[str, float]) -> DevicePath:
    """As `path`, on a tree with the capacities of its edges."""
    for name in (source, destination):
        if name not in routes.nodes:
            raise refusal("not-found", f"node {named(name)}: unknown: {suggestion(name, list(routes.nodes))}")
    if source == destination:
        raise refusal("conflict", f"node {named(source)}: is both ends: give two nodes")
    way, top, kind = way_between(routes, source, destination)
    posted, non_posted, borrowed = limits_of(routes, way, top, kind, capacities)
    forth = [f"{one}->{two}" for one, two in pairwise(way)]
    back = [f"{two}->{one}" for one, two in pairwise(way)]
    edges = pd.DataFrame(
        {
            "edge": forth,
            "capacity_gbytes_per_s": [capacities[edge] for edge in forth],
            "back_gbytes_per_s": [capacities[edge] for edge in back],
        }
    )
    crossing = stack_crossing_ns() if kind in ("other-stack", "other-socket") else None
    return DevicePath(
        source=source,
        destination=destination,
        kind=kind,
        nodes=tuple(way),
        edges=edges,
        posted=posted,
        non_posted=non_posted,
        latency_ns=_latency_ns(routes, way, capacities) + (crossing.value if crossing else 0.0),
        notes=tuple(_notes(routes, way, top, kind, borrowed, crossing)),
    )


def way_between(routes: Routes, source: str, destination: str) -> tuple[list[str], str, PathKind | None]:
    """The nodes that requests pass, the one at the top, and what is between two devices."""
    nodes, top = routes.between(source, destination)
    is_peer = all(routes.part(name) == "device" for name in (source, destination))
    kind = _KINDS.get(routes.part(top)) if is_peer else None
    detour = _detour(routes, nodes, top) if kind == "same-switch" else []
    return (_with_detour(nodes, top, detour) if detour else nodes), top, kind


def limits_of(
    routes: Routes, way: list[str], top: str, kind: PathKind | None, capacities: Mapping[str, float]
) -> tuple[Limit, Limit, dict[Operation, Borrowed]]:
    """The bounds of writes and of reads on a way, and the borrowed values behind them."""
    narrowest = min((f"{one}->{two}" for one, two in pairwise(way)), key=lambda edge: capacities[edge])
    link = Limit(capacities[narrowest], narrowest)
    borrowed = _borrowed(routes, kind, way[-1], link.gbytes_per_s) if routes.machine(top) is not None else {}
    writes, reads = borrowed.get("posted"), borrowed.get("non-posted")
    return _limit(link, writes, "writes"), _limit(link, reads, "reads"), borrowed


def _detour(routes: Routes, nodes: list[str], top: str) -> list[str]:
    """The nodes above the switch at the top that redirected requests pass; empty without redirection."""
    at = nodes.index(top)
    parts = [routes.machine(name) for name in (nodes[at - 1], nodes[at + 1])]
    if not any(part is not None and part.redirects for part in parts):
        return []
    above = routes.above(top)[1:]
    root = next((name for name in above if routes.part(name) not in ("switch",)), None)
    return above[: above.index(root) + 1] if root is not None else []


def _with_detour(nodes: list[str], top: str, detour: list[str]) -> list[str]:
    at = nodes.index(top)
    return [*nodes[: at + 1], *detour, *reversed(detour[:-1]), *nodes[at:]]


def _borrowed(
    routes: Routes, kind: PathKind | None, destination: str, link_gbytes_per_s: float
) -> dict[Operation, Borrowed]:
    if kind is None:
        return {}
    part = routes.machine(destination)
    small = are_small(part.mrrs_bytes if part else None)
    return {
        "posted": peer_gbytes_per_s(kind, "posted", link_gbytes_per_s),
        "non-posted": peer_gbytes_per_s(kind, "non-posted", link_gbytes_per_s, small_requests=small),
    }


def _limit(link: Limit, borrowed: Borrowed | None, verb: str) -> Limit:
    if borrowed is None or not borrowed.is_limit or borrowed.value >= link.gbytes_per_s:
        return link
    return Limit(borrowed.value, f"peer-to-peer {verb}, borrowed ({' '.join(borrowed.rows)})")


def _latency_ns(routes: Routes, way: list[str], capacities: Mapping[str, float]) -> float:
    """Delays of nodes and links, and the time of an MPS on each edge."""
    total = sum(routes.delays_ns[name] for name in way)
    payload = routes.description["mps_bytes"]
    for one, two in pairwise(way):
        lower = two if routes.uppers.get(two) == one else one
        total += float(routes.links[lower]["latency_ns"]) + payload / capacities[f"{one}->{two}"]
    return total


def _notes(
    routes: Routes,
    way: list[str],
    top: str,
    kind: PathKind | None,
    borrowed: dict[Operation, Borrowed],
    crossing: Borrowed | None,
) -> Iterator[str]:
    if kind is None:
        if routes.part(top) == "sockets":
            yield "crosses sockets: no register shows what the link between them carries"
        return
    source, destination = routes.machine(way[0]), routes.machine(way[-1])
    if way.count(top) > 1:
        yield (
            "ACS redirects requests between the devices up to the root port and back, over the uplink twice: "
            "pci=disable_acs_redir= or config_acs= on the kernel's command line, if no virtual machine needs the "
            "isolation"
        )
    if source is None or destination is None:
        yield "the file does not say which stack or settings the devices have: give a file of pcielab fabric from"
        return
    if kind != "same-switch" and (redirecting := _redirecting_roots(routes, way)):
        yield (
            f"requests between the devices pass the IOMMU: ACS redirects them at {' and '.join(redirecting)}; on "
            f"some hosts "
            "such requests are slow or hang: clear ReqRedir there (config_acs= on the kernel's command line) or "
            "switch the "
            "IOMMU off, if no virtual machine needs the isolation"
        )
    if kind in ("other-stack", "other-socket"):
        yield f"{KIND_WORDS[kind]}: chipsets of desktop processors forward writes only, and some refuse both"
    yield from _settings(routes, way)
    for operation, value in borrowed.items():
        least = "" if value.is_limit else "at least "
        yield f"{operation}: {least}{value.value:.1f} GB/s for one flow, borrowed from {value.text}"
    if crossing is not None:
        yield f"{crossing.value:.0f} ns one way, borrowed from half of {crossing.text}"


def _redirecting_roots(routes: Routes, way: list[str]) -> list[str]:
    """The root ports on a way that redirect the requests of what is below them."""
    found = []
    for lower in way:
        upper, part = routes.uppers.get(lower), routes.machine(lower)
        if (
            upper in way
            and upper is not None
            and routes.part(upper) == "root-port"
            and part is not None
            and part.redirects
        ):
            found.append(upper)
    return found


def _settings(routes: Routes, way: list[str]) -> Iterator[str]:
    """Settings of the ends and ports that slow or prevent peer-to-peer."""
    source, destination = way[0], way[-1]
    first, last = routes.machine(source), routes.machine(destination)
    if first is None or last is None:
        return
    for one, other, sender, receiver in ((first, last, source, destination), (last, first, destination, source)):
        if one.mps_bytes and other.mps_bytes and one.mps_bytes > other.mps_bytes:
            yield (
                f"MPS mismatch: {sender} sends payloads of up to {one.mps_bytes} B, {receiver} takes "
                f"{other.mps_bytes} B: boot with pci=pcie_bus_peer2peer, or give both one MPS"
            )
    for name, part in ((source, first), (destination, last)):
        if part.iommu in ("DMA", "DMA-FQ"):
            ats = "" if part.ats else ", and ATS is off, so its requests go up to the root complex"
            refused = "some drivers then refuse peer-to-peer"
            yield f"the IOMMU translates addresses of {name} ({part.iommu}){ats}: {refused}"
    if first.relaxed_ordering is False:
        yield f"relaxed ordering is off at {source}: its writes to other targets wait for each other"
    if are_small(last.mrrs_bytes):
        yield f"MRRS of {destination} is {last.mrrs_bytes} B: its reads of other devices are slow across stacks"


def described(found: DevicePath) -> str:
    """A path for people: its nodes, bounds, latency, and notes."""
    between = f", {KIND_WORDS[found.kind]}" if found.kind else ""
    writes, reads = found.posted, found.non_posted
    lines = [
        f"{found.source} to {found.destination}{between}: {' - '.join(found.nodes)}",
        f"writes by {found.source}: {writes.gbytes_per_s:.1f} GB/s, bound by {writes.bound}",
        f"reads by {found.destination}: {reads.gbytes_per_s:.1f} GB/s, bound by {reads.bound}",
        f"one way: {found.latency_ns:.0f} ns (modelled: delays of the nodes, and a payload of MPS on each edge)",
        *(f"note: {note}" for note in found.notes),
    ]
    return "\n".join(lines)
