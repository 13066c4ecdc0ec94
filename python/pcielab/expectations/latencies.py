"""Latencies between devices: published times of the same way, or what others say of a way that nobody measured.

Below a switch, data pass the switch instead of the root complex: no read is faster than the fastest published read
of a device, and none takes longer than one through the root complex and the switches that it passes. To another
socket, the way between sockets comes on top. Figures: of a switch M149 and M203, of the way between sockets M046
and M047, of the fastest read M239.
"""

from dataclasses import replace
from functools import cache

from pcielab.expectations.edges import Facets
from pcielab.expectations.machine import Machine
from pcielab.expectations.processors import families
from pcielab.expectations.ranges import Range, Ranges
from pcielab.library.published_figures import published_figures

_SWITCH_ROWS = ("M149", "M203")
_SOCKET_ROWS = ("M046", "M047")
_FASTEST_READ = "M239"


def latency_range(machine: Machine, how: str, pair: tuple[str, str], ranges: Ranges) -> Range | None:
    """The time of a small access, us; None where nothing published bounds it.

    Args:
        machine: The machine.
        how: `read`, `write`, `staged` or `rdma`.
        pair: Source and destination; of `rdma`, the NIC twice.
        ranges: The published ones.
    """
    chain = facets_of_latency(machine, how, *pair)
    measured = ranges.of(chain)
    scope = chain[-1].get("scope")
    if measured is not None or scope is None:
        return measured
    direct = ranges.of(tuple({**facets, "scope": "one-socket"} for facets in chain))
    if direct is None:
        return None
    if scope in ("same-switch", "switch-tree"):
        return _below_switches(machine, how, pair, direct)
    return _between_sockets(direct) if scope == "other-socket" else None


def _below_switches(machine: Machine, how: str, pair: tuple[str, str], direct: Range) -> Range:
    way = machine.way(*pair)
    switches = 1 + sum(part.kind == "switch" for part in (*way.up, *way.down))
    passes = (2 if how == "read" else 1) * switches
    lower = min(direct.lower, _us(_FASTEST_READ)) if how == "read" else direct.lower
    rows = (*_SWITCH_ROWS, *((_FASTEST_READ,) if how == "read" else ()))
    return _derived(direct, lower, direct.upper + passes * max(map(_us, _SWITCH_ROWS)), rows)


def _between_sockets(direct: Range) -> Range:
    local, remote = map(_us, _SOCKET_ROWS)
    return _derived(direct, direct.lower, direct.upper + remote - local, _SOCKET_ROWS)


def _derived(direct: Range, lower: float, upper: float, rows: tuple[str, ...]) -> Range:
    return replace(direct, lower=lower, upper=upper, sureness="comparable", rows=(*direct.rows, *rows))


@cache
def _us(row: str) -> float:
    """A published time in us."""
    figure = published_figures()[row]
    return figure.value * {"ns": 1e-3, "us": 1.0}[figure.unit]


def facets_of_latency(machine: Machine, how: str, one: str, other: str) -> tuple[Facets, ...]:
    """What a latency is comparable by: how it is measured, what is between the devices, the processor."""
    base: Facets = {"edge": "latency", "how": how}
    if how in ("staged", "rdma"):
        return (base,)
    way = machine.way(one, other)
    switches = {part.name for part in (*way.up, *way.down) if part.kind == "switch"}
    scope: str = "one-socket" if way.scope == "same-stack" else way.scope
    if scope == "same-switch" and switches:
        scope = "switch-tree"
    family = families().get(machine.family or "")
    link = machine.part(one).link
    generation = str(link.generation) if link else ""
    lineage = family.lineage if family else ""
    return (
        {**base, "scope": scope, "generation": generation, "lineage": lineage},
        {**base, "scope": scope, "generation": generation},
        {**base, "scope": scope},
    )
