"""What changes give: the values of some tests with each change made, by the simulator or in closed form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pcielab.analysis.why.answer import Change
from pcielab.analysis.why.numbers import digits, listed, percent_text
from pcielab.analysis.why.predicted import no_progress, predicted
from pcielab.analysis.why.system_changes import improvements, link_changes
from pcielab.kinds.machine_facts import MachineFacts
from pcielab.kinds.transfers.bounds import bounds_of_tests
from pcielab.library.profiles.parts import System
from pcielab.work.effort import Progress

LEAST_GAIN_PERCENT = 1.0
"""A change that gains less is not named."""
_NAMED = 2
_LITTLE_PERCENT = 5.0
_LINK_KEYS = ("mrrs_bytes", "mps_bytes", "generation", "lanes")


@dataclass(frozen=True)
class Gain:
    """A change, and what it gives each of some tests.

    Attributes:
        change: The change, with means over the tests.
        percents: The gain of each test.
    """

    change: Change
    percents: tuple[float, ...]

    @property
    def text(self) -> str:
        """The change and its gain in words."""
        if len(self.percents) == 1:
            value = f"{digits(self.change.after)} {self.change.unit}"
            return f"{self.change.what}, {value} ({self.change.percent_text})"
        return f"{self.change.what} ({percent_text(min(self.percents))} to {percent_text(max(self.percents))})"


def simulated_gains(
    system: System, tests: Sequence[Mapping[str, Any]], unit: str, progress: Progress = no_progress
) -> tuple[list[float | None], list[Gain]]:
    """The simulated value of each test, and the gain of each change, the best first.

    Args:
        system: The system, complete.
        tests: Parameters of tests with values of one unit.
        unit: `Gb/s` or `ns`.
        progress: Called while they are simulated.
    """
    of_tests = [{variant.what: variant for variant in improvements(system, test)} for test in tests]
    common = [what for what in of_tests[0] if all(what in variants for variants in of_tests)]
    cases = [(variants[what].system, variants[what].parameters) for what in common for variants in of_tests]
    values = predicted([*((system, test) for test in tests), *cases], progress)
    before, after = values[: len(tests)], values[len(tests) :]
    gains = []
    for nth, what in enumerate(common):
        then = after[nth * len(tests) : (nth + 1) * len(tests)]
        found = _gain(what, of_tests[0][what].of, before, then, unit)
        if found is not None:
            gains.append(found)
    return before, ordered(gains)


def modelled_gains(
    facts: MachineFacts, tests: Sequence[Mapping[str, Any]], latencies: Sequence[Mapping[str, Any]]
) -> list[Gain]:
    """The gain of each change of the link in the bound of tests on a machine without a profile, in closed form.

    Args:
        facts: The machine.
        tests: Parameters of tests of bandwidth.
        latencies: Records of the run, whose latencies the bounds of tags use.
    """

    def bounds(machine: MachineFacts) -> list[float | None]:
        return [found.answer.gbps if found else None for found in bounds_of_tests(machine, tests, latencies)]

    before = bounds(facts)
    keys = {key: getattr(facts.link, key) for key in _LINK_KEYS}
    gains = []
    for what, new in link_changes(keys if facts.tags is None else {"tags": facts.tags, **keys}):
        link = facts.link.unchecked(**new)
        changed = replace(facts, link=link, tags=new.get("tags", facts.tags))
        found = _gain(what, "link", before, bounds(changed), "Gb/s")
        if found is not None:
            gains.append(found)
    return ordered(gains)


def ordered(gains: Sequence[Gain]) -> list[Gain]:
    """The gains, the best first; of changes that give as much, the one tried first."""
    return sorted(gains, key=lambda gain: -round(gain.change.gain_percent, 1))


def helpful(gains: Sequence[Gain]) -> list[Gain]:
    """The gains worth naming."""
    return [gain for gain in gains if gain.change.gain_percent >= LEAST_GAIN_PERCENT]


def best_of(gains: Sequence[Gain]) -> Change | None:
    """The change to name first."""
    named = _named(gains)
    return named[0].change if named else None


def enough_for(gains: Sequence[Gain], value: float) -> list[Gain]:
    """The changes with which a rate is possible, the least first."""
    return sorted((gain for gain in gains if gain.change.after >= value), key=lambda gain: gain.change.after)


def advice(gains: Sequence[Gain], how: str, tried: str = "changes") -> str:
    """The sentence on the best changes; `how`: the engine that computed them, as a clause."""
    named = _named(gains)
    if not named:
        return f"None of the {len(gains)} {tried} tried helps, {how}."
    most, *others = named
    more = "".join(f"; of the {'test' if gain.change.of == 'test' else 'machine'}, {gain.text}" for gain in others)
    return f"Most is gained by {most.text}{more}, {how}."


def bound_advice(gains: Sequence[Gain]) -> str:
    """The sentence on the changes of a link, where only the bound can be computed again."""
    best = helpful(gains)
    if not best:
        return f"None of the {len(gains)} changes of the link tried raises the bound (modelled)."
    raised = listed([gain.text for gain in best[:_NAMED]])
    more = "`pcielab calibrate` makes a system on which changes can be simulated"
    return f"The bound itself, modelled, would rise most with {raised}; {more}."


def allowing(gains: Sequence[Gain], value: float) -> str:
    """The sentence for a measured rate above its bound: the changes that would allow it."""
    enough = enough_for(gains, value)
    if not enough:
        return (
            f"None of the {len(gains)} changes tried allows it: check the test's options, --profile and the unit."
        )
    least = listed([gain.text for gain in enough[:_NAMED]], "or by")
    return f"It would be allowed by {least}: check that --profile is the measured machine."


def _named(gains: Sequence[Gain]) -> list[Gain]:
    """The best change of the machine, and the best of the test; one that gives little comes second."""
    best = helpful(gains)
    of_machine = [gain for gain in best if gain.change.of != "test"]
    of_test = [gain for gain in best if gain.change.of == "test"]
    named = [*of_machine[:1], *of_test[:1]]
    return named[::-1] if named and named[0].change.gain_percent < _LITTLE_PERCENT else named


def _gain(
    what: str, of: str, before: Sequence[float | None], after: Sequence[float | None], unit: str
) -> Gain | None:
    pairs = [(one, other) for one, other in zip(before, after, strict=True) if one and other]
    if not pairs:
        return None
    changes = [Change(what, one, other, unit, of) for one, other in pairs]
    means = [sum(side) / len(pairs) for side in zip(*pairs, strict=True)]
    return Gain(Change(what, means[0], means[1], unit, of), tuple(change.gain_percent for change in changes))
