"""What each of several flows gets of edges that they share: max-min fair, for edges that are no links of a tree.

`pcielab.fabric` shares the links of a fabric. Here flows also meet edges that belong to no link: what a root
complex forwards, a quadrant of an I/O die, both directions of a copy engine, a NIC's line.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

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
    rates = [0.0] * len(flows)
    limits: list[EdgeKey] = [next(iter(flow)) for flow in flows]
    rising = set(range(len(flows)))
    while rising:
        weights: dict[EdgeKey, int] = {}
        for at in rising:
            for edge, times in flows[at].items():
                weights[edge] = weights.get(edge, 0) + times
        left = {
            edge: capacities[edge]
            - sum(rates[at] * flow.get(edge, 0) for at, flow in enumerate(flows) if at not in rising)
            for edge in weights
        }
        level = {edge: max(left[edge], 0.0) / weight for edge, weight in weights.items()}
        lowest = min(level.values())
        full = [edge for edge, rate in level.items() if math.isclose(rate, lowest, rel_tol=1e-9)]
        full.sort(key=lambda edge: -weights[edge])
        for at in list(rising):
            if any(edge in flows[at] for edge in full):
                rates[at] = lowest
                limits[at] = next(edge for edge in full if edge in flows[at])
                rising.discard(at)
    return rates, limits


def equal_rate(
    flows: Sequence[Mapping[EdgeKey, int]], capacities: Mapping[EdgeKey, float]
) -> tuple[float, EdgeKey]:
    """The rate of each flow where all move as much and the slowest decides, and the edge that limits it."""
    weights: dict[EdgeKey, int] = {}
    for flow in flows:
        for edge, times in flow.items():
            weights[edge] = weights.get(edge, 0) + times
    edge = min(weights, key=lambda one: (capacities[one] / weights[one], -weights[one]))
    return capacities[edge] / weights[edge], edge
