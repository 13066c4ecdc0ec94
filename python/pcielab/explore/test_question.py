"""A page has a control for every parameter of tests."""

from typing import get_args

import pytest

from pcielab.explore.answers import taken_out
from pcielab.explore.question import ASKED, START, Question, Systems
from pcielab.library.suites.parameter import PARAMETERS, Parameter

DECIDED = {"test", "path", "transactions", "details"}
"""Parameters without a control."""


def test_page_has_a_control_for_every_other_parameter() -> None:
    assert {one.word for one in PARAMETERS} - {one.word for one in ASKED} == DECIDED


@pytest.mark.parametrize("one", ASKED, ids=lambda one: one.word)
def test_page_starts_with_the_defaults_of_tests(one: Parameter) -> None:
    assert getattr(START, one.word) == one.default
    if one.kind == "word":
        assert get_args(Question.model_fields[one.word].annotation) == one.choices


def test_takes_every_parameter_out() -> None:
    question = Question(pattern="strided", stride=3, window=1 << 20, outstanding=4)
    out = taken_out(question, Systems())
    assert "--pattern strided --size 64 --window 1048576 --stride 3 --outstanding 4" in out["run"]
    assert out["suite"].count("strides = [3]") == 3
    assert "stride = 3" in out["sweep"]


def test_experimental_systems_come_last_with_the_reason() -> None:
    systems = Systems({"mine": "mine.toml"})
    assert list(systems.experimental) == ["e3", "e3-nosp"]
    assert systems.names[0] == "mine"
    assert list(systems.names[-2:]) == ["e3", "e3-nosp"]
    assert "too fast" in systems.experimental["e3"]
    assert Systems({"e3": "e3.toml"}).experimental.keys() == {"e3-nosp"}, "a file of the user's own"
