"""Estimate each flow's share when all run at once, and who limits whom."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pcielab import _core
from pcielab.argument_types import refuses_wrong_types
from pcielab.errors import refusal
from pcielab.fabric.answers import RoundTables
from pcielab.fabric.flow_texts import asked_gbytes_per_s, bounds_of, with_limits
from pcielab.fabric.listed_shares import ROUNDING, Method, bar_ends, edges_of, without_engines
from pcielab.library.fabrics.load import Fabric, RecordedFabric
from pcielab.notebook import Pictured

_ROWS_MOST = 2_000_000
"""Rows of a table of influences, about 200 MB."""


@dataclass(frozen=True)
class Estimate(Pictured):
    """Result of an estimator.

    Attributes:
        flows: One row per flow: flow, source, destination, standalone_gbytes_per_s, gbytes_per_s, limit (the edge
            that limits it; None if only the flow itself does), fits (whether it gets all that it asks for:
            its standalone bandwidth, which without a declared one is what its path carries).
        edges: One row per direction of a link: edge, capacity_gbytes_per_s, load_gbytes_per_s, flows.
    """

    method: Method
    flows: pd.DataFrame
    edges: pd.DataFrame


@refuses_wrong_types
def estimate(fabric: Fabric | RecordedFabric, flows: pd.DataFrame, method: Method = "max-min") -> Estimate:
    """Estimate the share of each of `flows` (see `Fabric.flows`) on a fabric of a file or of a run's manifest.

    Raises:
        InputError: A flow cannot exist; the message names it.
    """
    arguments = _arguments(fabric, flows)
    found = _core.fabric_estimate(*arguments, method)
    edges = pd.DataFrame(edges_of(arguments[0]))
    edges["load_gbytes_per_s"] = np.frombuffer(found.load)
    edges["flows"] = np.frombuffer(found.crossing, dtype=np.uint32)
    limit = np.frombuffer(found.limit, dtype=np.int32)
    names = np.array([*edges["edge"], None], dtype=object)
    shares = pd.DataFrame(
        {
            "flow": flows["name"].to_numpy(),
            "source": flows["source"].to_numpy(),
            "destination": flows["destination"].to_numpy(),
            "standalone_gbytes_per_s": np.frombuffer(found.standalone),
            "gbytes_per_s": np.frombuffer(found.bandwidth),
            "limit": names[limit],
        }
    )
    shares["fits"] = shares["gbytes_per_s"] >= shares["standalone_gbytes_per_s"] * (1 - ROUNDING)
    return Estimate(method, shares, edges)


@refuses_wrong_types
def rounds(fabric: Fabric, flows: pd.DataFrame) -> list[RoundTables]:
    """The rounds of edge constraints relaxing, each with its table of edges, its constraints and bandwidths."""
    described: list[RoundTables] = json.loads(_core.fabric_rounds(*_arguments(fabric, flows)))
    return described


def free_shares(fabric: Fabric | RecordedFabric, flows: pd.DataFrame) -> Iterator[tuple[float, str | None]]:
    """What each flow, by itself, gets if it asks for all that its path carries, and the others for their rates.

    It takes as many estimates as there are flows. The flows have standalone rates.

    Returns:
        Of each flow in turn, its share, GB/s, and the edge that limits it.
    """
    tree, sources, destinations, standalone, names = _arguments(fabric, flows)
    edges = [row["edge"] for row in edges_of(tree)]
    rates = np.frombuffer(standalone).copy()
    for number, rate in enumerate(rates.tolist()):
        rates[number] = np.inf
        found = _core.fabric_estimate(tree, sources, destinations, rates.tobytes(), names, "max-min")
        rates[number] = rate
        limit = int(np.frombuffer(found.limit, dtype=np.int32)[number])
        yield float(np.frombuffer(found.bandwidth)[number]), edges[limit] if limit >= 0 else None


@dataclass(frozen=True, eq=False)
class Influence:
    """A change, and the flows whose share it moves.

    Attributes:
        change: `stop`: a flow stops; `double`: the capacity of an edge doubles.
        what: That flow or edge.
        flows: The numbers of the flows affected, ascending; often none.
        gbytes_per_s: Their shares before the change, GB/s.
        then_gbytes_per_s: Their shares after it, GB/s.
    """

    change: str
    what: str
    flows: "np.ndarray[Any, np.dtype[np.uint32]]"
    gbytes_per_s: "np.ndarray[Any, np.dtype[np.float64]]"
    then_gbytes_per_s: "np.ndarray[Any, np.dtype[np.float64]]"


@refuses_wrong_types
def influence_of_each(
    fabric: Fabric | RecordedFabric,
    flows: pd.DataFrame,
    method: Method = "max-min",
    progress: Callable[[int, int], None] | None = None,
    limit: int | None = None,
) -> Iterator[Influence]:
    """The changes of `influences` one by one: those of many flows are more than a machine can hold.

    Args:
        fabric: The fabric.
        flows: Its flows.
        method: The estimator.
        progress: Called with the changes estimated, and their total.
        limit: Shares that all changes may take, one of each flow and change; None: a hundred million, which take
            about ten seconds.

    Returns:
        Every change: first the edges that limit a flow, each twice as wide, then the flows, each stopped.

    Raises:
        InputError: The changes take more shares than the limit; the message names how many.
    """
    return _shown(_core.FabricInfluences(*_arguments(fabric, flows), method, limit), progress)


def _shown(every: _core.FabricInfluences, progress: Callable[[int, int], None] | None) -> Iterator[Influence]:
    """Each change, with its progress."""
    total = len(every)
    for number, (change, what, affected, before, after) in enumerate(every):
        if progress is not None:
            progress(number, total)
        yield Influence(
            change,
            what,
            np.frombuffer(affected, dtype=np.uint32),
            np.frombuffer(before),
            np.frombuffer(after),
        )


@refuses_wrong_types
def influences(fabric: Fabric | RecordedFabric, flows: pd.DataFrame, method: Method = "max-min") -> pd.DataFrame:
    """Changes of shares if one flow stopped, or one limiting edge were twice as wide.

    Many flows have up to their number squared: `influence_of_each` gives them without keeping them.

    Returns:
        One row per change and flow that it affects: change, what, flow, gbytes_per_s, then_gbytes_per_s (see
        `Influence`).

    Raises:
        InputError: The table has more than two million rows, or the changes take too long (see
            `influence_of_each`).
    """
    return influence_table(_few(influence_of_each(fabric, flows, method)), flows)


def _few(changes: Iterable[Influence]) -> Iterator[Influence]:
    """The same changes, refused as soon as their table has too many rows."""
    rows = 0
    for one in changes:
        rows += len(one.flows)
        if rows > _ROWS_MOST:
            raise refusal(
                "too-large",
                f"influences: more than {_ROWS_MOST} rows: give fewer flows, or take the changes one by one "
                "(influence_of_each)",
            )
        yield one


@refuses_wrong_types
def influence_table(found: Iterable[Influence], flows: pd.DataFrame) -> pd.DataFrame:
    """The table of `influences` for some changes of these flows."""
    kept = [one for one in found if len(one.flows)]
    names = flows["name"].astype(str).to_numpy(dtype=object)
    counts = [len(one.flows) for one in kept]
    return pd.DataFrame(
        {
            "change": np.repeat(np.array([one.change for one in kept], dtype=object), counts),
            "what": np.repeat(np.array([one.what for one in kept], dtype=object), counts),
            "flow": names[_joined([one.flows for one in kept], np.uint32)],
            "gbytes_per_s": _joined([one.gbytes_per_s for one in kept], np.float64),
            "then_gbytes_per_s": _joined([one.then_gbytes_per_s for one in kept], np.float64),
        }
    )


def _joined(parts: "list[np.ndarray[Any, Any]]", kind: type) -> "np.ndarray[Any, Any]":
    return np.concatenate([np.empty(0, dtype=kind), *parts])


def _arguments(
    fabric: Fabric | RecordedFabric, flows: pd.DataFrame
) -> tuple[_core.Fabric, bytes, bytes, bytes, list[str]]:
    nodes = pd.Index(fabric.node_names)
    ends = [
        nodes.get_indexer(pd.Index(flows[key])).astype(np.uint32).tobytes() for key in ("source", "destination")
    ]
    standalone = flows["standalone_gbytes_per_s"].fillna(np.inf).to_numpy(dtype=np.float64).tobytes()
    return (
        without_engines(fabric.handle, through_bars_of(flows)),
        ends[0],
        ends[1],
        standalone,
        flows["name"].astype(str).tolist(),
    )


def through_bars_of(flows: pd.DataFrame) -> set[str]:
    """The devices whose BARs these flows use (see `bar_ends`)."""
    if "primitive" not in flows:
        return set()
    used = flows[flows["primitive"] != "stream"][["primitive", "source", "destination"]]
    return bar_ends(used.drop_duplicates().itertuples(index=False, name=None))


@refuses_wrong_types
def shares(fabric: Fabric, flows: pd.DataFrame, method: Method = "max-min") -> Estimate:
    """As `estimate`, for the fabric of a machine; the same as `estimate` for others.

    A flow between devices gets at most what the root complex carries for it. Its `limit` then names that bound,
    and its standalone rate is what it gets alone. It fits if it gets all that it asks for.

    Raises:
        InputError: A flow cannot exist; the message names it.
    """
    limited = with_limits(fabric, flows)
    found = estimate(fabric, limited, method)
    if limited is flows:
        return found
    asked = asked_gbytes_per_s(flows)
    given = found.flows["gbytes_per_s"]
    # A flow that asks for nothing certain asks for what its path carries.
    fits = found.flows["fits"] & ~(given < asked * (1 - ROUNDING))
    bounds = pd.Series(bounds_of(fabric, flows), dtype=object)
    limit = found.flows["limit"].astype(object)
    limit = limit.where(limit.notna(), bounds.where(bounds.notna(), None))
    standalone = found.flows["standalone_gbytes_per_s"].where(np.isnan(asked), asked)
    return replace(found, flows=found.flows.assign(standalone_gbytes_per_s=standalone, limit=limit, fits=fits))
