"""Why the tests of a store of transfers give their values.

Bounds and possible causes are those of `explain`. A complete system is simulated again with each change; for a
store without one, the closed form gives the bound of its link with the change.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pcielab.analysis.why.answer import Bar, Cell, Certainty, Why
from pcielab.analysis.why.certainty import certainty_of, possible
from pcielab.analysis.why.gains import (
    WORDS_MOST,
    advice,
    best_of,
    bound_advice,
    modelled_gains,
    simulated_gains,
    words_in,
)
from pcielab.analysis.why.numbers import counted, listed
from pcielab.analysis.why.one_test import why_test
from pcielab.analysis.why.predicted import no_progress
from pcielab.analysis.why.searches import Resource
from pcielab.errors import refusal
from pcielab.kinds.transfers.checks import Check, checks
from pcielab.kinds.transfers.explain import Row, explain_run
from pcielab.store import Store
from pcielab.store.manifest import borrowed_of
from pcielab.work.effort import Progress

_FOCUS_MOST = 6
"""Most tests for which changes are simulated."""
_IN_FLIGHT = "latency"
"""The bound of DMAs in flight."""
_DIRECTIONS = {"bw-rd": "reads", "bw-wr": "writes", "bw-rdwr": "both at once"}


def why_transfers(store: Store, tests: Sequence[str] = (), progress: Progress = no_progress) -> Why:
    """Why the tests of a store give their values.

    Args:
        store: A run of transfers, of any origin.
        tests: Only these: numbers, or parts of a family or name. All, if empty.
        progress: Called while changes are simulated.

    Raises:
        InputError: The link is unknown, or a text of `tests` matches no test of bandwidth with a result.
    """
    explanation = explain_run(store, tests)
    facts, rows = explanation.facts, explanation.rows
    if facts is None or not rows:
        raise refusal(
            "missing", f"{store.path}: no test of bandwidth has a result: give a finished run, or other tests"
        )
    if len(rows) == 1 and facts.system is not None:
        [row] = rows
        return why_test(
            facts.system,
            store.title,
            row.parameters,
            measured=row.value_gbps,
            origin=store.origin,
            unmeasured=dict.fromkeys(borrowed_of(store.manifest), "borrowed"),
            progress=progress,
        )
    group = _largest_group(rows)
    focus = _spread(group)
    parameters = [row.parameters for row in focus]
    notes = [*explanation.notes]
    clause = _requests(group)
    if facts.system is not None:
        search = simulated_gains(facts.system, parameters, "Gb/s", progress)
        gains = [*search.gains] if search is not None else []
        clause = _common_clause(search.resources) if search is not None else clause
        last = advice(gains, f"{_of_tests(focus)} simulated again")
    else:
        gains = modelled_gains(facts, parameters, list(store.records()))
        last = bound_advice(gains)
        notes.append("`pcielab calibrate` makes a system on which changes can be simulated")
    sure = _certainty(store, group, checks(store, explanation))
    return Why(
        question=f"{store.title}, {len(rows)} tests of bandwidth ({store.origin})",
        sentences=(_binding(rows, group, clause), sure.sentence, last),
        binds=group[0].answer.bound,
        certainty=sure,
        change=best_of(gains),
        changes=tuple(gain.change for gain in gains),
        unit="Gb/s",
        bars=tuple(_bars(focus, store.origin)),
        rows=tuple(_cells(row, store.origin) for row in rows),
        notes=tuple(notes),
    )


def _largest_group(rows: Sequence[Row]) -> list[Row]:
    """The tests of the bound that binds most of them."""
    [(bound, _)] = Counter(row.answer.bound for row in rows).most_common(1)
    return [row for row in rows if row.answer.bound == bound]


def _spread(group: Sequence[Row]) -> list[Row]:
    """A few tests of a group, evenly spread over its sizes: the first of each operation and size."""
    alike = {(row.size_bytes, row.parameters["operation"]): row for row in reversed(group)}
    by_size = sorted(alike.values(), key=lambda row: (row.size_bytes, row.test))
    many = min(_FOCUS_MOST, len(by_size))
    return [by_size[nth * len(by_size) // many] for nth in range(many)]


def _of_tests(rows: Sequence[Row]) -> str:
    return "that test" if len(rows) == 1 else f"{len(rows)} of these tests"


def _requests(group: Sequence[Row]) -> str:
    """The clause on the requests in flight of tests that they limit on a machine without a profile."""
    many = {row.parameters["outstanding"] for row in group}
    is_one = len(many) == 1 and group[0].answer.bound == _IN_FLIGHT
    return f"with {next(iter(many))} DMAs in flight" if is_one else ""


def _common_clause(resources: Sequence[Resource | None]) -> str:
    """The clause on the resource behind the bound of every test; empty if they have several."""
    clauses = {resource.clause if resource is not None else "" for resource in resources}
    return next(iter(clauses)) if len(clauses) == 1 else ""


def _binding(rows: Sequence[Row], group: Sequence[Row], clause: str) -> str:
    """Which bounds bind how many tests, the most common one in detail with its resource."""
    counts = Counter(row.answer.bound for row in rows).most_common()
    others = [f"{bound} {count}" for bound, count in counts[1:]]
    tests = counted(len(group), len(rows), "test of bandwidth", "tests of bandwidth")
    bound = group[0].answer.bound
    binds, extent = f"{bound} binds {tests}", f", {_extent(group)}"
    more = f"; {listed(others)}." if others else "."
    whole = f"{binds} {clause}{extent}{more}" if clause else ""
    if whole and words_in(whole) <= WORDS_MOST:
        return whole
    # The name of this bound alone does not tell what is in flight.
    return f"{binds} {clause}{more}" if clause and bound == _IN_FLIGHT else f"{binds}{extent}{more}"


def _extent(rows: Sequence[Row]) -> str:
    """The operations and sizes of some tests: `reads of 64 to 512 B`."""
    operations = dict.fromkeys(_DIRECTIONS[row.parameters["operation"]] for row in rows)
    sizes = sorted({row.size_bytes for row in rows})
    span = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    return f"{listed([*operations])} of {span} B"


def _certainty(store: Store, group: Sequence[Row], fitting: Sequence[Check]) -> Certainty:
    """How sure the bound of a group is: that of its median test."""
    median = sorted(group, key=lambda row: row.share)[len(group) // 2]
    ceilings = [(ceiling.bound, ceiling.gbps) for ceiling in median.answer.ceilings]
    beside = possible(median.reasons)
    if fitting:
        beside = f"one cause to check by hand fits: {fitting[0].cause.title}"
    found = certainty_of(ceilings, median.value_gbps, store.origin, beside)
    if len(group) == 1:
        return found
    return Certainty(found.level, f"in the median test, {found.reason}")


def _bars(focus: Sequence[Row], origin: str) -> Iterator[Bar]:
    for row in focus:
        name = f"{row.name} {row.size_bytes} B, test {row.test}"
        yield Bar(f"{name}, {origin}", row.value_gbps, "value")
        yield Bar(f"{name}, {row.answer.bound}", row.answer.gbps, "bound")


def _cells(row: Row, origin: str) -> Mapping[str, Cell]:
    return {
        "test": row.test,
        "name": row.name,
        "size_bytes": row.size_bytes,
        "window_bytes": row.parameters["window_bytes"],
        "cache": row.parameters["cache"],
        "origin": origin,
        "value_gbps": row.value_gbps,
        "bound": row.answer.bound,
        "bound_gbps": row.answer.gbps,
        "share_percent": 100 * row.share,
        "may_explain": "; ".join(row.reasons) or None,
    }
