"""What changes give: the values of some tests with each change made, by the simulator or in closed form."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pcielab import _core
from pcielab.analysis.why.answer import Change
from pcielab.analysis.why.numbers import digits, listed, percent_text
from pcielab.analysis.why.predicted import no_progress
from pcielab.analysis.why.searches import Gain, Search, read_search
from pcielab.kinds.machine_facts import MachineFacts
from pcielab.kinds.transfers.bounds import bounds_of_tests
from pcielab.library.profiles.parts import System
from pcielab.work.effort import Progress

LEAST_GAIN_PERCENT = 1.0
"""A change that gains less is not named."""
_NAMED = 2
WORDS_MOST = 25
"""Most words of a sentence."""
_LITTLE_PERCENT = 5.0
_LINK_KEYS = ("mrrs_bytes", "mps_bytes", "generation", "lanes")
_WORTH_PERCENT = 2.0
"""Gain from which an easier change is named, too."""
_EASY = ("setting", "driver", "slot")
"""Who can make a change without another device or processor, the easiest first."""


def words_in(sentence: str) -> int:
    """How many words and numbers a sentence has; arrows and units of one sign are none."""
    return sum(any(letter.isalnum() for letter in word) for word in sentence.split())


def text_of(gain: Gain, base: str = "") -> str:
    """A change and its gain in words, with the value where it is of one test.

    With a `base`, how that came about, the gain is a ratio to the value without the change: the value in question
    is another one.
    """
    if base and len(gain.percents) == 1:
        before = f"{digits(gain.change.before)} {gain.change.unit}"
        return f"{gain.change.what}{_who(gain.change)}, {gain.change.percent_text} on the {base} {before}"
    value = f", {digits(gain.change.after)} {gain.change.unit}" if len(gain.percents) == 1 else ""
    return f"{gain.change.what}{_who(gain.change)}{value} ({_percents(gain)})"


def _who(change: Change) -> str:
    return f" ({change.who.replace('-', ' ')})" if change.who and change.of != "test" else ""


def _percents(gain: Gain) -> str:
    if len(gain.percents) == 1:
        return gain.change.percent_text
    return f"{percent_text(min(gain.percents))} to {percent_text(max(gain.percents))}"


def simulated_gains(
    system: System, tests: Sequence[Mapping[str, Any]], unit: str, progress: Progress = no_progress
) -> Search | None:
    """The simulated value of each test, and the gain of each change, the best first; None if a test cannot run.

    Args:
        system: The system, complete.
        tests: Parameters of tests with values of one unit.
        unit: `Gb/s` or `ns`.
        progress: Called while they are simulated.
    """
    return read_search(_core.why_tests(system.handle, json.dumps([*map(dict, tests)]), progress), unit)


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
    for change, new in link_changes(keys if facts.tags is None else {"tags": facts.tags, **keys}):
        link = facts.link.unchecked(**new)
        changed = replace(facts, link=link, tags=new.get("tags", facts.tags))
        found = _gain(change, before, bounds(changed))
        if found is not None:
            gains.append(found)
    return ordered(gains)


def link_changes(link: Mapping[str, int]) -> Iterator[tuple[Change, dict[str, int]]]:
    """One step of every key of a link that is given: the change without its values, and new values by key."""
    for found in json.loads(_core.link_changes(json.dumps(dict(link)))):
        change = Change(found["what"], 1.0, 1.0, "Gb/s", found["of"], who=found["who"], keys=found["keys"])
        yield change, {key.removeprefix("link."): value for key, value in found["keys"].items()}


def ordered(gains: Sequence[Gain]) -> list[Gain]:
    """The gains, the best first; of changes that give as much, the one tried first."""
    return sorted(gains, key=lambda gain: -round(gain.change.gain_percent, 1))


def helpful(gains: Sequence[Gain]) -> list[Gain]:
    """The gains worth naming."""
    return [gain for gain in gains if gain.is_full and gain.change.gain_percent >= LEAST_GAIN_PERCENT]


def best_of(gains: Sequence[Gain]) -> Change | None:
    """The change to name first."""
    named = _named(gains)
    return named[0].change if named else None


def enough_for(gains: Sequence[Gain], value: float) -> list[Gain]:
    """The changes with which a rate is possible, the least first."""
    return sorted((gain for gain in gains if gain.change.after >= value), key=lambda gain: gain.change.after)


def advice(gains: Sequence[Gain], how: str, of: str = "", base: str = "") -> str:
    """The sentence on the best changes.

    Args:
        gains: What each change gives.
        how: The engine that computed them, as a clause.
        of: What rises, where it is not the value in question: `the bound itself`.
        base: How the value without a change came about, where it is not the value in question.
    """
    named = _named(gains)
    tried = [gain for gain in gains if gain.how == "single"]
    if not named:
        verb = f"raises {of}" if of else "helps"
        return f"None of the {len(tried)} changes tried {verb}, nor a pair of them, {how}."
    most, *others = named
    start = f"{of[:1].upper()}{of[1:]} would rise most with" if of else "Most is gained by"
    sentence = f"{start} {text_of(most, base)}"
    for gain in others:
        longer = f"{sentence}; {_beside(gain, most)}"
        # A second change that makes the sentence too long is left to picture and table.
        sentence = longer if words_in(longer) <= WORDS_MOST else sentence
    return f"{sentence}."


def bound_advice(gains: Sequence[Gain]) -> str:
    """The sentence on the changes of a link, where only the bound can be computed again."""
    best = helpful(gains)
    if not best:
        return f"None of the {len(gains)} changes of the link tried raises the bound (modelled)."
    raised = listed([text_of(gain) for gain in best[:_NAMED]])
    return f"The bound itself, modelled, would rise most with {raised}."


def allowing(gains: Sequence[Gain], value: float) -> str:
    """The sentence for a measured rate above its bound: the changes that would allow it."""
    enough = enough_for(gains, value)
    if not enough:
        return (
            f"None of the {len(gains)} changes tried allows it: check the test's options, --profile and the unit."
        )
    return f"It would be allowed by {text_of(enough[0])}: check that --profile is the measured machine."


def _named(gains: Sequence[Gain]) -> list[Gain]:
    """The best change of the machine, and one more: a pair, an easier change, or one of the test.

    A change that gives little comes second.
    """
    best = [gain for gain in helpful(gains) if gain.how != "pair"]
    of_machine = [gain for gain in best if gain.change.of != "test"]
    of_test = [gain for gain in best if gain.change.of == "test"]
    most = next((gain for gain in of_machine if gain.is_best), of_machine[0] if of_machine else None)
    pairs = [gain for gain in gains if gain.is_worth]
    if most is None:
        return (of_test or pairs)[:1]
    easier = _EASY[: _EASY.index(most.change.who)] if most.change.who in _EASY else _EASY
    worth = [
        gain for gain in of_machine if gain.change.who in easier and gain.change.gain_percent >= _WORTH_PERCENT
    ]
    others = [*pairs, *worth, *of_test]
    named = [most, *[gain for gain in others if gain is not most][:1]]
    swap = len(named) > 1 and most.change.gain_percent < min(_LITTLE_PERCENT, named[1].change.gain_percent)
    return named[::-1] if swap else named


def _beside(gain: Gain, most: Gain) -> str:
    """A second change, and what it is beside the first."""
    what = gain.change.what
    if gain.how != "pair":
        kind = "of the test" if gain.change.of == "test" else "more easily"
        return f"{kind} by {what}{_who(gain.change)} ({_percents(gain)})"
    added = what.removeprefix(f"{most.change.what} and ").removesuffix(f" and {most.change.what}")
    return f"{f'with {added}, too' if added != what else f'as a pair by {what}'} ({_percents(gain)})"


def _gain(change: Change, before: Sequence[float | None], after: Sequence[float | None]) -> Gain | None:
    pairs = [(one, other) for one, other in zip(before, after, strict=True) if one and other]
    if not pairs:
        return None
    changes = [replace(change, before=one, after=other) for one, other in pairs]
    means = [sum(side) / len(pairs) for side in zip(*pairs, strict=True)]
    whole = replace(change, before=means[0], after=means[1])
    return Gain(whole, tuple(change.gain_percent for change in changes))
