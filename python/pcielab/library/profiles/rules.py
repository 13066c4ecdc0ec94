"""What has to hold across the keys of a system: each rule once, for a file by itself and for a system as a whole.

What needs more than one part is refused by the simulator, which knows what it can work with.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeVar

from pcielab.library.profiles.part import PAGE_BYTES, RULES
from pcielab.library.profiles.parts import IdleStates, LastLevelCache, Link, Placement, System, WakeCluster

_Rule = TypeVar("_Rule", bound=Callable[[Any], None])


def rule(part: type) -> Callable[[_Rule], _Rule]:
    """Have a function look at every part of a kind; it raises `ValueError`, naming key, value and remedy."""

    def register(function: _Rule) -> _Rule:
        RULES.setdefault(part, []).append(function)
        return function

    return register


@rule(Link)
def _flits_where_they_have_to_be(link: Link) -> None:
    if link.generation >= 6 and not link.flit:
        raise ValueError(f"flit = false: generation {link.generation} runs in flit mode, set flit = true")


@rule(LastLevelCache)
def _ways_hold_ddio(cache: LastLevelCache) -> None:
    if cache.ddio_ways > cache.ways:
        raise ValueError(f"ddio_ways = {cache.ddio_ways}: at most ways, which is {cache.ways}")


@rule(WakeCluster)
def _times_are_ordered(cluster: WakeCluster) -> None:
    if cluster.high_ns < cluster.low_ns:
        raise ValueError(f"high_ns = {cluster.high_ns}: at least low_ns, which is {cluster.low_ns}")


@rule(IdleStates)
def _shares_fit(idle: IdleStates) -> None:
    total = sum(cluster.share for cluster in idle.clusters)
    if total > 1:
        raise ValueError(f"clusters: their shares add up to {total:g}, more than 1")


@rule(Placement)
def _chunks_are_possible(placed: Placement) -> None:
    if placed.chunk_bytes < PAGE_BYTES or placed.chunk_bytes & (placed.chunk_bytes - 1):
        raise ValueError(f"chunk_bytes = {placed.chunk_bytes}: a power of two, {PAGE_BYTES} or more")
    for low, high in pairwise(sorted(placed.chunk_addresses)):
        if high - low < placed.chunk_bytes:
            raise ValueError(
                f"chunk_addresses: {low:#x} and {high:#x} overlap (chunk_bytes = {placed.chunk_bytes})"
            )


@rule(System)
def _sockets_exist(system: System) -> None:
    for key in ("device_socket", "memory_socket", "program_socket"):
        socket = getattr(system, key)
        if socket >= system.host.sockets:
            raise ValueError(f"{key} = {socket}: {system.host.name} has sockets 0 to {system.host.sockets - 1}")
