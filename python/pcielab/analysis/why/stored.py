"""Why a run gives its values, at the cost of reading it: the answer that reports open with.

Values and bounds are those of the store and of closed forms. Changes are computed for one test of bandwidth of a
described system, and for a few flows; `stores` answers the same question with all of them.
"""

from dataclasses import replace

from pcielab.analysis.explain.run import explain_rows, flow_counts, has_link_bounds
from pcielab.analysis.why.answer import Why
from pcielab.analysis.why.limits import why_limits
from pcielab.analysis.why.transfers import why_transfers
from pcielab.store import Store

_SHARES_MOST = 400
"""Shares of flows that may be estimated again: twenty flows at once."""


def why_stored(store: Store) -> Why | None:
    """Why the tests of a store give their values; None if no test has a result with a known limit.

    Args:
        store: A run of any kind and origin but emulated.

    Raises:
        InputError: The run is emulated, or its manifest or a test is damaged.
    """
    store.require_speed("why")
    found = explain_rows(store, ())
    if not any(row.limits for row in found.rows):
        return None
    if has_link_bounds(store, ()):
        return why_transfers(store, focus_most=1)
    counts = flow_counts(store)
    if counts and sum(count * count for count in counts) <= _SHARES_MOST:
        from pcielab.analysis.why.flow_runs import why_flow_run

        return why_flow_run(store, found)
    answer = why_limits(store, found)
    if answer.changes or store.origin != "simulated":
        return answer
    *said, _ = answer.sentences
    return replace(answer, sentences=(*said, f"What changes would give: pcielab why {store.path.name}."))
