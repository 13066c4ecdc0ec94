"""Why flows of a fabric get no more: the edges that limit them, estimated, and the effect of single changes.

The estimate is max-min fair; the other method (`ecr`) is asked beside it: where both agree the answer is surer.
Rates are GB/s of payload. `flow_runs` answers about simulated flows.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pcielab.analysis.why.answer import Bar, Cell, Change, Why, words_of
from pcielab.analysis.why.gains import LEAST_GAIN_PERCENT
from pcielab.analysis.why.numbers import listed
from pcielab.library.fabrics.load import Fabric, RecordedFabric
from pcielab.work.effort import Progress

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from pcielab.fabric.estimation import Estimate

AGREE = 0.05
"""Shares that differ by no more than this agree."""
UNIT = "GB/s"
_NAMED_FLOWS = 3
_SHOWN_CHANGES, _SHOWN_FLOWS = 5, 8
_CHANGES = {"double": "doubling the edge {}", "stop": "stopping {}"}


def why_flows(
    fabric: Fabric,
    flows: "pd.DataFrame",
    title: str,
    *,
    progress: Progress | None = None,
    limit: int | None = None,
) -> Why:
    """Why flows that run at once get no more.

    Args:
        fabric: The fabric.
        flows: Its flows, as `Fabric.flows` gives them.
        title: The question, in words.
        progress: Called with the changes estimated, and their total.
        limit: Shares that all changes may take (see `influence_of_each`).

    Raises:
        InputError: A flow cannot exist, or the changes take more shares than the limit.
    """
    from pcielab.fabric.estimation import estimate
    from pcielab.fabric.flow_texts import with_limits

    flows = with_limits(fabric, flows)
    found, other = estimate(fabric, flows), estimate(fabric, flows, "ecr")
    shares = found.flows.to_dict("records")
    edge = _busiest(shares)
    changes = influenced(fabric, flows, progress, limit)
    best = [change for change in changes if change.gain_percent >= LEAST_GAIN_PERCENT]
    asked = {
        "title": title,
        "flows": len(shares),
        "edge": None if edge is None else _edge(edge, found),
        "apart": _apart(shares, other.flows.to_dict("records")),
        "best": asdict(best[0]) if best else None,
    }
    question, sentences, sure, first = words_of("estimated", asked)
    return Why(
        question=question,
        sentences=sentences,
        binds=edge,
        certainty=sure,
        change=first,
        changes=tuple(changes),
        unit=UNIT,
        bars=tuple(_bars(edge, found, best)),
        rows=tuple(_cells(row) for row in shares),
    )


def influenced(
    fabric: Fabric | RecordedFabric,
    flows: "pd.DataFrame",
    progress: Progress | None = None,
    limit: int | None = None,
) -> list[Change]:
    """Each single change of an edge or a flow, with the total of the flows that it affects; wider edges first."""
    from pcielab.fabric.estimation import influence_of_each

    names = flows["name"].astype(str).tolist()
    changes = [
        Change(
            f"{_CHANGES[one.change].format(one.what)}, which affects {_named(one.flows, names)}",
            sum(one.gbytes_per_s.tolist()),
            sum(one.then_gbytes_per_s.tolist()),
            UNIT,
            "flows" if one.change == "stop" else "link",
        )
        for one in influence_of_each(fabric, flows, progress=progress, limit=limit)
        if one.gbytes_per_s.any()
    ]
    # Stopping a flow takes its own rate away: that comes last.
    return sorted(changes, key=lambda change: (change.of == "flows", change.before - change.after))


def flow_names(names: Sequence[str]) -> str:
    """The first flows by name, and the number of the others."""
    return _first_flows(names[:_NAMED_FLOWS], len(names))


def _named(numbers: "np.ndarray[Any, Any]", names: Sequence[str]) -> str:
    """As `flow_names`, of flows by number."""
    return _first_flows([names[number] for number in numbers[:_NAMED_FLOWS]], len(numbers))


def _first_flows(names: Sequence[str], count: int) -> str:
    more = count - len(names)
    return listed([*names, *([f"{more} more"] if more > 0 else [])])


def _busiest(shares: Sequence[Mapping[Any, Any]]) -> str | None:
    """The edge that limits most flows."""
    edges = [row["limit"] for row in shares if isinstance(row["limit"], str)]
    return Counter(edges).most_common(1)[0][0] if edges else None


def _edge(edge: str, found: "Estimate") -> dict[str, Any]:
    """An edge that limits flows, as the compiled half takes it."""
    limited = [row for row in found.flows.to_dict("records") if row["limit"] == edge]
    load, capacity = _load(found, edge)
    lost = sum(float(row["standalone_gbytes_per_s"]) - float(row["gbytes_per_s"]) for row in limited)
    return {
        "name": edge,
        "flows": [str(row["flow"]) for row in limited],
        "load": load,
        "capacity": capacity,
        "lost": lost if lost < _UNLIMITED else None,
    }


_UNLIMITED = float("inf")
"""Standalone rate of a flow that declares none."""


def _load(found: "Estimate", edge: str) -> tuple[float, float]:
    """An edge's load and capacity."""
    [row] = found.edges[found.edges["edge"] == edge].to_dict("records")
    return float(row["load_gbytes_per_s"]), float(row["capacity_gbytes_per_s"])


def _apart(shares: Sequence[Mapping[Any, Any]], others: Sequence[Mapping[Any, Any]]) -> list[str]:
    """The flows for which two methods estimate different shares."""
    return [
        str(one["flow"])
        for one, other in zip(shares, others, strict=True)
        if abs(float(other["gbytes_per_s"]) - float(one["gbytes_per_s"])) > AGREE * float(one["gbytes_per_s"])
    ]


def _bars(edge: str | None, found: "Estimate", best: Sequence[Change]) -> Iterator[Bar]:
    for row in found.flows.head(_SHOWN_FLOWS).to_dict("records"):
        yield Bar(f"{row['flow']}, estimated", float(row["gbytes_per_s"]), "value")
    if edge is not None:
        yield Bar(f"edge {edge}", _load(found, edge)[1], "bound")
    for change in best[:_SHOWN_CHANGES]:
        yield Bar(change.what, change.after, "change")


def _cells(row: Mapping[Any, Any]) -> Mapping[str, Cell]:
    alone = float(row["standalone_gbytes_per_s"])
    return {
        "flow": str(row["flow"]),
        "source": str(row["source"]),
        "destination": str(row["destination"]),
        "standalone_gbytes_per_s": alone if alone < _UNLIMITED else None,
        "gbytes_per_s": float(row["gbytes_per_s"]),
        "limit": row["limit"] if isinstance(row["limit"], str) else None,
    }
