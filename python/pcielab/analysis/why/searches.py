"""The compiled half's searches: every change of a machine, a NIC or a test, and what each gives."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pcielab.analysis.why.answer import Change

How: TypeAlias = Literal["single", "further", "pair"]


@dataclass(frozen=True)
class Gain:
    """A change, and what it gives each of some tests.

    Attributes:
        change: The change, with means over the tests.
        percents: The gain of each test.
        how: One step of one key, further steps of it, or two keys.
        is_full: Whether it was computed at full length; otherwise a short simulation showed no effect worth that.
        is_best: Whether it is the change to name.
        is_worth: Whether it is a pair that gives clearly more than the best alone.
    """

    change: Change
    percents: tuple[float, ...]
    how: How = "single"
    is_full: bool = True
    is_best: bool = False
    is_worth: bool = False


@dataclass(frozen=True)
class Assumed:
    """A value of a NIC that no document gives.

    Attributes:
        least: Least value.
        most: Greatest value.
        values: The rate with each of them; None where that cannot run.
    """

    least: int
    most: int
    values: tuple[float, float] | None


@dataclass(frozen=True)
class Resource:
    """What the bound of a test or a NIC is made of.

    Attributes:
        bound: The bound.
        key: The key that sets it; one of a test begins with `test.`, one of a NIC with `nic.`.
        value: The key's value; of a pace, the time for each transfer in ns.
        clause: Both in words: `with 32 tags`.
        assumed: What is known of the value, where no document gives it.
    """

    bound: str
    key: str
    value: float
    clause: str
    assumed: Assumed | None = None


@dataclass(frozen=True)
class Search:
    """What a search found.

    Attributes:
        values: The values without a change.
        gains: Every possible change, the best first.
        resources: The resource behind the bound of each test, or of the NIC; None where none was found.
    """

    values: tuple[float, ...]
    gains: tuple[Gain, ...]
    resources: tuple[Resource | None, ...] = ()


def read_search(found: str, unit: str) -> Search | None:
    """The answer of the compiled half; None where the question has no value."""
    read: dict[str, Any] | None = json.loads(found)
    if read is None:
        return None
    before = tuple(read["values"])
    gains = tuple(
        _gain(tried, before, unit, is_best=nth == read["best"], is_worth=nth == read["pair"])
        for nth, tried in enumerate(read["tried"])
    )
    resources = tuple(_resource(one) if one else None for one in read["resources"])
    return Search(before, gains, resources)


def _resource(found: dict[str, Any]) -> Resource:
    assumed = found["assumed"]
    if assumed is not None:
        values = tuple(assumed["values"]) if assumed["values"] else None
        assumed = Assumed(assumed["least"], assumed["most"], values)
    return Resource(found["bound"], found["key"], found["value"], found["clause"], assumed)


def _gain(tried: dict[str, Any], before: Sequence[float], unit: str, *, is_best: bool, is_worth: bool) -> Gain:
    after: list[float] = tried["values"]
    change = Change(
        tried["what"], _mean(before), _mean(after), unit, tried["of"], who=tried["who"], keys=tried["keys"]
    )
    percents = tuple(
        Change("", one, other, unit, "").gain_percent for one, other in zip(before, after, strict=True)
    )
    return Gain(change, percents, tried["how"], tried["is_full"], is_best, is_worth)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
