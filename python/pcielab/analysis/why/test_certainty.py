"""How sure an answer says that it is, and in which words, at the edges of each kind."""

import pytest

from pcielab.analysis.why.certainty import (
    certainty_of,
    differs,
    is_above,
    near,
    possible,
    simulated_certainty,
    with_unmeasured,
)


@pytest.mark.parametrize(
    ("next_bound", "words"),
    [
        (102.0, "the next bound, tags, is only 2 % higher"),
        (104.9, "the next bound, tags, is only 5 % higher"),
        (110.0, "the next bound, tags, is 10 % higher"),
        (499.0, "the next bound, tags, is 399 % higher"),
        (500.0, "the next bound, tags, is 5 times as high"),
        (1600.0, "the next bound, tags, is 16 times as high"),
    ],
)
def test_the_distance_of_the_next_bound_is_said(next_bound: float, words: str) -> None:
    bounds = [("the link", 100.0), ("tags", next_bound)]
    assert certainty_of(bounds, 96.0, "measured").reason.endswith(words)
    assert simulated_certainty(bounds, 100.0).reason.endswith(words)


def test_the_only_bound_has_no_next() -> None:
    assert certainty_of([("the link", 100.0)], 96.0, "measured").reason.endswith("no other bound applies")


@pytest.mark.parametrize(
    ("value", "next_bound", "origin", "level", "words"),
    [
        (None, 200.0, "measured", "fairly sure", "no value was given"),
        (95.0, 200.0, "measured", "sure", "the measured value is 95 % of what the link allows"),
        (95.0, 104.0, "measured", "fairly sure", "only 4 % higher"),
        (101.0, 200.0, "measured", "sure", "101 %"),
        (102.0, 200.0, "measured", "not sure", "differ from the real ones"),
        (102.0, 200.0, "simulated", "fairly sure", "too short to be steady"),
        (94.0, 200.0, "measured", "fairly sure", "no bound explains the rest"),
        (80.0, 200.0, "measured", "fairly sure", "no bound explains the rest"),
        (79.0, 200.0, "measured", "not sure", "no bound explains the rest"),
    ],
)
def test_certainty_follows_the_share_of_the_bound(
    value: float | None, next_bound: float, origin: str, level: str, words: str
) -> None:
    sure = certainty_of([("the link", 100.0), ("tags", next_bound)], value, origin)
    assert (sure.level, words in sure.reason) == (level, True), sure.reason


def test_what_may_take_the_rest_is_named() -> None:
    beside = possible(["cold caches", "a remote socket", "IO-TLB misses"])
    assert beside == "the rest may be cold caches or a remote socket"
    assert certainty_of([("the link", 100.0)], 50.0, "measured", beside).reason.endswith(f"; {beside}")
    assert possible([]) == ""


def test_a_simulation_is_sure_of_a_bound_that_stands_apart() -> None:
    assert simulated_certainty([("tags", 90.0), ("the link", 105.0)], 100.0).level == "fairly sure"
    assert simulated_certainty([("tags", 90.0), ("the link", 106.0)], 100.0).level == "sure"


@pytest.mark.parametrize(
    ("value", "next_bound", "behind", "is_resource", "level"),
    [
        (96.0, 300.0, 0, False, "sure"),
        (96.0, 300.0, 1, False, "fairly sure"),
        (96.0, 300.0, 1, True, "fairly sure"),
        (96.0, 199.0, 2, True, "not sure"),
        (96.0, 199.0, 2, False, "fairly sure"),
        (79.0, 300.0, 1, False, "not sure"),
    ],
)
def test_what_nobody_measured_makes_an_answer_less_sure(
    value: float, next_bound: float, behind: int, is_resource: bool, level: str
) -> None:
    bounds = [("tags", 100.0), ("the link", next_bound)]
    measured = certainty_of(bounds, value, "simulated")
    sure = with_unmeasured(measured, bounds, behind=behind, is_resource=is_resource)
    assert sure.level == level
    start = {0: "the ", 1: "on an unmeasured value, ", 2: "on 2 unmeasured values, "}[behind]
    assert sure.reason.startswith(start)
    assert sure.reason.endswith(measured.reason)


def test_what_a_picture_shows_apart() -> None:
    assert (is_above(101.0, 100.0), is_above(101.1, 100.0)) == (False, True)
    assert (differs(100.9, 100.0), differs(101.1, 100.0), differs(98.9, 100.0)) == (False, True, True)
    assert near([("a", 10.0), ("b", 40.0), ("c", 40.1)]) == [("a", 10.0), ("b", 40.0)]
