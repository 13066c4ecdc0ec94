"""Answers of the compiled half about flows on a fabric, as they come out of JSON.

Written by `make generate` from `crates/pcie-python/src/fabric.rs`: change the types there.
"""

from typing import TypedDict


class EntryRow(TypedDict):
    """An oversubscribed edge."""

    edge: str
    """The edge."""
    capacity_gbytes_per_s: float
    """Capacity for payload, GB/s."""
    demand_gbytes_per_s: float
    """Total demand of its flows, GB/s."""
    flows: list[str]
    """Its flows."""


class ConstraintRow(TypedDict):
    """The share of a flow that an edge cuts."""

    flow: str
    """The flow."""
    edge: str
    """The edge."""
    gbytes_per_s: float
    """Its share, GB/s."""


class RoundTables(TypedDict):
    """A round of edge constraints relaxing."""

    edges: list[EntryRow]
    """Oversubscribed edges."""
    constraints: list[ConstraintRow]
    """Flows that edges cut."""
    gbytes_per_s: list[float]
    """Bandwidth of each flow after the round, GB/s."""
