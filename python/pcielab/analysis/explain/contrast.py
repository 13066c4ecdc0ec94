"""Why two runs differ: the values that their systems do not share, and what each of them moves by itself.

For each test that both runs have, the first system is simulated as it is, as the second one, and with one
difference at a time. What these do one by one need not add up to what they do together: the rest is said.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic import ValidationError

from pcielab import _core
from pcielab.analysis.compare import Difference, compare
from pcielab.errors import InputError
from pcielab.library.profiles.parts import System
from pcielab.store import Store
from pcielab.work.running import available_cores

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the tests simulated, and their number."""

MOST_ROWS = 60
"""Tests that are simulated where none are chosen: those that differ most."""
_EFFORT = {"latency_samples": 4096, "bandwidth_transactions": 32768}


@dataclass(frozen=True)
class Moved:
    """A test of both runs, and what moves it.

    Attributes:
        test: Its number in the first run.
        name: Its published name.
        parameters: What was asked for.
        unit: Of the values: `Gb/s`, or `ns` of an average latency.
        a: Simulated on the first system.
        b: Simulated on the second.
        effects_percent: What each change by itself does to `a`, in the order of `Contrast.changes`.
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
        """What all changes together do."""
        return 100 * (self.b / self.a - 1)

    @property
    def rest_percent(self) -> float:
        """What they do together beyond the sum of what each does alone."""
        return self.change_percent - sum(self.effects_percent)


@dataclass(frozen=True)
class Contrast:
    """Two systems, and what their differences do to the tests of both runs.

    Attributes:
        changes: Differences that were tried by themselves, each as one or more keys: where a value makes no sense
            without another, they are changed together.
        rows: The tests, in the order of the first run.
        notes: What was left out.
    """

    changes: list[tuple[Difference, ...]]
    rows: list[Moved]
    notes: list[str]


def contrast(
    a: Store, b: Store, tests: Sequence[str] = (), progress: Progress = lambda _done, _total: None
) -> Contrast:
    """What the differences between the systems of two runs do, one at a time.

    Args:
        a: The first run: its suite and seed are simulated again.
        b: The second.
        tests: Only these tests of the first: numbers, or parts of their family or name. The ones that differ most,
            if empty.
        progress: Called again and again while tests are simulated.

    Raises:
        InputError: A run has no complete system profile, they do not differ, or have no such test in common.
    """
    first, second = _system(a), _system(b)
    comparison = compare(a, b)
    apart = comparison.system_differences
    if not apart:
        raise InputError(
            f"{a.path} and {b.path}: are of the same system, value by value: what differs is the seed, the suite, "
            "the sampling or the version"
        )
    pairs = comparison.rows
    chosen, notes = _chosen(a, pairs, tests)
    changes = _changes(first, apart)
    variants = [first, second, *(_with(first, change) for change in changes)]
    places = sorted(int(test) for test in chosen)
    suite = {"name": "contrast", "title": "contrast", "tests": _tests(a)}
    seed = int(a.manifest.get("seed") or 1)
    predictor = _core.Predictor(json.dumps(suite), places, seed=seed, jobs=available_cores())
    wanted = [list(range(len(places)))] * len(variants)
    found = json.loads(
        predictor.predict(json.dumps(variants), wanted, effort=json.dumps(_EFFORT), progress=progress)
    )
    rows = [row for nth, place in enumerate(places) if (row := _moved(a, place, [one[nth] for one in found]))]
    return Contrast(changes, rows, notes)


def _system(store: Store) -> dict[str, Any]:
    described = store.manifest.get("system")
    try:
        return System.model_validate(described).model_dump(mode="json")
    except ValidationError:
        raise InputError(
            f"{store.path}: has no complete system profile, so that one change at a time cannot be simulated: "
            "give two simulated runs; `pcielab calibrate` makes a system of a measured one, `pcielab compare` "
            "puts any two side by side"
        ) from None


def _tests(store: Store) -> list[dict[str, Any]]:
    return [
        {"family": record["family"], "name": record["name"], "parameters": record["parameters"]}
        for record in store.records()
    ]


def _chosen(store: Store, pairs: Any, tests: Sequence[str]) -> tuple[list[int], list[str]]:
    names = store.tests["family"] + " " + store.tests["name"]
    both = [int(test) for test in pairs["test_a"]]
    if tests:
        meant = {
            int(test)
            for test, name in zip(store.tests["id"], names, strict=True)
            for wanted in tests
            if (wanted == str(test) if wanted.isdecimal() else wanted.lower() in name.lower())
        }
        kept = [test for test in both if test in meant]
        if not kept:
            raise InputError(f"--test {' '.join(tests)}: both runs have no such test in common")
        return kept, []
    latency = pairs["average_difference_ns"].abs() / pairs["average_a_ns"]
    size = (pairs["bandwidth_difference_percent"].abs() / 100).fillna(latency).fillna(0.0)
    most = [both[place] for place in size.to_numpy().argsort(kind="stable")[::-1][:MOST_ROWS]]
    left_out = len(both) - len(most)
    note = f"the {len(most)} tests that differ most; {left_out} others left out: choose with --test"
    return most, [note] if left_out else []


def _changes(system: dict[str, Any], apart: Sequence[Difference]) -> list[tuple[Difference, ...]]:
    """Differences one by one; those that no system can have alone, together."""
    alone: list[tuple[Difference, ...]] = [(one,) for one in apart if _can_be(_with(system, (one,)))]
    together = tuple(one for one in apart if (one,) not in alone)
    return [*alone, together] if together and _can_be(_with(system, together)) else alone


def _can_be(system: dict[str, Any]) -> bool:
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
