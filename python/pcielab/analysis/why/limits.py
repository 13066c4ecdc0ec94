"""Why the tests of a run without a simulated system give their values: messages, latencies, devices without link.

The limits are those of `explain`. Changes are computed where a closed form has them, for messages; of latencies of
a measured machine, the run's own tests with warm caches show what the caches cost.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set

from pcielab.analysis.why.answer import Bar, Cell, Certainty, Change, Level, Why
from pcielab.analysis.why.certainty import certainty_of, near, possible
from pcielab.analysis.why.gains import advice, best_of, helpful, ordered
from pcielab.analysis.why.message_changes import message_gains
from pcielab.analysis.why.numbers import counted, digits, listed
from pcielab.analysis.why.searches import Gain
from pcielab.analysis.why.tool_changes import tool_gains, without_tool_changes
from pcielab.kinds.explained import Explained, ExplainedRun
from pcielab.kinds.transfers.effects import Effect, effects_of
from pcielab.library.message_profiles import recorded_messages
from pcielab.store import Store

_SHOWN = 6
_MEASURED = "as this run measured it"
_OF_CACHES = Certainty("fairly sure", "no bound is known, but another test of this run differs only in its caches")
_NAMED_LIMITS = 3


def why_limits(store: Store, found: ExplainedRun) -> Why:
    """Why the tests of a run give their values, one of them in detail.

    It is the median of those that the most common limit binds, or of latencies the one that cold caches cost most.

    Args:
        store: The run.
        found: Its explained rows, at least one.
    """
    rates = [row for row in found.rows if not row.is_latency]
    rows = rates or found.rows
    group = _largest_group(rows)
    effects = _effects(store, {one.test for one in rows})
    median = sorted(group, key=lambda one: one.share or one.value)[len(group) // 2]
    row = next((one for one in rows if effects and one.test == effects[0].test), median)
    gains, how = ([_of_effect(effect) for effect in effects], _MEASURED) if effects else _gains(store, row)
    sure = _OF_CACHES if effects else _certainty(row, store.origin, many=len(group) > 1)
    best = helpful(gains)
    return Why(
        question=f"{store.title}, {found.about} ({store.origin})",
        sentences=(
            _binding(rows, group, row),
            sure.sentence,
            advice(gains, how) if gains else _without_changes(store, row),
        ),
        binds=row.limits[0].name if row.limits else None,
        certainty=sure,
        change=best_of(gains),
        changes=tuple(gain.change for gain in gains),
        unit=row.unit,
        bars=tuple(_bars(row, store.origin, best)),
        rows=tuple(_cells(one, store.origin) for one in found.rows),
        notes=tuple(found.notes),
    )


def _without_changes(store: Store, row: Explained) -> str:
    if "pair" in row.asked and (advised := without_tool_changes(store, row)) is not None:
        return advised
    if "way" in row.asked and store.manifest.get("messages"):
        again = "run them again with --set KEY=VALUE, and ask about both runs"
        return f"The closed form has no changes for these tests: {again}."
    profile = "ask with --test and --profile about a system like this machine"
    return f"No change can be computed without a profile: {profile}."


def _largest_group(rows: Sequence[Explained]) -> list[Explained]:
    """The rows of the limit that binds most of them; rows without a limit only if no other is there."""
    limited = [row for row in rows if row.limits] or [*rows]
    [(name, _)] = Counter(_limit(row) for row in limited).most_common(1)
    return [row for row in limited if _limit(row) == name]


def _limit(row: Explained) -> str | None:
    return row.limits[0].name if row.limits else None


def _gains(store: Store, row: Explained) -> tuple[list[Gain], str]:
    if "way" in row.asked and store.manifest.get("messages"):
        gains = message_gains(recorded_messages(store.manifest, str(store.path)), row)
        return ordered(gains), f"for {_named(row)} (modelled)"
    if "pair" in row.asked:
        return tool_gains(store, row), f"which is what the wire allows {_named(row)} (modelled)"
    return [], ""


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


def _binding(rows: Sequence[Explained], group: Sequence[Explained], row: Explained) -> str:
    kind = ("latency", "latencies") if row.is_latency else ("rate", "rates")
    value = f"{_named(row)} {'takes' if row.is_latency else 'reaches'} {digits(row.value)} {row.unit}"
    if not row.limits:
        these = f"these {len(rows)} {kind[1]}" if len(rows) > 1 else f"this {kind[0]}"
        return f"No limit of the model applies to {these}; the test in question, {value}."
    counts = Counter(_limit(one) for one in rows if one.limits).most_common()
    others = [f"{name} {count}" for name, count in counts if name != row.limits[0].name][: _NAMED_LIMITS - 1]
    more = f", {listed(others)}" if others else ""
    limit, least = f"{row.limits[0].name} binds {counted(len(group), len(rows), *kind)}{more}", row.limits[0].value
    if row.is_latency:
        return f"{limit}: {value}, and the bound needs {digits(least)}."
    return f"{limit}: {value}, and the bound allows {digits(least)}."


def _certainty(row: Explained, origin: str, *, many: bool) -> Certainty:
    of = f"for {_named(row)}, " if many else ""
    if not row.limits:
        return Certainty("not sure", f"{of}nothing is known that the {origin} value could be compared with")
    beside = possible(row.reasons)
    if row.is_latency:
        over = 100 * (row.value / row.limits[0].value - 1)
        level: Level = "sure" if abs(over) <= 5 else "fairly sure" if over <= 25 else "not sure"
        rest = f"; {beside}" if beside else ""
        return Certainty(level, f"{of}the {origin} value is {over:.0f} % above that{rest}")
    found = certainty_of([(limit.name, limit.value) for limit in row.limits], row.value, origin, beside)
    return Certainty(found.level, f"{of}{found.reason}")


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
