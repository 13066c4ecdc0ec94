"""The answer to a design in sentences."""

from typing import TYPE_CHECKING, Any

from pcielab.design.attacks import COMBINED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pcielab.design.answer import Design, Level, Reached
    from pcielab.design.attacks import Corner

_EXACT = 1e-9


def sentences(answer: "Design") -> tuple[str, ...]:
    """The sentences of an answer: the design, what binds, how sure it is, what costs most, where it is weakest."""
    if answer.cost is None:
        return tuple(_unmet(answer))
    found = [f"{answer.title}: {_values(answer.design)}: cost {answer.cost:g} ({answer.origin})."]
    found += _binding(answer.reached)
    found.append(_proof(answer))
    found += _dearest(answer.levels, answer.cost)
    found += [_weakest(corner) for corner in answer.corners[:1]]
    return tuple(found)


def _weakest(corner: "Corner") -> str:
    """The worst corner."""
    share = (
        f"{corner.value:.3g} Gb/s, {100 * corner.share:.0f} % of what the link allows"
        if corner.unit == "Gb/s"
        else f"{corner.value:.0f} ns, {1 / corner.share:.1f} times the easiest case"
    )
    misses = f"; it misses {corner.misses}" if corner.misses else ""
    what = "" if corner.what == COMBINED else f", {corner.what}"
    return f"Worst corner{what}: {corner.sentence}: {share}{misses}."


def _values(values: "Mapping[str, Any]") -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items())


def _binding(reached: "Sequence[Reached]") -> list[str]:
    """What binds on each host: the target with the least to spare."""
    found = []
    for host in dict.fromkeys(row.host for row in reached):
        least = min((row for row in reached if row.host == host), key=lambda row: row.spare_percent)
        bound = f", limited by {least.bound}" if least.bound else ""
        value = "" if least.value is None else f": {least.value:.4g} {least.unit}"
        found.append(
            f"On {host} the tightest target is {least.target}{value}, {least.spare_percent:.1f} % to spare{bound}."
        )
    return found


def _proof(answer: "Design") -> str:
    """How many cheaper designs there are, what excludes them, and how far the optimum can be."""
    cheaper = answer.cheaper
    if not cheaper["all"]:
        return "Nothing is cheaper."
    parts = [
        f"{cheaper[key]} {by}"
        for key, by in (
            ("by_closed_form", "by the closed form"),
            ("by_simulation", "by simulation"),
            ("by_direction", "by the directions of keys"),
        )
        if cheaper[key]
    ]
    counts = answer.counts
    work = f" {counts.simulated} of {counts.tests} tests were simulated." if answer.origin == "simulated" else ""
    far = (
        f"even if keys had no directions, no design would be more than {100 * answer.gap:.0f} % cheaper"
        if answer.gap > _EXACT
        else "nothing rests on the directions of keys"
    )
    designs = "design is" if cheaper["all"] == 1 else "designs are"
    return f"{cheaper['all']} cheaper {designs} excluded, {', '.join(parts)}; {far}.{work}"


def _dearest(levels: "Sequence[Level]", cost: float) -> list[str]:
    """The target that costs most."""
    left_out = [level for level in levels if level.limit is None and level.cost is not None]
    if not left_out:
        return []
    cheapest = min(left_out, key=lambda level: level.cost if level.cost is not None else cost)
    saved = cost - (cheapest.cost or 0.0)
    if saved <= _EXACT:
        return ["No target costs anything by itself: without any one of them, the cheapest design is the same."]
    without = f"without it the cost is {cheapest.cost:g}, {saved:g} less"
    return [f"The target that costs most is {cheapest.target}: {without}."]


def _unmet(answer: "Design") -> list[str]:
    found = [f"{answer.title}: no combination meets all targets ({answer.origin})."]
    if answer.least_cost is None:
        found.append("The closed form excludes every combination: widen a free key, or relax a target.")
    missed = [row for row in answer.reached if row.spare_percent < 0]
    if missed:
        listed = "; ".join(_miss(row) for row in missed)
        found.append(f"The closest one that was simulated ({_values(answer.closest)}) misses {listed}.")
    return found


def _miss(row: "Reached") -> str:
    """A target that is missed."""
    value = (
        "not supported" if row.value is None else f"{row.value:.4g} {row.unit}, {-row.spare_percent:.1f} % short"
    )
    return f"{row.target} on {row.host}: {value}" + (f", limited by {row.bound}" if row.bound else "")
