"""Shares of flows as plain columns, without data frames: `estimation` makes frames of them.

Commands answer with them at once, where loading pandas would take most of the time.
"""

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from pcielab import _core
from pcielab.library.fabrics.load import Fabric, RecordedFabric
from pcielab.library.fabrics.parts import Flow

Method: TypeAlias = Literal["ecr", "max-min"]
METHODS: tuple[Method, ...] = get_args(Method)
ROUNDING = 1e-6
"""Relative error of a sum of many shares."""


@dataclass(frozen=True)
class Shares:
    """Result of an estimator, as rows with the columns of `Estimate`.

    Attributes:
        flows: One row per flow.
        edges: One row per direction of a link.
    """

    flows: list[dict[str, Any]]
    edges: list[dict[str, Any]]


def shares_of(fabric: Fabric | RecordedFabric, flows: Sequence[Flow], method: Method = "max-min") -> Shares:
    """Estimate the share of each of `flows` (see `Fabric.listed`).

    Raises:
        InputError: A flow cannot exist; the message names it.
    """
    arguments = _arguments(fabric, flows)
    found = _core.fabric_estimate(*arguments, method)
    edges = edges_of(arguments[0])
    loads, crossing = memoryview(found.load).cast("d"), memoryview(found.crossing).cast("I")
    for edge, load, number in zip(edges, loads, crossing, strict=True):
        edge.update(load_gbytes_per_s=load, flows=number)
    names = [*(edge["edge"] for edge in edges), None]
    columns = (memoryview(found.standalone).cast("d"), memoryview(found.bandwidth).cast("d"))
    rows = [
        {
            "flow": flow.name,
            "source": flow.source,
            "destination": flow.destination,
            "standalone_gbytes_per_s": alone,
            "gbytes_per_s": share,
            "limit": names[limit],
            "fits": share >= alone * (1 - ROUNDING),
        }
        for flow, alone, share, limit in zip(flows, *columns, memoryview(found.limit).cast("i"), strict=True)
    ]
    return Shares(rows, edges)


def edges_of(fabric: _core.Fabric) -> list[dict[str, Any]]:
    """The directions of links of a fabric: edge, capacity_gbytes_per_s."""
    names, capacities, _ = fabric.edges()
    return [
        {"edge": name, "capacity_gbytes_per_s": capacity} for name, capacity in zip(names, capacities, strict=True)
    ]


def device_limits(fabric: Fabric | RecordedFabric, edges: Iterable[Mapping[Any, Any]]) -> dict[str, float]:
    """The edges of an estimate that carry more than their device's engine moves, with what it moves, GB/s."""
    _, _, links = fabric.handle.edges()
    rows = ((edge["edge"], edge["capacity_gbytes_per_s"]) for edge in edges)
    return {edge: moved for (edge, moved), carried in zip(rows, links, strict=True) if moved < carried}


def bar_ends(flows: Iterable[tuple[str, str, str]]) -> set[str]:
    """The devices of flows (primitive, source, destination) whose data pass a BAR, and not the device's engine."""
    through_bar = {"d2d-write": 2, "d2d-read": 1, "mmio-read": 2, "mmio-write": 2}
    return {flow[at] for flow in flows if (at := through_bar.get(flow[0])) is not None}


def without_engines(fabric: _core.Fabric, through_bars: set[str]) -> _core.Fabric:
    """A fabric without the engines of some devices: they do not limit what passes the BARs beside them."""
    return fabric.without_devices(through_bars) if through_bars else fabric


def excessive_shares(fabric: Fabric, flows: Sequence[Flow]) -> list[dict[str, Any]]:
    """The rows of `pcielab.fabric.excessive` as plain data."""
    undeclared = [replace(flow, standalone_gbytes_per_s=None) for flow in flows]
    paths = [row["standalone_gbytes_per_s"] for row in shares_of(fabric, undeclared).flows]
    return [
        {"flow": flow.name, "standalone_gbytes_per_s": declared, "path_gbytes_per_s": path}
        for flow, path in zip(flows, paths, strict=True)
        if (declared := flow.standalone_gbytes_per_s) is not None and declared > path
    ]


def _arguments(
    fabric: Fabric | RecordedFabric, flows: Sequence[Flow]
) -> tuple[_core.Fabric, bytes, bytes, bytes, list[str]]:
    numbers = {name: number for number, name in enumerate(fabric.node_names)}

    def positions(ends: Iterable[str]) -> bytes:
        return array("I", (numbers[end] for end in ends)).tobytes()

    alone = (math.inf if (one := flow.standalone_gbytes_per_s) is None else one for flow in flows)
    through_bars = bar_ends((flow.primitive, flow.source, flow.destination) for flow in flows)
    return (
        without_engines(fabric.handle, through_bars),
        positions(flow.source for flow in flows),
        positions(flow.destination for flow in flows),
        array("d", alone).tobytes(),
        [flow.name for flow in flows],
    )
