"""Why a NIC moves no more packets: on a bare link in closed form, or on a simulated machine.

Rates count the bytes that cross PCIe: frames less their FCS. A change's gain is the rate with the change made.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pcielab.analysis.why.answer import Bar, Certainty, Change, Why
from pcielab.analysis.why.certainty import (
    NEAR,
    certainty_of,
    differs,
    is_above,
    near,
    simulated_certainty,
    with_unmeasured,
)
from pcielab.analysis.why.defects import worse_links
from pcielab.analysis.why.gains import best_of, enough_for, helpful
from pcielab.analysis.why.nic_rates import NicRate, Rates
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
from pcielab.analysis.why.numbers import digits
from pcielab.analysis.why.predicted import no_progress
from pcielab.analysis.why.searches import Gain
from pcielab.errors import refusal
from pcielab.model.bound_keys import KEYS_OF_BOUNDS, ROUND_TRIP
from pcielab.work.effort import Progress

if TYPE_CHECKING:
    from pcielab.library.nics import NicProfile
    from pcielab.work.frames import Frames

_PATHS = {"both": "in both directions at once", "tx": "sending", "rx": "receiving"}
_SHOWN_CHANGES = 5
_ALIKE = 1.05
"""Rates within this ratio are alike."""


def why_frames(
    frames: "Frames",
    rates: Rates,
    measured_gbps: float | None,
    notes: Sequence[str] = (),
    progress: Progress = no_progress,
    recorded: NicRate | None = None,
) -> Why:
    """Why frames of one size move no faster.

    A measured rate above the bound that fits the NIC with a change of its profile is answered for that NIC.

    Args:
        frames: The NIC, one frame size, the line and the direction.
        rates: The engine that gives its rate.
        measured_gbps: The measured rate of one direction.
        notes: Assumptions, for the answer.
        progress: Called while changes are tried.
        recorded: The rate that a run recorded, which is explained instead of a new one.

    Raises:
        InputError: The NIC cannot run there.
    """
    now = rates.rate(frames.nic) if recorded is None else recorded
    search = rates.search(progress)
    if search is None:
        raise refusal(
            "unsupported", f"{frames.nic.name}: cannot run there: choose another --direction, --frame or --profile"
        )
    gains, resource = search.gains, search.resources[0] if search.resources else None
    case = NicCase(frames, rates, now, measured_gbps, is_recorded=recorded is not None, resource=resource)
    fitting = _fitting_change(case, gains)
    if fitting is not None:
        nic = _changed(case, fitting)
        inner = why_frames(replace(frames, nic=nic), rates.of_nic(nic), measured_gbps, notes, progress)
        return _for_features(case, fitting.what, inner)
    packets_per_s = 1e6 * case.packets(now.gbps)
    costs = step_costs(
        frames.nic.for_frames(case.frame_bytes), rates.link, case.frame_bytes, frames.direction, packets_per_s
    )
    causes = list(_causes(case)) if measured_gbps is not None and not is_above(measured_gbps, now.gbps) else []
    sure = _certainty(case, causes)
    best = _best(case, gains)
    return Why(
        question=f"{case.what}, {_PATHS[frames.direction]}, {frames.ethernet.line_gbps:g} Gb/s line",
        sentences=(binding(case, costs), sure.sentence, advice(case, gains, causes)),
        binds=now.binds,
        certainty=sure,
        change=mended(case, causes) or best,
        changes=tuple(gain.change for gain in gains),
        unit="Gb/s",
        bars=tuple(_bars(case, causes, gains)),
        rows=tuple(cost.to_dict() for cost in costs),
        notes=(*notes, *counted(case)),
    )


def on_assumed_link(answer: Why, link: str) -> Why:
    """The answer for a link that nobody gave: never sure."""
    sure = Certainty("not sure", f"{link} is assumed; with it, {answer.certainty.reason}")
    return replace(answer, certainty=sure, sentences=(answer.sentences[0], sure.sentence, *answer.sentences[2:]))


def _fitting_change(case: NicCase, gains: Sequence[Gain]) -> Change | None:
    """The change of the NIC that allows a measured rate above the bound, and little more."""
    measured_gbps = case.measured_gbps
    if measured_gbps is None or not is_above(measured_gbps, case.now.gbps):
        return None
    of_nic = [gain.change for gain in gains if gain.change.of == "nic" and gain.is_full and gain.how != "pair"]
    fits = [one for one in of_nic if NEAR * one.after <= measured_gbps and not is_above(measured_gbps, one.after)]
    return min(fits, key=lambda one: one.after, default=None)


def _changed(case: NicCase, change: Change) -> "NicProfile":
    """The NIC with a change made, for its frames alone."""
    plain = case.frames.nic.for_frames(case.frame_bytes)
    return plain.with_({key.removeprefix("nic."): value for key, value in change.keys.items()})


def _for_features(case: NicCase, what: str, inner: Why) -> Why:
    """The answer for the NIC with a change of its profile, as that of the NIC in question."""
    sure = Certainty("fairly sure", fitting_features(case))
    first, *bars = inner.bars
    before = Bar(f"{case.now.binds} of {case.frames.nic.name}", case.now.gbps, "bound")
    return replace(
        inner,
        sentences=(with_features(case, what, inner.sentences[0]), sure.sentence, inner.sentences[2]),
        certainty=sure,
        bars=(first, before, *bars),
    )


def _best(case: NicCase, gains: Sequence[Gain]) -> Change | None:
    """The change to name first; for a measured rate above the bound, the least that allows it."""
    if case.measured_gbps is None or not is_above(case.measured_gbps, case.now.gbps):
        return best_of(gains)
    return next((gain.change for gain in enough_for(gains, case.measured_gbps)), None)


def _causes(case: NicCase) -> Iterator[Bar]:
    """The rates with common defects of a link."""
    for what, keys in worse_links(case.rates.keys):
        yield Bar(what, case.rates.rate(case.frames.nic, keys).gbps, "cause")


def _certainty(case: NicCase, causes: Sequence[Bar]) -> Certainty:
    bounds = sorted(case.now.bounds, key=lambda bound: (bound[0] != case.now.binds, bound[1]))
    measured_gbps, simulated_gbps = case.measured_gbps, case.rates.simulated(case.now)
    doubt = _doubt(case)
    if doubt is not None:
        return doubt
    if simulated_gbps is not None:
        # The ports allow less than the bare link, and tags and latency have no closed form: the simulation says.
        bounds = [(case.now.binds, simulated_gbps), *(one for one in bounds if one[0] != case.now.binds)]
    if measured_gbps is None and simulated_gbps is not None:
        return _on_unmeasured(case, simulated_certainty(bounds, simulated_gbps), bounds)
    if measured_gbps is None or measured_gbps >= NEAR * case.now.gbps:
        return certainty_of(bounds, measured_gbps, "measured")
    return certainty_of(bounds, measured_gbps, "measured", beside(case, measured_gbps, causes))


def _doubt(case: NicCase) -> Certainty | None:
    """How sure a bound is whose value no document gives, if that changes the rate."""
    resource = case.resource
    if resource is None or resource.assumed is None or resource.bound != case.now.binds:
        return None
    assumed = resource.assumed
    if assumed.values is None:
        return Certainty("not sure", f"{resource.key} may be {assumed.least} to {assumed.most}")
    low, high = sorted(assumed.values)
    if high <= _ALIKE * low:
        return None
    known = f"{resource.key} may be {assumed.least} to {assumed.most}"
    return Certainty("not sure", f"{known}, which would give {digits(low)} to {digits(high)} Gb/s")


def _on_unmeasured(case: NicCase, sure: Certainty, bounds: Sequence[tuple[str, float]]) -> Certainty:
    """How sure a simulated bound is on a system of which nobody measured some values."""
    # What the NIC holds waits for round trips.
    keys = () if case.now.binds == "line" else KEYS_OF_BOUNDS.get(case.now.binds, ROUND_TRIP)
    behind = [key for key in keys if not key.startswith("link.")]
    key = case.resource.key if case.resource is not None and case.resource.bound == case.now.binds else ""
    if key and key not in behind:
        behind.append(key)
    many = sum(one in case.rates.unmeasured for one in behind)
    return with_unmeasured(sure, bounds, behind=many, is_resource=key in case.rates.unmeasured)


def _bars(case: NicCase, causes: Sequence[Bar], gains: Sequence[Gain]) -> Iterator[Bar]:
    simulated = case.rates.simulated(case.now)
    if case.measured_gbps is not None:
        yield Bar("measured", case.measured_gbps, "value")
    if simulated is not None:
        yield Bar("simulated", simulated, "value")
    for name, gbps in near(case.now.bounds):
        yield Bar(name, gbps, "bound")
    yield from (bar for bar in causes if differs(bar.value, case.now.gbps))
    for gain in helpful(gains)[:_SHOWN_CHANGES]:
        yield Bar(gain.change.what, gain.change.after, "change")
