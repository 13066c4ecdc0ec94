"""Rules about errors that the link has seen."""

from collections.abc import Iterator, Sequence

from pcielab.doctor.finding import Observation, Severity, Sureness, Symptom, Value
from pcielab.doctor.real_links import not_judged
from pcielab.doctor.register_writes import switch_aspm_off_at_both_ends
from pcielab.doctor.rules.power import aspm_of, exit_ns, how_to_switch_off
from pcielab.doctor.rules.rule import judged, rule, value
from pcielab.doctor.signs import OF_THE_LINK, link_errors
from pcielab.doctor.tree import Function, Link, Tree


@rule("D04", Symptom.ERRORS, Symptom.LOST_RATE, confirm="pcielab doctor --watch 30 under load")
def errors_counted(tree: Tree) -> Iterator[Observation]:
    """A receiver counts bad TLPs, bad DLLPs and replays as correctable errors (PCIe 6.0, section 6.2.3.2.2).

    A sum since boot says little, so it is only a note; `--watch` shows whether it rises.
    """
    for function in tree.functions:
        counted = function.errors.correctable if function.errors else None
        some = {name: count for name, count in (counted or {}).items() if count and not name.startswith("TOTAL")}
        if some:
            parent = tree.parent(function)
            yield Observation(
                **judged(Severity.NOTE, Sureness.LOOK_UNDER_LOAD, function, parent),
                what=f"{sum(some.values())} correctable errors since boot",
                values=tuple(
                    value(function, f"aer_dev_correctable {name}", count) for name, count in some.items()
                ),
                remedy="watch whether they rise under load: pcielab doctor --watch 30",
            )


@rule(
    "D08",
    Symptom.ERRORS,
    Symptom.LOST_RATE,
    Symptom.HANG,
    confirm="boot once with pcie_aspm=off: if the errors stop, the link does not wake cleanly",
)
def errors_with_aspm(tree: Tree) -> Iterator[Observation]:
    """A link that leaves L0s or L1 uncleanly shows as receiver errors, bad packets and replays at either end.

    Fires where an end saw errors of the link (CESta, the kernel's counters, or its log) and ASPM is on at both
    ends. Bad signals look the same: switching ASPM off tells them apart. Lanes with errors point at signals, so
    `lanes-with-errors` comes first there.
    """
    for link in tree.links:
        states = aspm_of(link)
        if link.port is None or not states or not_judged(tree, link):
            continue
        ends = (link.port, *link.functions)
        seen = [one for one in ends if link_errors(one)]
        logged = [event for event in tree.log if event.kind == "corrected-error" and event.slot in _slots(ends)]
        if not seen and not logged:
            continue
        substates = (link.device.link.l1_substates if link.device.link else None) or ()
        named = " and ".join(states) + (f" with substates ({', '.join(substates)})" if substates else "")
        yield Observation(
            **judged(Severity.WARNING, Sureness.LIKELY, link.device, link.port),
            what=f"correctable errors on a link that may enter {named} between packets",
            values=(
                *(found for one in seen for found in _values(one)),
                *(value(None, f"log, line {event.line}", event.text) for event in logged[:2]),
                value(link.port, "LnkCtl ASPM", " ".join(states)),
                value(link.device, "LnkCtl ASPM", " ".join(states)),
            ),
            added_latency_ns=exit_ns(link, states),
            remedy=how_to_switch_off(link.device.slot) + "; if the errors stay, suspect riser, cable or slot",
            command=None,
            commands=switch_aspm_off_at_both_ends(link.port, link.functions),
        )


@rule(
    "D04",
    Symptom.ERRORS,
    Symptom.LOST_RATE,
    confirm="pcielab doctor --watch 30 under load, then the same card in another slot",
)
def lanes_with_errors(tree: Tree) -> Iterator[Observation]:
    """A receiver keeps the lanes on which it saw errors (Lane Error Status: PCIe 6.0, section 7.7.3.3).

    With errors of the link in CESta (RxErr, BadTLP, BadDLLP, Rollover, Timeout) at the same end that is a
    warning, and names the lanes. So are bad packets or replays at both ends of a link. Either alone may be left
    from
    training: CESta of one end without lanes is a note, except RxErr alone, and lanes without CESta are silent.
    Silent where `errors-with-aspm` fires and no lanes are marked. All these bits stay set until they are cleared,
    so look whether they come back.
    """
    for link in tree.links:
        if not_judged(tree, link):
            continue
        ends = [one for one in (link.port, link.device) if one is not None and _seen(one)]
        marked = [one for one in ends if _lanes(one)]
        if not marked and (not any(set(_seen(one)) - {"RxErr"} for one in ends) or aspm_of(link)):
            continue
        both = len(ends) == 2
        yield Observation(
            **judged(
                Severity.WARNING if marked or both else Severity.NOTE,
                Sureness.LOOK_UNDER_LOAD,
                link.device,
                link.port,
            ),
            what=f"correctable errors on the link: {_where(link, marked, both=both)}",
            values=tuple(found for one in ends for found in _values(one)),
            remedy="reseat the card and clean its contacts; then try a shorter riser or cable, a retimer, or one "
            "generation lower; pcielab doctor --watch 30 shows whether the errors go on under load"
            + (f"; if ASPM was on before, {how_to_switch_off(link.device.slot)}" if both and not marked else ""),
        )


def _slots(functions: Sequence[Function]) -> set[str]:
    return {one.slot for one in functions}


def _where(link: Link, marked: Sequence[Function], *, both: bool) -> str:
    if not marked and both:
        return "both ends saw them, so the link replays; signal integrity, or a link that wakes uncleanly"
    if not marked:
        return "the registers name no lanes, and do not tell when they were"
    ends = [
        f"the {'port' if one is link.port else 'device'} received them on {_named(_lanes(one))}" for one in marked
    ]
    return f"{', '.join(ends)}; signal integrity, so suspect cable, riser or slot"


def _seen(function: Function) -> tuple[str, ...]:
    """Errors of the link in CESta."""
    status = (function.errors.correctable_status if function.errors else None) or ()
    return tuple(name for name in OF_THE_LINK if name in status)


def _lanes(function: Function) -> tuple[int, ...]:
    return (function.link.lane_errors if function.link else None) or ()


def _named(lanes: tuple[int, ...]) -> str:
    *most, last = map(str, lanes)
    return f"lanes {', '.join(most)} and {last}" if most else f"lane {last}"


def _values(function: Function) -> Iterator[Value]:
    if _seen(function):
        yield value(function, "CESta", " ".join(f"{name}+" for name in _seen(function)))
    counted = (function.errors.correctable if function.errors else None) or {}
    some = {name: counted[name] for name in OF_THE_LINK if counted.get(name)}
    if some:
        yield value(function, "aer_dev_correctable", " ".join(f"{name} {count}" for name, count in some.items()))
    if _lanes(function):
        yield value(function, "LaneErrStat", " ".join(map(str, _lanes(function))))
