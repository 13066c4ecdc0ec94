"""`why` names a planted limit, and the change that gives most. `make why-limits` plants 700 of them."""

import pytest

from planted_limits import ENOUGH, judged, planted

CASES = (3, pytest.param(4, marks=pytest.mark.slow), 5, 6, 12, 15, 20)
"""Credits of each kind, the pace of requests, DMAs in flight; the ring of a NIC; DDIO ways."""
_REFERENCE = 6
_WORDS_MOST = 25
_NOISE_PERCENT = 2.0


@pytest.mark.parametrize("number", CASES)
def test_a_planted_limit_is_named_with_its_remedy(number: int) -> None:
    case = planted(number)
    assert case is not None
    found = judged(case, _REFERENCE)
    assert found.is_named, found.text
    assert found.reached >= ENOUGH, found.text
    assert found.gain >= found.best[1] - _NOISE_PERCENT, found.text
    assert not found.is_false_none, found.text
    assert found.longest <= _WORDS_MOST, found.answer.sentences
