"""Why the tests of a store of transfers give their values.

Bounds and possible causes are those of `explain`. A complete system is simulated again with each change; for a
store without one, the closed form gives the bound of its link with the change.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pcielab import _core
from pcielab.analysis.why.answer import Why, read_answer
from pcielab.analysis.why.gains import modelled_gains
from pcielab.analysis.why.one_test import why_test
from pcielab.analysis.why.predicted import no_progress
from pcielab.analysis.why.unmeasured import unmeasured_in
from pcielab.errors import refusal
from pcielab.kinds.transfers.checks import checks
from pcielab.kinds.transfers.explain import Row, explain_run
from pcielab.store import Store
from pcielab.work.effort import Progress

_FOCUS_MOST = 6
"""Most tests for which changes are simulated."""


def why_transfers(
    store: Store,
    tests: Sequence[str] = (),
    progress: Progress = no_progress,
    focus_most: int = _FOCUS_MOST,
) -> Why:
    """Why the tests of a store give their values.

    Args:
        store: A run of transfers, of any origin.
        tests: Only these: numbers, or parts of a family or name. All, if empty.
        progress: Called while changes are simulated.
        focus_most: Most tests for which changes are simulated.

    Raises:
        InputError: The link is unknown, or a text of `tests` matches no test of bandwidth with a result.
    """
    explanation = explain_run(store, tests)
    facts, rows = explanation.facts, explanation.rows
    if facts is None or not rows:
        raise refusal(
            "missing", f"{store.path}: no test of bandwidth has a result: give a finished run, or other tests"
        )
    known = unmeasured_in(store)
    if len(rows) == 1 and facts.system is not None:
        [row] = rows
        return why_test(
            facts.system,
            store.title,
            row.parameters,
            measured=row.value_gbps,
            origin=store.origin,
            unmeasured=known.keys,
            borrowed=known.borrowed,
            notes=known.notes,
            progress=progress,
        )
    group = _largest_group(rows)
    focus = _spread(group, focus_most)
    parameters = [row.parameters for row in focus]
    gains = [] if facts.system is not None else modelled_gains(facts, parameters, list(store.records()))
    fitting, numbers = checks(store, explanation), {row.test: nth for nth, row in enumerate(rows)}
    asked = {
        "title": store.title,
        "origin": store.origin,
        "rows": [_asked(row) for row in rows],
        "group": [numbers[row.test] for row in group],
        "focus": [numbers[row.test] for row in focus],
        "tests": [dict(one) for one in parameters],
        "gains": [asdict(gain) for gain in gains],
        "fits": fitting[0].cause.title if fitting else None,
        "unmeasured": dict(known.keys),
        "borrowed": dict(known.borrowed),
        "notes": [*explanation.notes, *known.notes],
    }
    handle = facts.system.handle if facts.system is not None else None
    return read_answer(_core.why_store(handle, json.dumps(asked), progress))


def _largest_group(rows: Sequence[Row]) -> list[Row]:
    """The tests of the bound that binds most of them."""
    [(bound, _)] = Counter(row.answer.bound for row in rows).most_common(1)
    return [row for row in rows if row.answer.bound == bound]


def _spread(group: Sequence[Row], most: int) -> list[Row]:
    """At most this many tests of a group, evenly spread over its sizes: the first of each operation and size."""
    alike = {(row.size_bytes, row.parameters["operation"]): row for row in reversed(group)}
    by_size = sorted(alike.values(), key=lambda row: (row.size_bytes, row.test))
    many = min(most, len(by_size))
    first = len(by_size) // 2 if many == 1 else 0
    return [by_size[first + nth * len(by_size) // many] for nth in range(many)]


def _asked(row: Row) -> dict[str, Any]:
    """A row as the compiled half takes it."""
    parameters = row.parameters
    return {
        "test": row.test,
        "name": row.name,
        **{key: parameters[key] for key in ("operation", "size_bytes", "window_bytes", "cache", "outstanding")},
        "value_gbps": row.value_gbps,
        "bounds": [(ceiling.bound, ceiling.gbps) for ceiling in row.answer.ceilings],
        "reasons": row.reasons,
    }
