"""The target beside the sliders: met by the smallest change, met already, or not met, with what binds."""

from collections.abc import Mapping
from typing import Any

import pytest

from pcielab import InputError
from pcielab.explore import target
from pcielab.explore.page_files import html
from pcielab.explore.question import Systems, question_of
from pcielab.explore.target import answered

SMALL: Mapping[str, Any] = {"system": "gen5-x16", "cache": "device-warm", "size": 512, "outstanding": 8}
"""A question with few combinations."""


@pytest.fixture(scope="module")
def systems() -> Systems:
    return Systems()


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "MOST_SECONDS", float("inf"))


def asked(limit: object, operation: str = "bw-rd", **other: Any) -> dict[str, Any]:
    return {"question": {**SMALL, **other}, "operation": operation, "target": limit}


def test_the_smallest_change_meets_the_target(systems: Systems) -> None:
    found = answered(asked(100), systems)
    assert (found["is_met"], found["changes"], found["outstanding"]) == (True, {}, 16)
    assert found["sentence"].startswith("outstanding 8 -> 16: 1")
    assert found["sentence"].endswith(
        "Gb/s (simulated) meets the target, at least 100 Gb/s; the binding bound is latency."
    )
    again = answered(asked(100, outstanding=found["outstanding"]), systems)
    assert (again["is_met"], again["outstanding"]) == (True, 16)
    assert again["sentence"].startswith("No change is needed: 1")


def test_a_generation_that_needs_flit_mode_brings_it(systems: Systems) -> None:
    system = systems.resolved(question_of(SMALL)).handle
    assert target._beside(system, (4, 5, 6, 7)) == {key: {"link.flit": True} for key in (6, 7)}
    found = answered(asked(9000, outstanding=None), systems)
    assert "link.generation 5 -> 7" in found["sentence"]
    assert "link.flit False -> True" in found["sentence"]


def test_a_target_out_of_reach_gets_the_most_and_what_binds(systems: Systems) -> None:
    found = answered(asked(9000, outstanding=None), systems)
    assert (found["is_met"], found["changes"], found["outstanding"]) == (False, {}, None)
    assert "No combination of link.generation 5 to 7, link.lanes 16 to 32" in found["sentence"]
    assert "the most is " in found["sentence"]
    assert "(simulated)" in found["sentence"]
    assert "the binding bound is " in found["sentence"]


def test_a_latency_has_no_bound(systems: Systems) -> None:
    found = answered(asked(1, "lat-rd"), systems)
    assert not found["is_met"]
    assert "median at most 1 ns: the least is " in found["sentence"]


def test_a_search_that_stops_says_so(systems: Systems, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "MOST_SIMULATED", 3)
    found = answered(asked(100), systems)
    assert (found["is_met"], found["outstanding"]) == (True, 32)
    assert found["sentence"].endswith("Stopped after 3 simulated tests: a smaller change may do.")
    found = answered(asked(515, "lat-rd"), systems)
    assert (found["is_met"], found["changes"], found["outstanding"]) == (None, {}, 8)
    assert "simulated tests without an answer: give a target nearer" in found["sentence"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (asked(0), "target is 0: give a number of Gb/s above 0"),
        (asked("fast"), "target is 'fast': give a number of Gb/s above 0"),
        (asked(float("nan"), "lat-rd"), "target is nan: give a number of ns above 0"),
        (asked(True), "target is True: give"),
        (asked(1, "bw-wr"), "operation: give the question's"),
        (asked(1, system="nobody"), "nobody"),
        (asked(1, size=5000), "--size 5000: give at most 4096"),
        ([], "give an object"),
    ],
)
def test_wrong_targets_are_refused(systems: Systems, question: object, expected: str) -> None:
    with pytest.raises(InputError) as refused:
        answered(question, systems)
    assert expected in str(refused.value)
    assert refused.value.kind


def test_a_page_without_a_server_has_no_target() -> None:
    assert 'id="meet"' in html("explore", {})
    assert 'id="meet"' not in html("explore", {}, without_server=True)
