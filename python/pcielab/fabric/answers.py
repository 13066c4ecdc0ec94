"""What the compiled half answers about flows on a fabric, as it comes out of JSON.

Written by `make generate` from `crates/pcie-python/src/fabric.rs`: change the types there.
"""

from typing import TypedDict


class EdgeRow(TypedDict):
    """An edge: one direction of a link."""

    edge: str
    """Its name."""
    capacity_gbytes_per_s: float
    """Payload that it carries, GB/s."""


class EntryRow(TypedDict):
    """An edge that is asked for more than it carries."""

    edge: str
    """The edge."""
    capacity_gbytes_per_s: float
    """Payload that it carries, GB/s."""
    demand_gbytes_per_s: float
    """What it is asked for, GB/s."""
    flows: list[str]
    """The flows that ask."""


class ConstraintRow(TypedDict):
    """What an edge leaves a flow."""

    flow: str
    """The flow."""
    edge: str
    """The edge."""
    gbytes_per_s: float
    """What is left, GB/s."""


class RoundTables(TypedDict):
    """A round of edge constraints relaxing."""

    edges: list[EntryRow]
    """Edges that are asked for more than they carry."""
    constraints: list[ConstraintRow]
    """What flows are cut to."""
    gbytes_per_s: list[float]
    """What each flow has after it, GB/s."""


class InfluenceRow(TypedDict):
    """A flow that a change affects."""

    change: str
    """`stop`: a flow stops; `double`: an edge carries twice as much."""
    what: str
    """That flow or edge."""
    flow: str
    """The flow that is affected."""
    gbytes_per_s: float
    """What it gets without the change, GB/s."""
    then_gbytes_per_s: float
    """And with it."""
