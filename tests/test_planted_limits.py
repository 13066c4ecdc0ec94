"""`why` names planted limits, and the change that gives most. `make why-limits` plants 700 of them.

Thirty of these 700 are asked here, chosen from the processor times that a campaign recorded: the cheapest of each
kind of plant first. Left to the campaign are the three kinds of which every case takes seconds: batches of
descriptors, the tags that a NIC's reads occupy, and the credits of a NIC's writes.
"""

import pytest

from planted_limits import PLANTS, planted
from why_limits import ask, is_named, judged

WHOLE = (0, 30, 56, 87, 102, 110)
"""Cases whose answer is held against every single change that the schema allows: tests with few of them."""
NAMED = (
    *(20, 27, 29, 31, 37, 38, 58, 63, 76, 78, 81, 85, 86, 109, 111, 121, 125, 132),
    *(15, 66, 89, 99, 119, 123),
)
"""Cases of which only the words are judged: tests, then NICs."""
LEFT_OUT = {"batch", "NIC tags", "NIC posted data"}


def test_every_other_kind_is_planted() -> None:
    kinds = list(PLANTS)
    assert {kinds[number % len(kinds)] for number in (*WHOLE, *NAMED)} == set(kinds) - LEFT_OUT


@pytest.mark.parametrize("number", WHOLE)
def test_a_planted_limit_is_named_with_the_best_remedy(number: int) -> None:
    verdict = judged(number)
    assert verdict is not None
    assert not verdict.faults, verdict.text


@pytest.mark.parametrize("number", NAMED)
def test_a_planted_limit_is_named(number: int) -> None:
    case = planted(number)
    assert case is not None
    answer = ask(case)
    assert is_named(case, answer), answer.sentences
