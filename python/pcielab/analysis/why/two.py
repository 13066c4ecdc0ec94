"""Why two runs differ: the sentence of `explain A B`, how sure it is, and the test that moves most."""

from collections.abc import Iterator, Mapping, Sequence

from pcielab.analysis.explain.contrast import contrast
from pcielab.analysis.explain.moved import Contrast, Moved
from pcielab.analysis.explain.sentences import sentences, size_of
from pcielab.analysis.why.answer import Bar, Cell, Certainty, Change, Why
from pcielab.analysis.why.numbers import percent_text
from pcielab.analysis.why.predicted import no_progress
from pcielab.store import Store
from pcielab.work.effort import Progress

_REST_PERCENT = 5.0
"""The effects of single changes explain a test if their sum is this near that of all together."""
_SHOWN_TESTS = 6
_NAMED_KEYS = 3


def why_two(a: Store, b: Store, tests: Sequence[str] = (), progress: Progress = no_progress) -> Why:
    """Why the tests of two runs of one kind differ.

    Args:
        a: The first run.
        b: The second.
        tests: Only these tests of the first. Empty: those that differ most.
        progress: Called while tests are simulated.

    Raises:
        InputError: The runs are of different kinds, or no test is common to both.
    """
    found = contrast(a, b, tests, progress)
    largest = max(found.rows, key=lambda row: abs(row.change_percent))
    first, *others = [f"{sentence}." for sentence in sentences(found)]
    last = others[:1] or ([_largest(largest)] if found.moved else [])
    sure = _certainty(found, a, b)
    changes = _changes(found, largest)
    return Why(
        question=f"A: {a.title}, {a.path.name}; B: {b.title}, {b.path.name}",
        sentences=(first, sure.sentence, *last),
        binds=_named(found, _order(found)[0]) if found.changes else None,
        certainty=sure,
        change=changes[0] if changes else None,
        changes=tuple(changes),
        unit=largest.unit,
        bars=tuple(_bars(found, largest)),
        rows=tuple(_cells(row) for row in found.rows if not row.is_unchanged) or (_cells(largest),),
        notes=tuple(note for note in (*found.notes, _unchanged(found)) if note),
        contrast=found,
    )


def _order(found: Contrast) -> list[int]:
    """The changes, those that move most first."""

    def moves(nth: int) -> float:
        return sum(abs(row.effects_percent[nth]) for row in found.rows)

    return sorted(range(len(found.changes)), key=lambda nth: -moves(nth))


def _named(found: Contrast, nth: int) -> str:
    keys = [str(one) for one in found.changes[nth]]
    more = len(keys) - _NAMED_KEYS
    return ", ".join(keys[:_NAMED_KEYS]) + (f" and {more} more values" if more > 0 else "")


def _changes(found: Contrast, row: Moved) -> list[Change]:
    """Each change alone, on the test that moves most."""
    return [
        Change(
            f"{_named(found, nth)}, {_test(row)}",
            row.a,
            row.a * (1 + row.effects_percent[nth] / 100),
            row.unit,
            "system",
        )
        for nth in _order(found)
        if row.a
    ]


def _test(row: Moved) -> str:
    size = size_of(row.parameters)
    return f"{row.name}, {row.sort}" + (f" of {size} B" if size is not None else "")


def _certainty(found: Contrast, a: Store, b: Store) -> Certainty:
    if not found.simulated:
        return _certainty_of_values(found, {a.origin, b.origin})
    rest = max((abs(row.rest_percent) for row in found.moved), default=0.0)
    if len(found.changes) == 1:
        return Certainty("sure", "it is the only difference of the systems, and both were simulated")
    if rest <= _REST_PERCENT:
        return Certainty("sure", f"single changes, simulated, add up to the whole difference within {rest:.1f} %")
    return Certainty("not sure", f"single changes, simulated, leave up to {rest:.0f} % to their joint effect")


def _certainty_of_values(found: Contrast, origins: set[str]) -> Certainty:
    """How sure it is where nothing is simulated again."""
    if not found.changes and origins == {"simulated"}:
        return Certainty("sure", "both runs simulate one system")
    if not found.changes:
        unknown = "the values are the runs' own, and a run without a profile does not tell how its machine differs"
        return Certainty("not sure", unknown)
    keys = sum(map(len, found.changes))
    if keys > 1:
        return Certainty("not sure", f"{keys} values differ, and none was changed alone")
    if origins == {"simulated"}:
        return Certainty("sure", "it is the only difference of the profiles, and both runs were simulated")
    return Certainty(
        "fairly sure", "it is the only difference of the profiles, but measured machines differ in more"
    )


def _largest(row: Moved) -> str:
    values = f"from {row.a:.4g} to {row.b:.4g} {row.unit} ({percent_text(row.change_percent)})"
    return f"Most moves {_test(row)}: {values}."


def _unchanged(found: Contrast) -> str:
    count = len(found.rows) - len(found.moved)
    if count == 1:
        return "1 test that does not change is left out"
    return f"{count} tests that do not change are left out" if count else ""


def _bars(found: Contrast, largest: Moved) -> Iterator[Bar]:
    """Both values of the tests that change most."""
    alike = [row for row in found.moved if row.unit == largest.unit] or [largest]
    for row in sorted(alike, key=lambda row: -abs(row.change_percent))[:_SHOWN_TESTS]:
        yield Bar(f"{_test(row)}, test {row.test}, A", row.a, "a")
        yield Bar(f"{_test(row)}, test {row.test}, B", row.b, "b")


def _cells(row: Moved) -> Mapping[str, Cell]:
    return {
        "test": row.test,
        "name": row.name,
        "sort": row.sort,
        "size_bytes": size_of(row.parameters),
        "a": row.a,
        "b": row.b,
        "unit": row.unit,
        "change_percent": row.change_percent,
        "bound_a": row.bounds[0],
        "bound_b": row.bounds[1],
    }
