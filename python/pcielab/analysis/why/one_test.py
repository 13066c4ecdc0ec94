"""Why one test gives its value on a system: simulated there, or measured on a machine like it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pcielab.analysis.why.answer import Bar, Cell, Certainty, Change, Level, Why
from pcielab.analysis.why.certainty import certainty_of, differs, is_above, near, possible, with_unmeasured
from pcielab.analysis.why.defects import defects
from pcielab.analysis.why.gains import (
    LEAST_GAIN_PERCENT,
    WORDS_MOST,
    advice,
    allowing,
    best_of,
    enough_for,
    helpful,
    simulated_gains,
    words_in,
)
from pcielab.analysis.why.numbers import digits, listed, percent_text
from pcielab.analysis.why.predicted import no_progress, predicted
from pcielab.analysis.why.searches import Gain, Resource
from pcielab.errors import refusal
from pcielab.kinds.machine_facts import facts_of_system
from pcielab.kinds.transfers.bounds import bounds_of_tests
from pcielab.kinds.transfers.reasons import reasons
from pcielab.kinds.transfers.words import asked
from pcielab.library.profiles.parts import System
from pcielab.model.bound_keys import KEYS_OF_BOUNDS
from pcielab.work.effort import Progress

FITS = 0.05
"""A possible cause fits if its value differs from the measured one by no more than this share."""
_UNEXPLAINED = 0.25
"""A value is far worse than the simulated one by more than this share."""
_ROUND_TRIP_NS = 1000.0
_SHOWN_CHANGES = 5
_HOW = "simulated again"


@dataclass(frozen=True)
class _Case:
    title: str
    parameters: Mapping[str, Any]
    bounds: tuple[tuple[str, float], ...]
    simulated: float
    measured: float | None
    gains: Sequence[Gain]
    causes: Sequence[Bar]
    reasons: Sequence[str]
    origin: str
    resource: Resource | None
    unmeasured: Mapping[str, str]

    @property
    def unit(self) -> str:
        return "Gb/s" if self.parameters["operation"].startswith("bw-") else "ns"

    @property
    def value(self) -> float:
        return self.simulated if self.measured is None else self.measured

    @property
    def is_measured(self) -> bool:
        """Whether the value in question comes from elsewhere than the simulator."""
        return self.origin != "simulated"

    @property
    def fitting(self) -> list[Bar]:
        """Defects that fit the measured value, if the system without a defect does not."""
        if not self.measured or abs(self.simulated / self.measured - 1) <= FITS:
            return []
        costly = [bar for bar in self.causes if abs(bar.value / self.simulated - 1) > FITS]
        return [bar for bar in costly if abs(bar.value / self.measured - 1) <= FITS]

    def shown(self, value: float) -> str:
        return f"{digits(value)} {self.unit}"


def why_test(
    system: System,
    title: str,
    parameters: Mapping[str, Any],
    *,
    measured: float | None = None,
    origin: str = "measured",
    unmeasured: Mapping[str, str] = MappingProxyType({}),
    progress: Progress = no_progress,
) -> Why:
    """Why one test gives its value on a system.

    Args:
        system: The system, complete.
        title: Its title.
        parameters: The test's parameters.
        measured: A value to explain: Gb/s, or the average in ns of a test of latency; absent: the simulated one.
        origin: Origin of that value.
        unmeasured: Keys of the system that nobody measured, as `unmeasured_keys` names them.
        progress: Called while changes are simulated.

    Raises:
        InputError: The system cannot run the test.
    """
    unit = "Gb/s" if parameters["operation"].startswith("bw-") else "ns"
    search = simulated_gains(system, [parameters], unit, progress)
    if search is None:
        raise refusal(
            "unsupported",
            f"--test {parameters['operation']}: {title} cannot run it: choose another test or --profile",
        )
    [simulated], gains = search.values, search.gains
    facts = facts_of_system(system)
    [found] = bounds_of_tests(facts, [parameters])
    bounds = [(ceiling.bound, ceiling.gbps) for ceiling in found.answer.ceilings] if found else []
    worse = defects(system) if measured is not None and origin == "measured" else []
    values = predicted([(one.system, parameters) for one in worse], progress)
    case = _Case(
        title=title,
        parameters=parameters,
        bounds=tuple(bounds),
        simulated=simulated,
        measured=measured,
        gains=gains,
        causes=[Bar(one.what, value, "cause") for one, value in zip(worse, values, strict=True) if value],
        reasons=_possible(
            reasons(facts, parameters, tags_charged=found is None or found.round_trip is not None), gains
        ),
        origin="simulated" if measured is None else origin,
        resource=search.resources[0],
        unmeasured=unmeasured,
    )
    sure = _certainty(case)
    return Why(
        question=f"{asked(parameters)}, on {title}",
        sentences=(_binding(case), sure.sentence, _advice(case)),
        binds=bounds[0][0] if bounds else None,
        certainty=sure,
        change=_change(case),
        changes=tuple(gain.change for gain in gains),
        unit=unit,
        bars=tuple(_bars(case)),
        rows=tuple(_rows(case)),
    )


def _possible(found: Sequence[str], gains: Sequence[Gain]) -> list[str]:
    """The reasons that no simulation refutes: where warm caches give nothing, cold memory takes nothing."""
    warm = [gain for gain in gains if gain.change.keys == {"test.cache": "host-warm"}]
    refuted = any(gain.change.gain_percent < 1 for gain in warm)
    return [reason for reason in found if not (refuted and reason.startswith("cold memory"))]


def _binding(case: _Case) -> str:
    """The first sentence: what binds, and how the value stands to it."""
    value = f"the {case.origin} {case.shown(case.value)}"
    beside = "" if case.origin == "simulated" else f"; the system simulates {case.shown(case.simulated)}"
    if not case.bounds:
        added = f", with {listed(case.reasons)}" if case.reasons else ""
        return f"No bound binds a latency: {value} are a round trip{added}{beside}."
    name, bound = case.bounds[0]
    if _is_above(case):
        return f"{_capital(value)} is more than {name} allows, {case.shown(bound)}{beside}."
    made_of = f" {case.resource.clause}{_unmeasured(case)}" if case.resource is not None else ""
    share = f"{value} is {100 * case.value / bound:.0f} % of it"
    return f"{name} binds at {case.shown(bound)}{made_of}; {share}{beside}."


def _unmeasured(case: _Case) -> str:
    """Why nobody knows the value of the binding resource; empty if it was measured or given."""
    word = case.unmeasured.get(case.resource.key) if case.resource is not None else None
    return f" ({word})" if word else ""


def _certainty(case: _Case) -> Certainty:
    if case.measured is not None and case.fitting:
        fits = listed([f"{bar.name} ({case.shown(bar.value)})" for bar in case.fitting], "or")
        level: Level = "fairly sure" if len(case.fitting) == 1 else "not sure"
        return Certainty(level, f"the measured value fits a defect of the machine, {fits}")
    if not case.bounds:
        return _certainty_of_latency(case)
    for named in range(len(case.reasons), 0, -1):
        found = _certainty_of_bound(case, possible(case.reasons, named))
        if words_in(found.sentence) <= WORDS_MOST:
            return found
    return _certainty_of_bound(case, possible(case.reasons, 1))


def _certainty_of_bound(case: _Case, beside: str) -> Certainty:
    """How sure the bound is, with what may take the rest."""
    found = certainty_of(case.bounds, case.value, case.origin, beside)
    # The link is what was asked about; its tags are a resource.
    behind = [key for key in KEYS_OF_BOUNDS[case.bounds[0][0]] if not key.startswith("link.")]
    if case.resource is not None and case.resource.key not in behind:
        behind.append(case.resource.key)
    many = sum(key in case.unmeasured for key in behind)
    return with_unmeasured(found, case.bounds, behind=many, is_resource=bool(_unmeasured(case)))


def _certainty_of_latency(case: _Case) -> Certainty:
    if case.origin == "simulated" or case.measured is None:
        return Certainty(
            "fairly sure", "a latency has no bound, but the test was simulated again with each change"
        )
    apart = 100 * (case.measured / case.simulated - 1)
    reached = f"the {case.origin} value is {percent_text(apart)} from the simulated one"
    if abs(apart) <= 100 * FITS:
        return Certainty("sure", reached)
    return Certainty("not sure", f"{reached}, and no defect that was tried fits")


def _change(case: _Case) -> Change | None:
    """The change that the last sentence names first."""
    if case.fitting:
        fits = case.fitting[0]
        return Change(f"not {fits.name}", fits.value, case.simulated, case.unit, "link")
    if _is_above(case):
        return next((gain.change for gain in enough_for(case.gains, case.value)), None)
    return None if _is_unexplained(case) else best_of(case.gains)


def _advice(case: _Case) -> str:
    """The last sentence: what to change, and what that gives."""
    change = _change(case)
    if case.fitting and change is not None:
        gain = f"{case.shown(case.simulated)} ({change.percent_text})"
        return f"Check {case.fitting[0].name} first, with `pcielab doctor`: mended, the system simulates {gain}."
    if _is_above(case):
        return allowing(case.gains, case.value)
    if _is_unexplained(case):
        return _unexplained(case)
    return advice(case.gains, _HOW, base="" if case.measured is None else "simulated")


def _is_unexplained(case: _Case) -> bool:
    """Whether a measured value is far worse than the simulated one, and fits no defect."""
    if not case.is_measured or case.fitting:
        return False
    slower = case.simulated / case.value if case.unit == "Gb/s" else case.value / case.simulated
    return slower > 1 + _UNEXPLAINED


def _unexplained(case: _Case) -> str:
    """The sentence for a value far below the simulated one: what would give it, and where to look."""
    where = "look for another setting with `pcielab doctor`, and check --profile"
    if case.unit == "ns":
        more = case.shown(case.value - case.simulated)
        return f"None of the {len(case.causes)} defects tried adds {more}: {where}."
    interval_ns = 8 * case.parameters["size_bytes"] / case.value
    in_flight = _ROUND_TRIP_NS / interval_ns
    pace = f"one transfer every {digits(interval_ns)} ns, as with {digits(in_flight)} in flight over a microsecond"
    return f"None of the {len(case.causes)} defects tried fits {pace}: {where}."


def _is_above(case: _Case) -> bool:
    """Whether a measured value refutes the system; a simulated one is above a bound until it is steady."""
    return case.is_measured and bool(case.bounds) and is_above(case.value, case.bounds[0][1])


def _bars(case: _Case) -> Iterator[Bar]:
    if case.measured is not None:
        yield Bar(case.origin, case.measured, "value")
    if case.origin != "simulated" or case.measured is None:
        yield Bar("simulated", case.simulated, "value")
    for name, bound in near(case.bounds):
        yield Bar(name, bound, "bound")
    yield from (bar for bar in case.causes if differs(bar.value, case.simulated))
    for gain in helpful(case.gains)[:_SHOWN_CHANGES]:
        yield Bar(gain.change.what, gain.change.after, "change")


def _rows(case: _Case) -> Iterator[Mapping[str, Cell]]:
    """Each bound, possible cause and change with its value."""
    for name, bound in case.bounds:
        yield _row("bound", name, bound, case)
    for cause in case.causes:
        yield _row("cause", cause.name, cause.value, case)
    for gain in _shown_gains(case.gains):
        yield _row("change", gain.change.what, gain.change.after, case)


def _shown_gains(gains: Sequence[Gain]) -> list[Gain]:
    """The changes that move the value, for better or worse, and those that were looked at again."""
    return [gain for gain in gains if gain.is_full or abs(gain.change.gain_percent) >= LEAST_GAIN_PERCENT]


def _row(kind: str, name: str, value: float, case: _Case) -> dict[str, Cell]:
    return {
        "kind": kind,
        "name": name,
        "value": value,
        "unit": case.unit,
        "against_simulated_percent": 100 * (value / case.simulated - 1),
        **({f"against_{case.origin}_percent": 100 * (value / case.value - 1)} if case.is_measured else {}),
    }


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
