"""Transfers of a trace: the pace of the recording, the wire, and the tags of the link.

A trace has the times of its transfers: where none waits, its own pace is all that limits the rate. The bound of
tags is Little's law over the reads: the rate if every tag were in use, each for as long as a read takes here.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pcielab import model
from pcielab.kinds.explained import Explained, ExplainedRun, Limit
from pcielab.kinds.rooms import Explain
from pcielab.store import Store

DEMAND = "own-demand"
_ASKED = ("trace", "direction", "cache", "window_bytes")
_WAITED = 0.01
"""Least share of transfers that wait for it to be said."""


def explain_traces(store: Store, tests: Sequence[int]) -> ExplainedRun:
    """The reads and writes of a trace among `tests`, each with its limits."""
    link = store.require_system().link
    rows = [
        _row(record, link)
        for record in store.records()
        if record["id"] in tests and record["status"] == "ok" and record["scalars"]
    ]
    about = f"a device with the {link.tags} tags of Gen{link.generation} x{link.lanes}, MPS {link.mps_bytes}"
    shared = "reads and writes share the link: the bound of a wire is that of one of them alone"
    return ExplainedRun(rows, about, [shared] if len(rows) > 1 else [])


def _row(record: Mapping[str, Any], link: Any) -> Explained:
    whole = {row["metric"]: float(row["value"]) for row in record["scalars"]}
    parameters = record["parameters"]
    limits = sorted(_limits(parameters["direction"], whole, link), key=lambda limit: limit.value)
    return Explained(
        test=int(record["id"]),
        family=record["family"],
        name=record["name"],
        asked={key: parameters.get(key) for key in _ASKED},
        value=whole["bandwidth"],
        unit="Gb/s",
        limits=tuple(limits),
        parts={f"{metric}_ns": whole.get(metric) for metric in ("median", "p99", "average_wait")},
        reasons=tuple(_reasons(whole, limits, link.tags)),
    )


def _limits(direction: str, whole: Mapping[str, float], link: Any) -> Iterator[Limit]:
    if "recorded_bandwidth" in whole:
        yield Limit(DEMAND, whole["recorded_bandwidth"])
    if "wire_bandwidth" in whole:
        keys = {"generation", "lanes", "mps_bytes", "mrrs_bytes", "rcb_bytes", "ecrc"}
        size = max(1, round(whole["bytes"] / whole["transactions"]))
        [answer] = model.bandwidth(model.Link(**{key: getattr(link, key) for key in keys}), [size])
        yield Limit(getattr(answer, direction).bound, whole["wire_bandwidth"])
    if whole.get("in_flight"):
        yield Limit("tags", whole["bandwidth"] * link.tags / whole["in_flight"])


def _reasons(whole: Mapping[str, float], limits: Sequence[Limit], tags: int) -> Iterator[str]:
    waited, count = whole.get("waited", 0.0), whole["transactions"]
    if waited > _WAITED * count:
        wait_ns = whole["average_wait"]
        yield f"{waited:.0f} of {count:.0f} transfers wait for a tag or credits, {wait_ns:.0f} ns on average"
    if limits and limits[0].name == "tags":
        yield f"{whole['in_flight']:.0f} of {tags} tags are in use on average"


EXPLAIN = Explain(rows=explain_traces, told=("trace", "direction", "cache"))
