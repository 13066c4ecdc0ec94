"""Flows through a fabric: an edge that is shared, the flow's own demand, or its requests in flight.

An edge's bound is the flow's max-min share if every other flow asks for what it had in the simulation. A flow
well below that share is held by its own requests: N of them carry N x size in every round trip T.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pcielab.fabric.flow_numbers import PHASES
from pcielab.kinds.explained import MARKED_BELOW, NO_KNOWN_CAUSE, Explained, ExplainedRun, Limit
from pcielab.kinds.flows.rows import flow_counts, flow_table
from pcielab.kinds.rooms import Explain, OfPaper
from pcielab.store import Store

if TYPE_CHECKING:
    import pandas as pd

    from pcielab.kinds.flows.published import FlowNumbers
    from pcielab.kinds.published.values import Published
    from pcielab.library.fabrics.load import RecordedFabric

IN_FLIGHT, DEMAND = "in-flight", "own-demand"
_ASKED = ("swept_to", "flow", "source", "destination", "primitive", "size_bytes", "outstanding")
_REACHED = 0.9
"""Share of an edge's bound from which the edge is what limits a flow."""
_PHASE_WORDS = {"host": "queued at the host", "fabric": "in the fabric", "device": "executed at the device"}


def explain_flows(store: Store, tests: Sequence[int]) -> ExplainedRun:
    """The flows of a run in `tests`, each with its limits."""
    from pcielab.library.fabrics.load import recorded

    fabric = recorded(store.manifest, str(store.path))
    table = flow_table(store).rename(columns={"value": "swept_to"})
    if "gbytes_per_s" not in table:
        return ExplainedRun([], _name(store), [])
    rows = [
        row
        for _, of_test in table[table["id"].isin(tests) & (table["status"] == "ok")].groupby("id", sort=False)
        for row in _rows(fabric, of_test)
    ]
    return ExplainedRun(rows, _name(store), [])


def _name(store: Store) -> str:
    return str((store.manifest.get("system") or {}).get("name", "a fabric"))


def _rows(fabric: "RecordedFabric", flows: "pd.DataFrame") -> Iterator[Explained]:
    """The flows of a test."""
    from pcielab.fabric.estimation import free_shares

    offered = flows.reindex(columns=["standalone_gbytes_per_s"])["standalone_gbytes_per_s"].astype(float)
    asked = flows.assign(name=flows["flow"], standalone_gbytes_per_s=flows["gbytes_per_s"].astype(float))
    shares = zip(flows.to_dict("records"), free_shares(fabric, asked), offered.tolist(), strict=True)
    for row, (share, edge), alone in shares:
        if row["gbytes_per_s"] == row["gbytes_per_s"]:
            yield _row(row, Limit(f"edge {edge}", share) if edge else None, alone)


def _row(row: Mapping[Any, Any], edge: Limit | None, offered: float) -> Explained:
    value = float(row["gbytes_per_s"])
    average = row.get("average_ns")
    limits = [edge] if edge else []
    if offered == offered:
        limits.append(Limit(DEMAND, offered))
    outstanding = row.get("outstanding")
    if average and average == average and outstanding and outstanding == outstanding and row["size_bytes"]:
        limits.append(Limit(IN_FLIGHT, float(outstanding * row["size_bytes"] / average)))
    # Requests in flight give a flow exactly what it has, whatever holds them: they bind where nothing else does.
    reached = [limit for limit in limits if limit.name != IN_FLIGHT and value >= _REACHED * limit.value]
    limits.sort(key=lambda limit: (limit not in reached, limit.value))
    return Explained(
        test=int(row["id"]),
        family=str(row["family"]),
        name=str(row["experiment"]),
        asked={key: _plain(row.get(key)) for key in _ASKED},
        value=value,
        unit="GB/s",
        limits=tuple(limits),
        parts={f"{phase}_ns": _plain(row.get(f"{phase}_ns")) for phase in PHASES}
        | {"average_ns": _plain(average)},
        reasons=tuple(_reasons(row, limits, value)),
    )


def _reasons(row: Mapping[Any, Any], limits: Sequence[Limit], value: float) -> Iterator[str]:
    phases = {phase: row.get(f"{phase}_ns") for phase in PHASES}
    known = {phase: float(ns) for phase, ns in phases.items() if ns is not None and ns == ns}
    total = sum(known.values())
    if limits and limits[0].name == IN_FLIGHT and total:
        longest = max(known, key=lambda phase: known[phase])
        yield f"{100 * known[longest] / total:.0f} % of a request's {total:.0f} ns is {_PHASE_WORDS[longest]}"
    elif limits and value < MARKED_BELOW * limits[0].value:
        yield NO_KNOWN_CAUSE
    note = row.get("note")
    if isinstance(note, str) and note:
        yield note


def _plain(value: Any) -> Any:
    """A cell of a frame as a plain value, None where it is missing."""
    return None if value is None or value != value else value.item() if hasattr(value, "item") else value


def _published(store: Store, known: "Published") -> "FlowNumbers":
    from pcielab.kinds.flows.published import FlowNumbers

    return FlowNumbers(store, known)


EXPLAIN = Explain(
    rows=explain_flows,
    told=("flow", "swept_to"),
    published=OfPaper({"series", "value"}, _published),
    flow_counts=flow_counts,
)
