"""Processor times of tests: phases add up, shares are of the total, and a test over the budget needs a reason."""

from bench.rust_test_times import table
from processor_times import ENDS, Times


def test_a_test_over_the_budget_needs_a_reason() -> None:
    times = Times()
    times.add("tests/test_a.py::test_slow", [("processor_seconds", 6.0), ("long", "")])
    times.add("tests/test_a.py::test_slow", [("processor_seconds", 5.0), ("long", "")])
    times.add("tests/b/test_b.py::test_explained", [("processor_seconds", 30.0), ("long", "a whole suite")])
    times.add("python/c/d/test_c.py::test_fast", [("processor_seconds", 9.0), ("tried", 3)])
    times.add(ENDS, [("processor_seconds", 20.0), ("long", "")])
    assert times.over_budget() == ["tests/test_a.py::test_slow"]
    lines = list(times.lines())
    assert lines[1:5] == [
        "   30.00  tests/b/test_b.py::test_explained  a whole suite",
        f"   20.00  {ENDS}",
        "   11.00  tests/test_a.py::test_slow",
        "    9.00  python/c/d/test_c.py::test_fast",
    ]
    assert "    30.0  42.9%      1  tests/b" in lines
    assert "     9.0  12.9%      1  python/c" in lines
    assert lines[-1] == "    70.0  processor seconds of 3 tests"


def test_binaries_of_rust_tests_are_listed_by_time() -> None:
    lines = table("0.01\ttarget/debug/deps/tiny-0a1b\n2.50\ttarget/debug/deps/engines_agree-0c\n")
    assert lines[1:] == ["    2.50  engines_agree", "     2.5  processor seconds of 2 binaries"]
