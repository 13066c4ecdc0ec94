"""What changes give that have a closed form: the values of some tests with each change made."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pcielab import _core
from pcielab.analysis.why.answer import Change
from pcielab.kinds.machine_facts import MachineFacts
from pcielab.kinds.transfers.bounds import bounds_of_tests

LEAST_GAIN_PERCENT = 1.0
"""A change that gains less is not named."""
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
    return [gain for gain in gains if gain.change.gain_percent >= LEAST_GAIN_PERCENT]


def _gain(change: Change, before: Sequence[float | None], after: Sequence[float | None]) -> Gain | None:
    pairs = [(one, other) for one, other in zip(before, after, strict=True) if one and other]
    if not pairs:
        return None
    changes = [replace(change, before=one, after=other) for one, other in pairs]
    means = [sum(side) / len(pairs) for side in zip(*pairs, strict=True)]
    whole = replace(change, before=means[0], after=means[1])
    return Gain(whole, tuple(change.gain_percent for change in changes))
