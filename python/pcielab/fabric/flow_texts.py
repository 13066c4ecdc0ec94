"""Flows as people write them: `gpu0->nic1:20GB/s`, and patterns of flows between the devices of a machine.

A flow between two devices gets at most what the root complex carries for it (`pcielab.fabric.paths`): drives and
NICs read what goes to them, everything else is written by its source.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import refusal
from pcielab.fabric.paths import Limit, capacities_of, limits_of, way_between
from pcielab.library.alike import suggestion
from pcielab.library.fabrics.flows import frame_of
from pcielab.library.fabrics.load import Fabric
from pcielab.library.fabrics.machine_parts import DeviceKind
from pcielab.library.fabrics.parts import Flow
from pcielab.library.fabrics.routes import Routes
from pcielab.wording import named, shown

PATTERNS = {
    "all-to-host": "every GPU to the memory of its socket; every device, if there is no GPU",
    "ring": "ring:gpu0,gpu1,...: each device to the next, and the last to the first",
    "pairs": "every GPU to the NIC nearest to it",
    "checkpoint-to-nvme": "every GPU to the drive nearest to it",
}
"""What a pattern may be, and its flows."""
MOST_FLOWS = 10_000
_READERS: tuple[DeviceKind, ...] = ("nic", "nvme", "storage")
_GPUS: tuple[DeviceKind, ...] = ("gpu", "accelerator")


@refuses_wrong_types
def written_flows(fabric: Fabric, flows: Sequence[str] = (), pattern: str | None = None) -> pd.DataFrame:
    """Flows as written, and those of a pattern, as a frame like `Fabric.flows`; see `with_limits`.

    Args:
        fabric: The fabric.
        flows: `SOURCE->DESTINATION`, or with what the flow asks for: `gpu0->nic1:20GB/s`.
        pattern: One of `PATTERNS`.

    Raises:
        InputError: A flow or the pattern is wrong, or the fabric has no devices for it.
    """
    routes = Routes.of(fabric)
    asked = [_read(text, routes) for text in flows]
    if pattern is not None:
        asked += [(source, destination, None) for source, destination in _of_pattern(pattern, routes)]
    if len(asked) > MOST_FLOWS:
        raise refusal(
            "too-large", f"--flow: {len(asked)} flows: give {MOST_FLOWS} at most, or a file with --flows"
        )
    return frame_of([_flow(*one) for one in asked], "--flow")


@refuses_wrong_types
def with_limits(fabric: Fabric, flows: pd.DataFrame) -> pd.DataFrame:
    """Flows with what the root complex carries as their standalone rate, where that is less than they ask for.

    Flows between devices of a fabric that is no machine's (`pcielab fabric from`) are unchanged.
    """
    if not fabric.is_machine:
        return flows
    return with_limits_on(Routes.of(fabric), flows, capacities_of(fabric))


def with_limits_on(routes: Routes, flows: pd.DataFrame, capacities: Mapping[str, float]) -> pd.DataFrame:
    """As `with_limits`, on a tree with the capacities of its edges."""
    ends = zip(flows["source"], flows["destination"], asked_gbytes_per_s(flows), strict=True)
    return flows.assign(standalone_gbytes_per_s=[limited(routes, *one, capacities) for one in ends])


def asked_gbytes_per_s(flows: pd.DataFrame) -> np.ndarray:
    """What each flow asks for; NaN for all that its path carries."""
    # Flows of a file have None there.
    return flows["standalone_gbytes_per_s"].to_numpy(dtype=np.float64, na_value=np.nan)


def bounds_of(fabric: Fabric, flows: pd.DataFrame) -> list[str | None]:
    """The bound of each flow that the root complex limits, in words; None for the others."""
    routes, capacities = Routes.of(fabric), capacities_of(fabric)
    ends = zip(flows["source"], flows["destination"], asked_gbytes_per_s(flows), strict=True)
    return [bound.bound if (bound := _bound(routes, *one, capacities)) else None for one in ends]


def limited(routes: Routes, source: str, destination: str, asked: float, capacities: Mapping[str, float]) -> float:
    """What a flow asks for, or less if the root complex carries less; NaN if neither is known."""
    bound = _bound(routes, source, destination, asked, capacities)
    return asked if bound is None else bound.gbytes_per_s


def _bound(
    routes: Routes, source: str, destination: str, asked: float, capacities: Mapping[str, float]
) -> Limit | None:
    """What bounds a flow beside the edges of the estimate, if it asks for more."""
    if source == destination or any(routes.machine(name) is None for name in (source, destination)):
        return None
    way, top, kind = way_between(routes, source, destination)
    if kind is None:
        return None
    posted, non_posted, _ = limits_of(routes, way, top, kind, capacities)
    limit = non_posted if routes.kind(destination) in _READERS else posted
    # Edges bind in the estimate, too, but for those that only redirected requests pass.
    is_estimated = way.count(top) == 1 and limit.bound in capacities
    return None if is_estimated or limit.gbytes_per_s >= asked else limit


def _flow(source: str, destination: str, rate: float | None) -> Flow:
    return Flow(source=source, destination=destination, standalone_gbytes_per_s=rate)


def _read(text: str, routes: Routes) -> tuple[str, str, float | None]:
    source, arrow, rest = (part.strip() for part in text.partition("->"))
    if not arrow:
        raise refusal(
            "malformed", f"--flow: {shown(text)} has no arrow: give SOURCE->DESTINATION, as gpu0->nic1:20GB/s"
        )
    destination, rate = rest, None
    if rest not in routes.nodes and ":" in rest:
        destination, _, given = (part.strip() for part in rest.rpartition(":"))
        number, _, gbytes_per_s = _core.read_quantity(given, f"--flow {named(text)}", "rate")
        rate = number * gbytes_per_s
    for name in (source, destination):
        if name not in routes.nodes:
            raise refusal(
                "not-found", f"--flow {named(text)}: {named(name)}: unknown node: {suggestion(name, routes.nodes)}"
            )
    if source == destination:
        raise refusal("conflict", f"--flow {named(text)}: {named(source)} is both ends: give two nodes")
    return source, destination, rate


Pairs = Iterator[tuple[str, str]]


def _of_pattern(pattern: str, routes: Routes) -> list[tuple[str, str]]:
    word, _, names = pattern.partition(":")
    if word not in PATTERNS or (names and word != "ring"):
        raise refusal("not-found", f"--pattern {named(pattern)}: unknown: {suggestion(word, PATTERNS)}")
    made: dict[str, Callable[[Routes], Pairs]] = {
        "all-to-host": _all_to_host,
        "pairs": lambda known: _to_nearest(known, ("nic",), pattern),
        "checkpoint-to-nvme": lambda known: _to_nearest(known, ("nvme", "storage"), pattern),
        "ring": lambda known: _ring(known, [name.strip() for name in names.split(",")] if names else []),
    }
    return list(made[word](routes))


def _of_kinds(routes: Routes, kinds: Sequence[DeviceKind]) -> list[str]:
    return [name for name in routes.nodes if routes.kind(name) in kinds]


def _all_to_host(routes: Routes) -> Pairs:
    hosts = [name for name, node in routes.nodes.items() if node.kind == "host"]
    devices = _of_kinds(routes, _GPUS) or [name for name in routes.nodes if routes.part(name) == "device"]
    if not hosts or not devices:
        raise refusal(
            "missing", "--pattern all-to-host: the fabric has no host or no device: give flows with --flow"
        )
    for device in devices:
        yield device, min(hosts, key=lambda host: _distance(routes, device, host))


def _to_nearest(routes: Routes, kinds: Sequence[DeviceKind], pattern: str) -> Pairs:
    """Each GPU to the nearest device of some kinds; of equally near ones, the one with the fewest flows."""
    targets, used = _of_kinds(routes, kinds), dict.fromkeys(_of_kinds(routes, kinds), 0)
    gpus = _of_kinds(routes, _GPUS)
    if not gpus or not targets:
        raise refusal(
            "missing", f"--pattern {pattern}: the fabric has no GPU or no {kinds[0]}: give flows with --flow"
        )
    for gpu in gpus:
        target = min(targets, key=lambda name: (_distance(routes, gpu, name), used[name]))
        used[target] += 1
        yield gpu, target


def _ring(routes: Routes, names: list[str]) -> Pairs:
    ring = names or _of_kinds(routes, _GPUS)
    for name in ring:
        if name not in routes.nodes:
            raise refusal(
                "not-found", f"--pattern ring: {named(name)}: unknown node: {suggestion(name, routes.nodes)}"
            )
    if len(set(ring)) < max(2, len(ring)):
        raise refusal("wrong-value", "--pattern ring: give at least two devices, each once: ring:gpu0,gpu1")
    yield from zip(ring, [*ring[1:], ring[0]], strict=True)


def _distance(routes: Routes, one: str, other: str) -> int:
    return len(routes.between(one, other)[0])
