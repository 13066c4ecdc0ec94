"""`why` names planted limits, and the change that gives most. `make why-limits` plants 700 of them."""

import pytest

from planted_limits import planted
from why_limits import ask, is_named, judged

WHOLE = (0, 3, 5, 6, 10, 12)
"""Cases whose answer is held against every single change that the schema allows: tests with few of them."""
NAMED = (1, 2, 4, 7, 11)
"""Cases of which only the words are judged."""


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
