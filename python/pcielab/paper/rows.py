"""Rows of runs of the paper's figures: those that measures read, found first, then simulated alone.

A test simulated alone has the history of its whole suite, so that its numbers are those of a whole run.
"""

from functools import cache
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from pcielab.charts.selection import matching
from pcielab.devices.running import simulate
from pcielab.library.profiles import resolve
from pcielab.library.suites import Suite, load_suite
from pcielab.paper.figures import run_of
from pcielab.store import Store
from pcielab.work.running import Progress, no_progress

_READ = ("bandwidth", "median", "p99")
"""Metrics that measures read."""
_STAND_IN = 1.0
"""A metric of a test that was not simulated."""


class Rows(Protocol):
    """Rows of runs, for measures."""

    def table(self, system: str, suite: str, **parameters: object) -> pd.DataFrame:
        """The rows of a suite on a system with these parameters, with their metrics."""

    def bins(self, system: str, suite: str, test: int) -> pd.DataFrame:
        """The distribution of a test: `latency_ns` and `count`."""

    def median_ns(self, system: str, single: Suite) -> float:
        """The median of a single test."""


class Needed:
    """Rows before their simulation: notes the positions of the tests that are read."""

    def __init__(self) -> None:
        self.positions: dict[tuple[str, str], set[int]] = {}

    def table(self, system: str, suite: str, **parameters: object) -> pd.DataFrame:
        """The rows, with stand-ins for metrics."""
        rows = matching(_tests(suite), **parameters)
        self.positions.setdefault((system, suite), set()).update(rows["id"])
        return rows.assign(**dict.fromkeys(_READ, _STAND_IN))

    def bins(self, system: str, suite: str, test: int) -> pd.DataFrame:
        """A distribution of one sample."""
        return pd.DataFrame({"latency_ns": [_STAND_IN], "count": [1]})

    def median_ns(self, system: str, single: Suite) -> float:
        """A stand-in."""
        return _STAND_IN


class Simulated:
    """Simulated rows, of stores in a folder that are written or completed as needed."""

    def __init__(self, folder: Path, needed: Needed, progress: Progress = no_progress) -> None:
        self._folder = folder
        self._needed = needed
        self._progress = progress
        folder.mkdir(parents=True, exist_ok=True)

    def table(self, system: str, suite: str, **parameters: object) -> pd.DataFrame:
        """The rows, simulated at the first call for this system and suite."""
        return matching(self._store(system, suite).scalars, **parameters)

    def bins(self, system: str, suite: str, test: int) -> pd.DataFrame:
        """The simulated distribution."""
        return self._store(system, suite).distribution(test)

    def median_ns(self, system: str, single: Suite) -> float:
        """The simulated median."""
        return float(simulate(resolve(system), single).frame.iloc[0]["median_ns"])

    @cache  # noqa: B019 (one object for one process)
    def _store(self, system: str, suite: str) -> Store:
        only = self._needed.positions[system, suite]
        return run_of(system, suite, self._folder, self._progress, only=only)


@cache
def _tests(suite: str) -> pd.DataFrame:
    """The tests of a suite, with their positions as `id`."""
    tests: list[dict[str, Any]] = load_suite(suite).tests
    return pd.DataFrame([{"id": number, **test["parameters"]} for number, test in enumerate(tests)])
