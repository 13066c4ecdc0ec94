"""Why a run gives its values, at the cost of reading it: the answer that reports open with.

Values and bounds are those of the store and of closed forms. A change is simulated for one test of bandwidth of a
described system at most; `stores` answers the same question with all of them.
"""

from pcielab.analysis.explain.run import explain_rows, has_link_bounds
from pcielab.analysis.why.answer import Why
from pcielab.analysis.why.limits import why_limits
from pcielab.analysis.why.transfers import why_transfers
from pcielab.store import Store


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
    return why_transfers(store, focus_most=1) if has_link_bounds(store, ()) else why_limits(store, found)
