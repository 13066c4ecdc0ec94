"""Explain a run of any kind: transfers, frames of a NIC, messages, flows through a fabric, other tools' numbers.

>>> from pcielab import open_store
>>> from pcielab.analysis.explain import explain_rows
>>> for row in explain_rows(open_store("nic.db")).rows:
...     print(row.asked, row.value, row.unit, row.limits[0].name)
"""

from collections.abc import Sequence

from pcielab.analysis.explain.bounds import scalar
from pcielab.analysis.explain.explained import Explained, ExplainedRun, Limit
from pcielab.analysis.explain.flows import explain_flows
from pcielab.analysis.explain.frames import explain_frames
from pcielab.analysis.explain.latencies import explain_latencies
from pcielab.analysis.explain.machine_facts import no_link
from pcielab.analysis.explain.measured_link import LSPCI, link_is_known
from pcielab.analysis.explain.messages import explain_messages
from pcielab.analysis.explain.rows import NO_LINK, Row, explain_run, matching, without_result
from pcielab.analysis.explain.tools import explain_tools
from pcielab.errors import InputError
from pcielab.store import Store

_EXPLAINERS = {
    "transfers": explain_latencies,
    "frames": explain_frames,
    "messages": explain_messages,
    "fabric": explain_flows,
    "tool": explain_tools,
}
_UNKNOWN_LINK = f"unknown link, so no bounds: import a folder that holds {LSPCI} (`lspci -vvv`, as root)"
_ASKED = ("operation", "size_bytes", "window_bytes", "cache", "outstanding")


def explain_rows(store: Store, tests: Sequence[str] = ()) -> ExplainedRun:
    """Find what limits each test of a run of any kind.

    Of a run of transfers, the rows are its bandwidth tests; its latency tests, if it has no others.

    Args:
        store: The run.
        tests: Only these: numbers of tests, or parts of their family or name. All, if empty.

    Raises:
        InputError: The run is emulated, its machine is unknown, or a text of `tests` matches no test.
    """
    store.require_speed("explain")
    chosen = matching(store, tests)
    if has_link_bounds(store, tests):
        explanation = explain_run(store, tests)
        return ExplainedRun([_of_transfers(row) for row in explanation.rows], "transfers", explanation.notes)
    explain = _EXPLAINERS[store.kind]
    if store.kind == "transfers" and _has_bandwidths(store, chosen):
        explain = _without_link
    found = explain(store, chosen)
    return ExplainedRun(found.rows, found.about, [*found.notes, *without_result(store, chosen)])


def has_link_bounds(store: Store, tests: Sequence[str] = ()) -> bool:
    """Whether a run has bandwidth tests of transfers over a known PCIe link, which `explain_run` explains."""
    if store.kind != "transfers" or not _has_bandwidths(store, matching(store, tests)):
        return False
    return not no_link(store) and bool(store.manifest.get("system") or link_is_known(store))


def _has_bandwidths(store: Store, tests: Sequence[int]) -> bool:
    chosen, rows = {*tests}, [*store.test_rows()]
    if not any("operation" in row for row in rows):
        raise InputError(f"{store.path}: its tests have no `operation`: give a run that this version can read")
    return any(str(row.get("operation")).startswith("bw-") for row in rows if row["id"] in chosen)


def _without_link(store: Store, tests: Sequence[int]) -> ExplainedRun:
    """The bandwidths of a device without a PCIe link, or of one that does not report it."""
    rows = [
        Explained(
            test=record["id"],
            family=record["family"],
            name=record["name"],
            asked={key: record["parameters"][key] for key in _ASKED},
            value=value,
            unit="Gb/s",
        )
        for record in store.records()
        if record["id"] in tests and (value := scalar(record, "bandwidth")) is not None
    ]
    if no_link(store):
        return ExplainedRun(rows, "a device without a PCIe link", [NO_LINK])
    return ExplainedRun(rows, "a device whose link is unknown", [_UNKNOWN_LINK])


def _of_transfers(row: Row) -> Explained:
    return Explained(
        test=row.test,
        family=row.family,
        name=row.name,
        asked={key: row.parameters[key] for key in _ASKED},
        value=row.value_gbps,
        unit="Gb/s",
        limits=tuple(Limit(ceiling.bound, ceiling.gbps) for ceiling in row.answer.ceilings),
        parts={"round_trip_ns": row.round_trip.ns if row.round_trip else None},
        reasons=row.reasons,
    )
