"""`make test-times`: the processor time of every Python test, with its fixtures and the processes that it starts.

Time is that of the processor, not of a clock, so that a busy machine changes it little. What ends with a test, a
server or a browser that others shared, is counted apart: it is not that test's own. A test over the budget
needs `@pytest.mark.long("the reason")`; without it the run fails. It is a pytest plugin: `-p processor_times`.
"""

import os
import resource
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import PurePath
from typing import Any

import pytest

BUDGET_SECONDS = float(os.environ.get("PCIELAB_TEST_SECONDS", "10"))
"""Processor time that a test may take without a reason."""
SHOWN = 40
"""Slowest tests that are listed."""
_SECONDS, _REASON = "processor_seconds", "long"
ENDS = "what tests share, as it ends"
"""Stands where tests do: its folder and file are the same."""

forked_seconds = 0.0
"""Processor time of commands that were forked from the template: they are no children of this process."""


def used_seconds() -> float:
    """Processor time of this process, of its ended children, and of commands forked from the template."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return forked_seconds + sum(usage.ru_utime + usage.ru_stime for usage in usages)


def add_forked(seconds: float) -> None:
    """Count the processor time of a command that was forked from the template."""
    global forked_seconds
    forked_seconds += seconds


class _Clock:
    """Processor time since the last phase of a test in this process."""

    def __init__(self) -> None:
        self._last = used_seconds()

    def lap_seconds(self) -> float:
        now = used_seconds()
        lap, self._last = now - self._last, now
        return lap


_clock = _Clock()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart() -> None:
    """Begin a test in the process that runs it: what passed since the last one is not its own."""
    _clock.lap_seconds()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the processor time of a phase, and the reason of a long test, to its report."""
    report = yield
    marker = item.get_closest_marker(_REASON)
    reason = str(marker.args[0]) if marker else ""
    report.user_properties = [*report.user_properties, (_SECONDS, _clock.lap_seconds()), (_REASON, reason)]
    return report


class Times:
    """The processor times of the tests that have ended, as the process that shows results receives them."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.reasons: dict[str, str] = {}

    def add(self, test: str, properties: list[tuple[str, object]]) -> None:
        """Add a phase of a test."""
        for name, value in properties:
            if name == _SECONDS:
                self.seconds[test] += float(str(value))
            elif name == _REASON and value:
                self.reasons[test] = str(value)

    def over_budget(self) -> list[str]:
        """The tests over the budget that give no reason, the slowest first."""
        slow = [test for test, seconds in self.seconds.items() if seconds > BUDGET_SECONDS and test != ENDS]
        return sorted((test for test in slow if test not in self.reasons), key=lambda test: -self.seconds[test])

    def lines(self) -> Iterator[str]:
        """The slowest tests, the share of each folder and file, and the total."""
        total = sum(self.seconds.values()) or 1.0
        yield f"{'seconds':>8}  slowest tests"
        for test in sorted(self.seconds, key=lambda test: -self.seconds[test])[:SHOWN]:
            yield f"{self.seconds[test]:8.2f}  {test}  {self.reasons.get(test, '')}".rstrip()
        for title, depth in (("folders", 2), ("files", None)):
            yield f"\n{'seconds':>8} {'share':>6} {'tests':>6}  {title}"
            grouped = self._grouped(depth)
            for path, (seconds, tests) in sorted(grouped.items(), key=lambda one: -one[1][0])[:SHOWN]:
                yield f"{seconds:8.1f} {seconds / total:6.1%} {tests:6}  {path}"
        yield f"{total:8.1f}  processor seconds of {len(self.seconds.keys() - {ENDS})} tests"

    def _grouped(self, depth: int | None) -> dict[str, tuple[float, int]]:
        """Seconds and tests by file, or by the first `depth` parts of its folder."""
        grouped: dict[str, tuple[float, int]] = {}
        for test, seconds in self.seconds.items():
            file = PurePath(test.partition("::")[0])
            path = str(file) if depth is None else str(PurePath(*file.parent.parts[:depth]))
            before = grouped.get(path, (0.0, 0))
            grouped[path] = (before[0] + seconds, before[1] + 1)
        return grouped


_times = Times()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add a phase of a test, in whichever process it ran."""
    _times.add(ENDS if report.when == "teardown" else report.nodeid, report.user_properties)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the times."""
    terminalreporter.section("processor times")
    for line in _times.lines():
        terminalreporter.write_line(line)
    for test in _times.over_budget():
        terminalreporter.write_line(
            f"over {BUDGET_SECONDS:g} s: {test}: make it faster, move it to the longer checks, "
            'or give the reason with @pytest.mark.long("...")'
        )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail if a test is over the budget."""
    if _times.over_budget() and session.exitstatus == 0:
        session.exitstatus = 1
