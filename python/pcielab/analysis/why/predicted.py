"""Tests of transfers, simulated on changed systems.

Stands alone: every question of `why` about transfers simulates by it.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from pcielab import _core
from pcielab.library.profiles.parts import System
from pcielab.work.effort import EFFORT, Progress
from pcielab.work.running import available_cores

Case: TypeAlias = tuple[System, Mapping[str, Any]]
"""A system, and the parameters of a test on it."""

_SEED = 1
_FEW = 40
_EFFORT_OF_FEW = {"latency_samples": 16384, "bandwidth_transactions": 524288}
"""Few cases are simulated for longer: buffers that fill at the start weigh less, as in a run."""


def no_progress(_done: int, _total: int) -> None:
    """Show nothing."""


def predicted(cases: Sequence[Case], progress: Progress = no_progress) -> list[float | None]:
    """The value of each case: Gb/s, or average ns of a test of latency; None if the system cannot run it."""
    tests: list[Mapping[str, Any]] = []
    for _, parameters in cases:
        if parameters not in tests:
            tests.append(parameters)
    if not tests:
        return []
    listed = [{"family": "why", "name": "why", "parameters": dict(one)} for one in tests]
    content = json.dumps({"name": "why", "title": "why", "tests": listed})
    suite = _core.Suite.of_json("transfers", content)
    predictor = _core.Predictor(suite, [*range(len(tests))], seed=_SEED, jobs=available_cores())
    effort = _EFFORT_OF_FEW if len(cases) <= _FEW else EFFORT
    systems = [system.handle for system, _ in cases]
    wanted = [[tests.index(parameters)] for _, parameters in cases]
    found = json.loads(predictor.predict(systems, wanted, effort=json.dumps(effort), progress=progress))
    return [one[0].get("bandwidth_gbps", one[0].get("average_ns")) for one in found]


def is_possible(parameters: Mapping[str, Any]) -> bool:
    """Whether a test is possible: its window holds a transfer, for example."""
    try:
        _core.check_test(json.dumps(dict(parameters)))
    except _core.InputError:
        return False
    return True
