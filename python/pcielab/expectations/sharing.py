"""What each of several flows gets of edges that they share, in a tree or not: shares of `crates/pcie-fabric`.

Stands alone: answers, and the tables that their ranges come from, share edges alike.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from pcielab import _core

EdgeKey = TypeVar("EdgeKey", bound=Hashable)


def fair_rates(
    flows: Sequence[Mapping[EdgeKey, int]], capacities: Mapping[EdgeKey, float]
) -> tuple[list[float], list[EdgeKey]]:
    """The max-min fair rate of each flow, and the edge that holds it down.

    All rates rise together until an edge is full; its flows stop, the others go on.

    Args:
        flows: Of each flow, its edges, and how many times it passes each. No flow is without edges.
        capacities: Of each edge, in the unit of the rates.

    Returns:
        Rates and edges, one for each flow. Among edges that fill at the same rate, that of most flows is named.
    """
    edges, routes = _routes(flows)
    rates, limits = _core.edge_shares([capacities[edge] for edge in edges], routes)
    return rates, [edges[limit] for limit in limits]


def equal_rate(
    flows: Sequence[Mapping[EdgeKey, int]], capacities: Mapping[EdgeKey, float]
) -> tuple[float, EdgeKey]:
    """The rate of each flow where all move as much and the slowest decides, and the edge that limits it."""
    edges, routes = _routes(flows)
    rate, limit = _core.equal_edge_share([capacities[edge] for edge in edges], routes)
    return rate, edges[limit]


def _routes(flows: Sequence[Mapping[EdgeKey, int]]) -> tuple[list[EdgeKey], list[list[int]]]:
    """The edges of all flows, and the numbers of each flow's, one as often as the flow passes it."""
    edges = list(dict.fromkeys(edge for flow in flows for edge in flow))
    numbers = {edge: number for number, edge in enumerate(edges)}
    return edges, [[numbers[edge] for edge, times in flow.items() for _ in range(times)] for flow in flows]
