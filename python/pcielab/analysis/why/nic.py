"""Why a NIC moves no more packets: on a bare link in closed form, or on a simulated machine.

Rates count the bytes that cross PCIe: frames less their FCS. A change's gain is the rate with the change made.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pcielab.analysis.why.answer import Bar, Certainty, Change, Why
from pcielab.analysis.why.certainty import NEAR, certainty_of, differs, is_above, near, simulated_certainty
from pcielab.analysis.why.nic_changes import Variant, variants, worse_links
from pcielab.analysis.why.nic_rates import Rates
from pcielab.analysis.why.nic_steps import step_costs
from pcielab.analysis.why.nic_words import (
    NicCase,
    advice,
    beside,
    binding,
    counted,
    fitting_features,
    mended,
    with_features,
)
from pcielab.model.bound_keys import is_of_host

if TYPE_CHECKING:
    from pcielab.work.frames import Frames

_PATHS = {"both": "in both directions at once", "tx": "sending", "rx": "receiving"}
_SHOWN_CHANGES = 5
_KINDS = ("profile", "together", "host", "link")
"""Kinds of change, those that need no other hardware first."""
LEAST_GAIN_PERCENT = 1.0


def why_frames(frames: "Frames", rates: Rates, measured_gbps: float | None, notes: Sequence[str] = ()) -> Why:
    """Why frames of one size move no faster.

    A measured rate above the bound that fits the NIC with a change of its profile is answered for that NIC.

    Args:
        frames: The NIC, one frame size, the line and the direction.
        rates: The engine that gives its rate.
        measured_gbps: The measured rate of one direction.
        notes: Assumptions, for the answer.
    """
    now = rates.rate(frames.nic)
    case = NicCase(frames, rates, now, measured_gbps)
    fitting = _fitting_variant(case)
    if fitting is not None:
        inner = why_frames(replace(frames, nic=fitting.nic), rates, measured_gbps, notes)
        return _for_features(case, fitting, inner)
    packets_per_s = 1e6 * case.packets(now.gbps)
    costs = step_costs(
        frames.nic.for_frames(case.frame_bytes), rates.link, case.frame_bytes, frames.direction, packets_per_s
    )
    changes = _changes(case)
    causes = list(_causes(case)) if measured_gbps is not None and not is_above(measured_gbps, now.gbps) else []
    sure = _certainty(case, causes)
    best = _best_changes(case, changes)
    return Why(
        question=f"{case.what}, {_PATHS[frames.direction]}, {frames.ethernet.line_gbps:g} Gb/s line",
        sentences=(binding(case, costs), sure.sentence, advice(case, changes, best, causes)),
        binds=now.binds,
        certainty=sure,
        change=mended(case, causes) or (best[0] if best else None),
        changes=tuple(changes),
        unit="Gb/s",
        bars=tuple(_bars(case, causes, changes)),
        rows=tuple(cost.to_dict() for cost in costs),
        notes=(*notes, *counted(case)),
    )


def on_assumed_link(answer: Why, link: str) -> Why:
    """The answer for a link that nobody gave: never sure."""
    sure = Certainty("not sure", f"{link} is assumed (give --gen and --lanes); with it, {answer.certainty.reason}")
    return replace(answer, certainty=sure, sentences=(answer.sentences[0], sure.sentence, *answer.sentences[2:]))


def _fitting_variant(case: NicCase) -> Variant | None:
    """The change of the profile that allows a measured rate above the bound, and little more."""
    measured_gbps = case.measured_gbps
    if measured_gbps is None or not is_above(measured_gbps, case.now.gbps):
        return None
    found: list[tuple[float, Variant]] = []
    for variant in variants(case.frames.nic, case.frame_bytes, case.rates.keys):
        gbps = case.rates.rate(variant.nic).gbps if variant.of != "link" else 0.0
        if gbps and NEAR * gbps <= measured_gbps and not is_above(measured_gbps, gbps):
            found.append((gbps, variant))
    return min(found, key=lambda pair: pair[0])[1] if found else None


def _for_features(case: NicCase, fitting: Variant, inner: Why) -> Why:
    """The answer for the NIC with a change of its profile, as that of the NIC in question."""
    sure = Certainty("fairly sure", fitting_features(case, inner.certainty.reason))
    first, *bars = inner.bars
    before = Bar(f"{case.now.binds} of {case.frames.nic.name}", case.now.gbps, "bound")
    return replace(
        inner,
        sentences=(with_features(case, fitting, inner.sentences[0]), sure.sentence, inner.sentences[2]),
        certainty=sure,
        bars=(first, before, *bars),
    )


def _changes(case: NicCase) -> list[Change]:
    found = []
    for variant in variants(case.frames.nic, case.frame_bytes, case.rates.keys):
        after = case.rates.rate(variant.nic, variant.link).gbps
        found.append(Change(variant.what, case.now.gbps, after, "Gb/s", variant.of))
    for what, rates in case.rates.on_changed_hosts():
        found.append(Change(what, case.now.gbps, rates.rate(case.frames.nic).gbps, "Gb/s", "host"))
    # A stable order: of changes that give as much, the one tried first comes first.
    return sorted(found, key=lambda change: -round(change.gain_percent, 1))


def _best(changes: Sequence[Change], of: str) -> Change | None:
    """The change of a kind that gives most, if it gives anything."""
    found = [change for change in changes if change.of == of and change.gain_percent >= LEAST_GAIN_PERCENT]
    return found[0] if found else None


def _causes(case: NicCase) -> Iterator[Bar]:
    """The rates with common defects of a link."""
    for what, keys in worse_links(case.rates.keys):
        yield Bar(what, case.rates.rate(case.frames.nic, keys).gbps, "cause")


def _certainty(case: NicCase, causes: Sequence[Bar]) -> Certainty:
    bounds = sorted(case.now.bounds, key=lambda bound: (bound[0] != case.now.binds, bound[1]))
    measured_gbps, simulated_gbps = case.measured_gbps, case.rates.simulated(case.now)
    if simulated_gbps is not None:
        # The ports allow less than the bare link, and tags and latency have no closed form: the simulation says.
        bounds = [(case.now.binds, simulated_gbps), *(one for one in bounds if one[0] != case.now.binds)]
    if measured_gbps is None and simulated_gbps is not None:
        return simulated_certainty(bounds, simulated_gbps)
    if measured_gbps is None or measured_gbps >= NEAR * case.now.gbps:
        return certainty_of(bounds, measured_gbps, "measured")
    return certainty_of(bounds, measured_gbps, "measured", beside(case, measured_gbps, causes))


def _best_changes(case: NicCase, changes: Sequence[Change]) -> list[Change]:
    """The best change of each kind; for a measured rate above the bound, the least of each kind that allows it."""
    if case.measured_gbps is None or not is_above(case.measured_gbps, case.now.gbps):
        # What binds is mended first where the host binds.
        kinds = sorted(_KINDS, key=lambda of: of != "host") if is_of_host(case.now.binds) else _KINDS
        return [found for of in kinds if (found := _best(changes, of)) is not None]
    enough = [change for change in changes if change.after >= case.measured_gbps]
    return [least for of in _KINDS if (least := _least([one for one in enough if one.of == of])) is not None]


def _least(changes: Sequence[Change]) -> Change | None:
    return min(changes, key=lambda change: change.after, default=None)


def _bars(case: NicCase, causes: Sequence[Bar], changes: Sequence[Change]) -> Iterator[Bar]:
    simulated = case.rates.simulated(case.now)
    if case.measured_gbps is not None:
        yield Bar("measured", case.measured_gbps, "value")
    if simulated is not None:
        yield Bar("simulated", simulated, "value")
    for name, gbps in near(case.now.bounds):
        yield Bar(name, gbps, "bound")
    yield from (bar for bar in causes if differs(bar.value, case.now.gbps))
    for change in changes[:_SHOWN_CHANGES]:
        if change.gain_percent >= LEAST_GAIN_PERCENT:
            yield Bar(change.what, change.after, "change")
