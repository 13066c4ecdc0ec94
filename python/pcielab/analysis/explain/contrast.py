"""Why two runs differ: the values in which their systems differ, and the effect of each on its own.

For each test of both runs, the first system is simulated unchanged, as the second system, and with one difference
at a time. The effects need not add up: the rest is reported.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic import ValidationError

from pcielab import _core
from pcielab.analysis.compare import Difference, compare
from pcielab.analysis.explain.rows import is_meant
from pcielab.errors import InputError
from pcielab.library.profiles.parts import System
from pcielab.store import Store
from pcielab.work.running import available_cores

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the tests simulated, and their total."""

MOST_ROWS = 60
"""Most tests simulated where none are chosen: those that differ most."""
_EFFORT = {"latency_samples": 4096, "bandwidth_transactions": 32768}


@dataclass(frozen=True)
class Moved:
    """A test of both runs, and the effect of each change on it.

    Attributes:
        test: Its number in the first run.
        name: Its published name.
        parameters: Its parameters.
        unit: `Gb/s` for bandwidth, `ns` for average latency.
        a: Value simulated on the first system.
        b: Value simulated on the second.
        effects_percent: Effect of each single change on `a`, in the order of `Contrast.changes`.
    """

    test: int
    name: str
    parameters: dict[str, Any]
    unit: str
    a: float
    b: float
    effects_percent: tuple[float, ...]

    @property
    def change_percent(self) -> float:
        """The effect of all changes together."""
        return 100 * (self.b / self.a - 1)

    @property
    def rest_percent(self) -> float:
        """Their joint effect beyond the sum of the single ones."""
        return self.change_percent - sum(self.effects_percent)


@dataclass(frozen=True)
class Contrast:
    """The effects of two systems' differences on the tests of both runs.

    Attributes:
        changes: Differences, tried one at a time; values that make no sense alone change together.
        rows: The tests, in the order of the first run.
        notes: Omissions.
    """

    changes: list[tuple[Difference, ...]]
    rows: list[Moved]
    notes: list[str]


def contrast(
    a: Store, b: Store, tests: Sequence[str] = (), progress: Progress = lambda _done, _total: None
) -> Contrast:
    """Simulate the differences between the systems of two runs, one at a time.

    Args:
        a: The first run: its suite and seed are simulated again.
        b: The second.
        tests: Only these tests of the first: numbers, or parts of their family or name. Empty: those that differ
            most.
        progress: Called while tests are simulated.

    Raises:
        InputError: A run has no complete system profile, the systems are equal, or no test is common to both.
    """
    first, second = _system(a), _system(b)
    comparison = compare(a, b)
    apart = comparison.system_differences
    if not apart:
        raise InputError(
            f"{a.path} and {b.path}: are of the same system, value by value: compare their seeds, suites, "
            "sampling and versions"
        )
    pairs = comparison.rows
    chosen, notes = _chosen(a, pairs, tests)
    changes = _changes(first, apart)
    variants = [first, second, *(_with(first, change) for change in changes)]
    indices = sorted(int(test) for test in chosen)
    suite = {"name": "contrast", "title": "contrast", "tests": _tests(a)}
    seed = int(a.manifest.get("seed") or 1)
    predictor = _core.Predictor(json.dumps(suite), indices, seed=seed, jobs=available_cores())
    wanted = [list(range(len(indices)))] * len(variants)
    found = json.loads(
        predictor.predict(json.dumps(variants), wanted, effort=json.dumps(_EFFORT), progress=progress)
    )
    rows = [row for nth, test in enumerate(indices) if (row := _moved(a, test, [one[nth] for one in found]))]
    return Contrast(changes, rows, notes)


def _system(store: Store) -> dict[str, Any]:
    described = store.manifest.get("system")
    try:
        return System.model_validate(described).model_dump(mode="json")
    except ValidationError:
        raise InputError(
            f"{store.path}: has no complete system profile to simulate changes with: give two simulated runs; "
            "`pcielab calibrate` makes a system of a measured one, `pcielab compare` compares any two"
        ) from None


def _tests(store: Store) -> list[dict[str, Any]]:
    return [
        {"family": record["family"], "name": record["name"], "parameters": record["parameters"]}
        for record in store.records()
    ]


def _chosen(store: Store, pairs: Any, tests: Sequence[str]) -> tuple[list[int], list[str]]:
    both = [int(test) for test in pairs["test_a"]]
    if tests:
        records = [
            dict(zip(("id", "family", "name"), row, strict=True))
            for row in store.tests[["id", "family", "name"]].itertuples(index=False)
        ]
        meant = {record["id"] for record in records if any(is_meant(wanted, record) for wanted in tests)}
        kept = [test for test in both if test in meant]
        if not kept:
            raise InputError(
                f"--test {' '.join(tests)}: matches no test of both runs: give numbers or parts of names"
            )
        return kept, []
    latency = pairs["average_difference_ns"].abs() / pairs["average_a_ns"]
    size = (pairs["bandwidth_difference_percent"].abs() / 100).fillna(latency).fillna(0.0)
    most = [both[index] for index in size.to_numpy().argsort(kind="stable")[::-1][:MOST_ROWS]]
    left_out = len(both) - len(most)
    note = f"the {len(most)} tests that differ most; {left_out} others left out: choose with --test"
    return most, [note] if left_out else []


def _changes(system: dict[str, Any], apart: Sequence[Difference]) -> list[tuple[Difference, ...]]:
    """Differences one by one; those that give no valid system alone, together."""
    alone: list[tuple[Difference, ...]] = [(one,) for one in apart if _is_valid(_with(system, (one,)))]
    together = tuple(one for one in apart if (one,) not in alone)
    return [*alone, together] if together and _is_valid(_with(system, together)) else alone


def _is_valid(system: dict[str, Any]) -> bool:
    try:
        _core.check_system(System.model_validate(system).model_dump_json())
    except (ValidationError, _core.InputError):
        return False
    return True


def _with(system: dict[str, Any], change: Sequence[Difference]) -> dict[str, Any]:
    changed: dict[str, Any] = json.loads(json.dumps(system))
    for one in change:
        *parents, last = one.key.split(".")
        table: Any = changed
        for step in parents:
            if table.get(step) is None:
                table[step] = {}
            table = table[step]
        table[last] = one.b
    return changed


def _moved(store: Store, test: int, found: Sequence[dict[str, Any]]) -> Moved | None:
    row = store.tests.loc[store.tests["id"] == test].iloc[0]
    record = {str(key): value for key, value in row.items()}
    metric, unit = ("bandwidth_gbps", "Gb/s") if "bandwidth_gbps" in found[0] else ("average_ns", "ns")
    values = [one.get(metric) for one in found]
    if values[0] is None or values[1] is None:
        return None
    before = float(values[0])
    effects = tuple(0.0 if value is None else 100 * (value / before - 1) for value in values[2:])
    return Moved(test, str(record["name"]), record, unit, before, float(values[1]), effects)
