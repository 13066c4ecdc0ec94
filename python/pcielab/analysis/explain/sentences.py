"""What two runs' differences change, in sentences: `link.tags 32 -> 256: reads up to 256 B gain 8 to 365 %`.

A clause is on tests of one sort, like reads or latencies, over their sizes. Effects below one percent are nothing.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pcielab.analysis.compare import Difference
from pcielab.analysis.explain.moved import NOTICED_PERCENT, Contrast, Moved
from pcielab.wording import byte_size

_MOST_CHANGES = 3
"""Changes with a sentence of their own."""
_MOST_KEYS = 3
_MOST_SIZES = 4
_EXACT_BELOW = 9.95


def sentences(found: Contrast) -> list[str]:
    """The effect of all differences together; then, if there are several, of those with the largest effects."""
    subject = _subject(found)
    said = [f"{subject}: {_clauses(found.rows, lambda row: row.change_percent)}"]
    if found.simulated and len(found.changes) > 1:
        said += _of_each_change(found)
    return said


def _subject(found: Contrast) -> str:
    """The differences, in words; of many, the one with the largest effect."""
    keys = [one for change in found.changes for one in change]
    if not keys:
        return "B against A"
    if len(keys) <= _MOST_KEYS:
        named = ", ".join(map(str, keys))
        return named if len(found.changes) == 1 else f"{named}, together"
    largest = keys[0] if len(found.changes) == 1 else found.changes[_order(found)[0]][0]
    return f"{largest} and {len(keys) - 1} more values"


def _order(found: Contrast) -> list[int]:
    """The changes, those with the largest effects first."""
    return sorted(range(len(found.changes)), key=lambda nth: -_largest(found, nth))


def _largest(found: Contrast, nth: int) -> float:
    return max(abs(row.effects_percent[nth]) for row in found.rows)


def _of_each_change(found: Contrast) -> Iterator[str]:
    moving = [nth for nth in _order(found) if _largest(found, nth) >= NOTICED_PERCENT]
    for nth in moving[:_MOST_CHANGES]:
        yield f"{_named(found.changes[nth])} alone: {_clauses(found.rows, _effect_of(nth))}"
    rest = len(found.changes) - len(moving[:_MOST_CHANGES])
    if rest:
        least = "less" if len(moving) > _MOST_CHANGES else "nothing"
        yield f"{rest} other change{'' if rest == 1 else 's'} alone: {least}"


def _effect_of(nth: int) -> Callable[[Moved], float]:
    return lambda row: row.effects_percent[nth]


def _named(change: Sequence[Difference]) -> str:
    return " with ".join(map(str, change))


def _clauses(rows: Sequence[Moved], effect: Callable[[Moved], float]) -> str:
    """A clause for each sort of tests that change, and the sorts that do not."""
    sorts: dict[str, list[Moved]] = {}
    for row in rows:
        sorts.setdefault(row.sort, []).append(row)
    clauses = {sort: _clause(sort, of, effect) for sort, of in sorts.items()}
    unmoved = [sort for sort, clause in clauses.items() if clause is None]
    if len(unmoved) == len(sorts):
        if len(rows) == 1:
            return f"the only test changes by less than {NOTICED_PERCENT:g} %"
        return f"none of {len(rows)} tests changes by {NOTICED_PERCENT:g} % or more"
    said = [clause for clause in clauses.values() if clause is not None]
    return "; ".join([*said, *([f"{_listed(unmoved)} nothing"] if unmoved else [])])


def size_of(parameters: Mapping[str, Any]) -> int | None:
    """Bytes of a transfer, frame, message or request."""
    for key in ("size_bytes", "frame_bytes"):
        size = parameters.get(key)
        if size is not None and size == size:
            return int(size)
    return None


def _clause(sort: str, rows: Sequence[Moved], effect: Callable[[Moved], float]) -> str | None:
    """The effect on tests of a sort; None if none of them changes."""
    moved = [row for row in rows if abs(effect(row)) >= NOTICED_PERCENT]
    if not moved:
        return None
    where, elsewhere = _where(rows, moved)
    share = _share(rows, moved)
    return f"{sort}{where} {_by([effect(row) for row in moved], latency=moved[0].is_latency)}{share}{elsewhere}"


def _where(rows: Sequence[Moved], moved: Sequence[Moved]) -> tuple[str, str]:
    """The sizes that change, and what the others do."""
    sizes = sorted({size for row in rows if (size := size_of(row.parameters)) is not None})
    changed = sorted({size for row in moved if (size := size_of(row.parameters)) is not None})
    if not changed or changed == sizes:
        return "", ""
    if changed == sizes[: len(changed)]:
        first = sizes[len(changed)]
        where = f" of {byte_size(changed[0])}" if len(changed) == 1 else f" up to {byte_size(changed[-1])}"
        return where, f", from {byte_size(first)} nothing"
    if changed == sizes[-len(changed) :]:
        where = f" of {byte_size(changed[0])}" if len(changed) == 1 else f" from {byte_size(changed[0])}"
        return where, f", up to {byte_size(sizes[-len(changed) - 1])} nothing"
    if len(changed) <= _MOST_SIZES:
        return f" of {_listed([byte_size(size) for size in changed])}", ", other sizes nothing"
    span = f"{byte_size(changed[0])} to {byte_size(changed[-1])}"
    return f" of {len(changed)} of {len(sizes)} sizes ({span})", ", other sizes nothing"


def _share(rows: Sequence[Moved], moved: Sequence[Moved]) -> str:
    """How many tests of the sizes that change do so, unless all."""
    sizes = {size_of(row.parameters) for row in moved}
    there = sum(size_of(row.parameters) in sizes for row in rows)
    return "" if there == len(moved) else f" in {len(moved)} of {there} tests"


def _by(effects: Sequence[float], *, latency: bool) -> str:
    """The range of effects, with a verb."""
    low, high = min(effects), max(effects)
    if low < 0 < high:
        return f"change by -{_percent(-low)} to +{_percent(high)} %"
    more = ("rise by " if latency else "gain ") if low > 0 else ("fall by " if latency else "lose ")
    least, most = sorted((_percent(abs(low)), _percent(abs(high))), key=float)
    return f"{more}{least} %" if least == most else f"{more}{least} to {most} %"


def _percent(value: float) -> str:
    return f"{value:.0f}" if value >= _EXACT_BELOW else f"{value:.1f}".removesuffix(".0")


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
