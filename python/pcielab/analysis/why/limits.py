"""Why the tests of a run without a simulated system give their values: messages, latencies, devices without link.

The limits are those of `explain`. Changes are computed where a closed form has them, for messages; of latencies of
a measured machine, the run's own tests with warm caches show what the caches cost.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pcielab.analysis.why.answer import Bar, Cell, Change, Why, words_of
from pcielab.analysis.why.gains import Gain, helpful, ordered
from pcielab.analysis.why.message_changes import message_gains
from pcielab.analysis.why.numbers import near
from pcielab.analysis.why.tool_changes import tool_gains
from pcielab.kinds.explained import Explained, ExplainedRun
from pcielab.kinds.transfers.effects import Effect, effects_of
from pcielab.library.message_profiles import recorded_messages
from pcielab.store import Store

if TYPE_CHECKING:
    from pcielab.kinds.line import Line

_SHOWN = 6


def why_limits(store: Store, found: ExplainedRun, line: "Line | None" = None) -> Why:
    """Why the tests of a run give their values, one of them in detail.

    It is the median of those that the most common limit binds, or of latencies the one that cold caches cost most.

    Args:
        store: The run.
        found: Its explained rows, at least one.
        line: Of what perftest measured, what is known of the NIC's line.
    """
    rates = [row for row in found.rows if not row.is_latency]
    rows = rates or found.rows
    group = _largest_group(rows)
    effects = _effects(store, {one.test for one in rows})
    median = sorted(group, key=lambda one: one.share or one.value)[len(group) // 2]
    row = next((one for one in rows if effects and one.test == effects[0].test), median)
    full = None if effects else _full_line(store, row, line)
    gains = [_of_effect(effect) for effect in effects] if effects else [] if full else _gains(store, row)
    asked = {
        "title": store.title,
        "about": found.about,
        "origin": store.origin,
        "rows": [_asked(one) for one in rows],
        "group": len(group),
        "row": _asked(row),
        "gains": [asdict(gain) for gain in gains],
        "remedies": "caches" if effects else {"line": full} if full else _remedies(store, row),
    }
    question, sentences, sure, best = words_of("limits", asked)
    return Why(
        question=question,
        sentences=sentences,
        binds=row.limits[0].name if row.limits else None,
        certainty=sure,
        change=best,
        changes=tuple(gain.change for gain in gains),
        unit=row.unit,
        bars=tuple(_bars(row, store.origin, helpful(gains))),
        rows=tuple(_cells(one, store.origin) for one in found.rows),
        notes=tuple(found.notes),
    )


def _asked(row: Explained) -> dict[str, Any]:
    """A row as the compiled half takes it."""
    return {
        "name": row.name,
        "size_bytes": row.asked.get("size_bytes"),
        "value": row.value,
        "unit": row.unit,
        "limits": [(limit.name, limit.value) for limit in row.limits],
        "reasons": row.reasons,
    }


def _full_line(store: Store, row: Explained, line: "Line | None") -> str | None:
    """What to say of a NIC's line that holds a value; None: none does, or it is no value of a NIC."""
    if "pair" not in row.asked or row.is_latency:
        return None
    parameters = next(record["parameters"] for record in store.records() if record["id"] == row.test)
    if parameters.get("tool") != "perftest":
        return None
    from pcielab.kinds.tools.lines import full_line

    return full_line(parameters, row.value, line)


def _remedies(store: Store, row: Explained) -> str | dict[str, str]:
    if "pair" in row.asked and row.share is not None:
        parameters = next(record["parameters"] for record in store.records() if record["id"] == row.test)
        return {"tool": str(parameters.get("tool"))}
    return "messages" if _has_closed_form(store, row) else "none"


def _has_closed_form(store: Store, row: Explained) -> bool:
    return "way" in row.asked and bool(store.manifest.get("messages"))


def _largest_group(rows: Sequence[Explained]) -> list[Explained]:
    """The rows of the limit that binds most of them; rows without a limit only if no other is there."""
    limited = [row for row in rows if row.limits] or [*rows]
    [(name, _)] = Counter(_limit(row) for row in limited).most_common(1)
    return [row for row in limited if _limit(row) == name]


def _limit(row: Explained) -> str | None:
    return row.limits[0].name if row.limits else None


def _gains(store: Store, row: Explained) -> list[Gain]:
    if _has_closed_form(store, row):
        return ordered(message_gains(recorded_messages(store.manifest, str(store.path)), row))
    return tool_gains(store, row) if "pair" in row.asked else []


def _effects(store: Store, tests: Set[int]) -> list[Effect]:
    """What the state of the caches adds to measured latencies among some tests, the largest share first."""
    resolved = [effect for effect in effects_of(store) if effect.is_resolvable and effect.test in tests]
    costly = [effect for effect in resolved if effect.difference_ns > 0]
    return sorted(costly, key=lambda effect: -effect.difference_ns / effect.median_ns)


def _of_effect(effect: Effect) -> Gain:
    what = f"warm caches instead of {effect.parameters['cache']} ones for {effect.name}"
    change = Change(
        f"{what} of {effect.parameters['size_bytes']} B",
        effect.median_ns,
        effect.median_ns - effect.difference_ns,
        "ns",
        "test",
    )
    return Gain(change, (change.gain_percent,))


def _named(row: Explained) -> str:
    size = row.asked.get("size_bytes")
    return f"{row.name} of {size} B" if size is not None else row.name


def _bars(row: Explained, origin: str, best: Sequence[Gain]) -> Iterator[Bar]:
    yield Bar(f"{_named(row)}, {origin}", row.value, "value")
    for name, value in near([(limit.name, limit.value) for limit in row.limits]):
        yield Bar(name, value, "bound")
    for gain in best[:_SHOWN]:
        # Gains of caches are of one test each.
        if gain.change.unit != "ns" or row.limits or gain.change.before == row.value:
            yield Bar(gain.change.what, gain.change.after, "change")


def _cells(row: Explained, origin: str) -> Mapping[str, Cell]:
    share = row.share
    return {
        "test": row.test,
        "name": row.name,
        "size_bytes": row.asked.get("size_bytes"),
        "origin": origin,
        "value": row.value,
        "unit": row.unit,
        "limit": row.limits[0].name if row.limits else None,
        "limit_value": row.limits[0].value if row.limits else None,
        "share_percent": 100 * share if share is not None else None,
        "may_explain": "; ".join(row.reasons) or None,
    }
