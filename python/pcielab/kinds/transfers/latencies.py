"""Latencies of transfers: the round trip of the link and the host, and what adds to the rest.

A system's profile gives the least time for which a read request holds its tag. A measured latency also has the
device's own time before sending and after receiving, so it is longer.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pcielab.errors import found_in
from pcielab.kinds.explained import Explained, ExplainedRun, Limit, check_has
from pcielab.kinds.machine_facts import MachineFacts, facts_of, no_link
from pcielab.kinds.measured_link import link_is_known
from pcielab.kinds.transfers.bounds import TestBounds, bounds_of_tests, scalar
from pcielab.kinds.transfers.reasons import NEEDED, reasons
from pcielab.store import Store

_ASKED = ("operation", "path", "size_bytes", "window_bytes", "pattern", "cache", "host_offset_bytes")
ROUND_TRIP = "round-trip"


def explain_latencies(store: Store, tests: Sequence[int]) -> ExplainedRun:
    """The latency tests of a run among `tests`, each with the round trip that it contains."""
    records = [
        record for record in store.records() if record["id"] in tests and scalar(record, "median") is not None
    ]
    facts = _facts(store)
    for record in records if facts is not None else ():
        check_has({**record["parameters"], "id": record["id"]}, NEEDED, store.path)
    with found_in(store.path):
        bounds = _bounds_of_reads(facts, [record["parameters"] for record in records])
    rows = [_row(record, found, facts) for record, found in zip(records, bounds, strict=True)]
    known = facts is not None and facts.system is not None
    notes = [] if known else ["no system profile: the round trip within a latency is not known"]
    includes = store.latency_includes
    return ExplainedRun(rows, f"transfers; latencies include {includes}" if includes else "transfers", notes)


def _facts(store: Store) -> MachineFacts | None:
    known = store.manifest.get("system") or (not no_link(store) and link_is_known(store))
    return facts_of(store) if known else None


def _bounds_of_reads(
    facts: MachineFacts | None, tests: Sequence[Mapping[str, Any]]
) -> Sequence[TestBounds | None]:
    """The least time of each test's read in the host and on the link, if a profile gives it."""
    if facts is None or facts.system is None:
        return [None] * len(tests)
    reads = [{**test, "operation": "bw-rd", "path": "dma", "details": False} for test in tests]
    return bounds_of_tests(facts, reads)


def _row(record: Mapping[str, Any], bounds: TestBounds | None, facts: MachineFacts | None) -> Explained:
    trip_ns = bounds.round_trip.ns if bounds and bounds.round_trip else None
    flits = bounds.flits.model_dump() if bounds and bounds.flits else {}
    parameters = record["parameters"]
    value = float(scalar(record, "median") or 0.0)
    added = reasons(facts, parameters, tags_charged=True) if facts is not None else []
    own = [f"{value - trip_ns:.0f} ns beside the round trip of link and host"] if trip_ns else []
    return Explained(
        test=int(record["id"]),
        family=record["family"],
        name=record["name"],
        asked={key: parameters.get(key) for key in _ASKED},
        value=value,
        unit="ns",
        limits=(Limit(ROUND_TRIP, trip_ns),) if trip_ns else (),
        parts={f"{metric}_ns": scalar(record, metric) for metric in ("minimum", "p99")}
        | {f"flit_{part}": ns for part, ns in flits.items()},
        reasons=(*own, *added),
    )
