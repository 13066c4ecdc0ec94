"""Findings from two readings of one machine, some time apart."""

from collections.abc import Iterator

from pcielab.argument_types import refuses_wrong_types
from pcielab.doctor.finding import Finding, Observation, Severity, Sureness
from pcielab.doctor.rules.link import shown
from pcielab.doctor.rules.rule import finding, judged, value
from pcielab.doctor.tree import Function, Tree


@refuses_wrong_types
def changes(before: Tree, after: Tree, seconds: float) -> list[Finding]:
    """Findings about rising errors and retrained links between two readings, `seconds` apart."""
    first = {function.slot: function for function in before.functions}
    found: list[Finding] = []
    for now in after.functions:
        then = first.get(now.slot)
        if then is None:
            continue
        found += [finding("errors-rise", "D04", seen) for seen in _errors(after, then, now, seconds)]
        found += [finding("link-changes", "D05", seen) for seen in _link(after, then, now)]
    return found


def _errors(tree: Tree, then: Function, now: Function, seconds: float) -> Iterator[Observation]:
    counted = (now.errors.correctable if now.errors else None) or {}
    earlier = (then.errors.correctable if then.errors else None) or {}
    rising = {
        name: count - earlier[name]
        for name, count in counted.items()
        if name in earlier and count > earlier[name] and not name.startswith("TOTAL")
    }
    if not rising:
        return
    rate = sum(rising.values()) / seconds
    parent = tree.parent(now)
    yield Observation(
        **judged(Severity.ERROR, Sureness.CERTAIN, now, parent),
        what=f"{rate:.3g} correctable errors per second: the link is not clean",
        values=tuple(value(now, f"aer_dev_correctable {name}", f"+{count}") for name, count in rising.items()),
        remedy="reseat the card first; then try a shorter riser or cable, a retimer, or one generation lower in "
        "the BIOS",
    )


def _link(tree: Tree, then: Function, now: Function) -> Iterator[Observation]:
    if then.link is None or now.link is None or not then.link.is_up or now.is_port:
        return
    was = shown(then.link.speed_gtps, then.link.lanes)
    became = shown(now.link.speed_gtps, now.link.lanes)
    if was == became:
        return
    parent = tree.parent(now)
    yield Observation(
        **judged(Severity.WARNING, Sureness.LOOK_UNDER_LOAD, now, parent),
        what=f"link changed from {was} to {became} between two readings",
        values=(value(now, "LnkSta before", was), value(now, "LnkSta after", became)),
        remedy="watch it under load; if it retrains there, limit it to one generation lower in the BIOS",
    )
