"""Rules about errors that the link has seen."""

from collections.abc import Iterator, Sequence

from pcielab.doctor.finding import Observation, Severity, Sureness, Value
from pcielab.doctor.real_links import not_judged
from pcielab.doctor.rules.rule import judged, rule, value
from pcielab.doctor.tree import Function, Link, Tree

_OF_THE_LINK = ("RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout")
"""Correctable errors that bad signals cause; the others are about requests."""


@rule("D04")
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


@rule("D04")
def lanes_with_errors(tree: Tree) -> Iterator[Observation]:
    """A receiver keeps the lanes on which it saw errors (Lane Error Status: PCIe 6.0, section 7.7.3.3).

    With errors of the link in CESta (RxErr, BadTLP, BadDLLP, Rollover, Timeout) at the same end that is a
    warning, and names the lanes. Either alone may be left from training: CESta without lanes is a note,
    except RxErr alone, and lanes without CESta are silent. All these bits stay set until they are cleared, so
    look whether they come back.
    """
    for link in tree.links:
        if not_judged(tree, link):
            continue
        ends = [one for one in (link.port, link.device) if one is not None and _seen(one)]
        marked = [one for one in ends if _lanes(one)]
        if not marked and not any(set(_seen(one)) - {"RxErr"} for one in ends):
            continue
        yield Observation(
            **judged(
                Severity.WARNING if marked else Severity.NOTE, Sureness.LOOK_UNDER_LOAD, link.device, link.port
            ),
            what=f"correctable errors on the link: {_where(link, marked)}",
            values=tuple(found for one in ends for found in _values(one)),
            remedy="reseat the card and clean its contacts; then try a shorter riser or cable, a retimer, or one "
            "generation lower; pcielab doctor --watch 30 shows whether the errors go on under load",
        )


def _where(link: Link, marked: Sequence[Function]) -> str:
    if not marked:
        return "the registers name no lanes, and do not tell when they were"
    ends = [
        f"the {'port' if one is link.port else 'device'} received them on {_named(_lanes(one))}" for one in marked
    ]
    return f"{', '.join(ends)}; signal integrity, so suspect cable, riser or slot"


def _seen(function: Function) -> tuple[str, ...]:
    """Errors of the link in CESta."""
    status = (function.errors.correctable_status if function.errors else None) or ()
    return tuple(name for name in _OF_THE_LINK if name in status)


def _lanes(function: Function) -> tuple[int, ...]:
    return (function.link.lane_errors if function.link else None) or ()


def _named(lanes: tuple[int, ...]) -> str:
    *most, last = map(str, lanes)
    return f"lanes {', '.join(most)} and {last}" if most else f"lane {last}"


def _values(function: Function) -> Iterator[Value]:
    yield value(function, "CESta", " ".join(f"{name}+" for name in _seen(function)))
    if _lanes(function):
        yield value(function, "LaneErrStat", " ".join(map(str, _lanes(function))))
