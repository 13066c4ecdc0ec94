"""Explain a run of any kind: transfers, messages, frames of a NIC, flows, other tools' numbers, traces.

>>> from pcielab import open_store
>>> from pcielab.analysis.explain import explain_rows
>>> for row in explain_rows(open_store("nic.db")).rows:
...     print(row.asked, row.value, row.unit, row.limits[0].name)
"""

from collections.abc import Sequence

from pcielab.kinds.explained import ExplainedRun, matching, without_result
from pcielab.kinds.rooms import room_of
from pcielab.kinds.transfers.explain import explained_bandwidths
from pcielab.store import Store
from pcielab.store.manifest import extrapolated_of


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
    chosen, explain = matching(store, tests), room_of(store).explain
    if explain.has_link_bounds(store, chosen):
        return explained_bandwidths(store, tests)
    found = explain.rows(store, chosen)
    notes = [*extrapolated_of(store.manifest), *found.notes, *without_result(store, chosen)]
    return ExplainedRun(found.rows, found.about, notes)


def flow_counts(store: Store, tests: Sequence[str] = ()) -> list[int]:
    """The flows of each test of a run of flows, each explained by an estimate of all of them; of others, none."""
    return room_of(store).explain.flow_counts(store, matching(store, tests))


def has_link_bounds(store: Store, tests: Sequence[str] = ()) -> bool:
    """Whether a run has bandwidth tests of transfers over a known PCIe link, which `explain_run` explains."""
    return room_of(store).explain.has_link_bounds(store, matching(store, tests))
