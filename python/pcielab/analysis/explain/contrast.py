"""Why two runs differ: the values in which their systems differ, and the effect of each on its own.

For each test of two simulated runs of transfers, the first system is simulated unchanged, as the second system,
and with one difference at a time. The effects need not add up: the rest is reported. Runs of other kinds, and
measured ones, are shown as they are (`side_by_side`).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pcielab import _core
from pcielab.analysis.compare import Difference, compare
from pcielab.analysis.explain.moved import Contrast, Moved
from pcielab.analysis.explain.side_by_side import side_by_side
from pcielab.errors import InputError, refusal
from pcielab.kinds.explained import is_meant
from pcielab.kinds.rooms import room_of
from pcielab.kinds.transfers.compare import sort
from pcielab.library.profiles.parts import System
from pcielab.model.questions import system_bounds
from pcielab.store import Store
from pcielab.work.effort import EFFORT, Progress
from pcielab.work.running import available_cores

_SAME_SYSTEM = "one system, value by value: what differs comes from seed, suite, sampling or version"
LEAST_ROWS = 60
_MOST_SIMULATIONS = 600
"""Where no tests are chosen, those that differ most are simulated: as many as this allows, but `LEAST_ROWS`."""


def contrast(
    a: Store, b: Store, tests: Sequence[str] = (), progress: Progress = lambda _done, _total: None
) -> Contrast:
    """The tests of two runs on both machines, and the effect of their differences.

    Two simulated runs of transfers are simulated again with one difference at a time; of others, the values are
    their own.

    Args:
        a: The first run: its suite and seed are simulated again.
        b: The second.
        tests: Only these tests of the first: numbers, or parts of their family or name. Empty: those that differ
            most.
        progress: Called while tests are simulated.

    Raises:
        InputError: The runs are of different kinds or emulated, or no test is common to both.
    """
    first, second = _system(a), _system(b)
    if first is None or second is None or not all(room_of(run).explain.simulated_again for run in (a, b)):
        return side_by_side(a, b, tests)
    a.require_speed("explain")
    b.require_speed("explain")
    comparison = compare(a, b)
    apart = comparison.system_differences
    if not apart:
        return replace(side_by_side(a, b, tests), notes=[_SAME_SYSTEM])
    changes = _changes(first, apart)
    variants = [first, second, *(_with(first, change) for change in changes)]
    most_rows = max(LEAST_ROWS, _MOST_SIMULATIONS // len(variants))
    chosen, notes = _chosen(a, comparison.rows, tests, most_rows)
    return Contrast(changes, _simulated(a, chosen, variants, progress), notes)


def _simulated(
    run: Store, tests: Sequence[int], systems: Sequence[dict[str, Any]], progress: Progress
) -> list[Moved]:
    """The tests on each system: the first run's, the second's, and those with one change."""
    indices = sorted(tests)
    content = {"name": "contrast", "title": "contrast", "tests": _tests(run)}
    suite = _core.Suite.of_json("transfers", json.dumps(content))
    seed = int(run.manifest.get("seed") or 1)
    predictor = _core.Predictor(suite, indices, seed=seed, jobs=available_cores())
    wanted = [list(range(len(indices)))] * len(systems)
    handles = [System.of(system).handle for system in systems]
    found = json.loads(predictor.predict(handles, wanted, effort=json.dumps(EFFORT), progress=progress))
    records = {record["id"]: record for record in run.records()}
    asked = [records[test]["parameters"] for test in indices]
    bounds = list(zip(*(_bounds(system, asked) for system in systems[:2]), strict=True))
    rows = (_moved(records[test], [one[nth] for one in found], bounds[nth]) for nth, test in enumerate(indices))
    return [row for row in rows if row is not None]


def _system(store: Store) -> dict[str, Any] | None:
    """The complete system of a simulated run; None of a run without one."""
    try:
        return System.of(store.manifest.get("system") or {}).dump()
    except InputError:
        return None


def _tests(store: Store) -> list[dict[str, Any]]:
    return [
        {"family": record["family"], "name": record["name"], "parameters": record["parameters"]}
        for record in store.records()
    ]


def _chosen(store: Store, pairs: Any, tests: Sequence[str], most_rows: int) -> tuple[list[int], list[str]]:
    both = [int(test) for test in pairs["test_a"]]
    if tests:
        records = [
            dict(zip(("id", "family", "name"), row, strict=True))
            for row in store.tests[["id", "family", "name"]].itertuples(index=False)
        ]
        meant = {record["id"] for record in records if any(is_meant(wanted, record) for wanted in tests)}
        kept = [test for test in both if test in meant]
        if not kept:
            raise refusal(
                "not-found",
                f"--test {' '.join(tests)}: matches no test of both runs: give numbers or parts of names",
            )
        return kept, []
    latency = pairs["average_difference_ns"].abs() / pairs["average_a_ns"]
    size = (pairs["bandwidth_difference_percent"].abs() / 100).fillna(latency).fillna(0.0)
    most = [both[index] for index in size.to_numpy().argsort(kind="stable")[::-1][:most_rows]]
    left_out = len(both) - len(most)
    note = f"the {len(most)} tests that differ most; {left_out} others left out: choose with --test"
    return most, [note] if left_out else []


def _changes(system: dict[str, Any], apart: Sequence[Difference]) -> list[tuple[Difference, ...]]:
    """Differences one by one; those that give no valid system alone, together, with others that they need."""
    alone: list[tuple[Difference, ...]] = [(one,) for one in apart if _is_valid(_with(system, (one,)))]
    together = tuple(one for one in apart if (one,) not in alone)
    if not together:
        return alone
    for needed in [(), *alone]:
        if _is_valid(_with(system, (*needed, *together))):
            return [*(one for one in alone if one != needed), (*needed, *together)]
    return [tuple(apart)]


def _is_valid(system: dict[str, Any]) -> bool:
    try:
        System.of(system)
    except InputError:
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


def _moved(
    record: Mapping[str, Any], found: Sequence[dict[str, Any]], bounds: tuple[float | None, float | None]
) -> Moved | None:
    metric, unit = ("bandwidth_gbps", "Gb/s") if "bandwidth_gbps" in found[0] else ("average_ns", "ns")
    values = [one.get(metric) for one in found]
    if values[0] is None or values[1] is None:
        return None
    before = float(values[0])
    effects = tuple(0.0 if value is None else 100 * (value / before - 1) for value in values[2:])
    return Moved(
        test=record["id"],
        name=record["name"],
        parameters=record["parameters"],
        sort=sort(record["parameters"], unit == "ns"),
        unit=unit,
        a=before,
        b=float(values[1]),
        effects_percent=effects,
        bounds=bounds,
    )


def _bounds(system: dict[str, Any], tests: Sequence[Mapping[str, Any]]) -> list[float | None]:
    """The binding bound of each test on a system, Gb/s; None of a latency."""
    found = system_bounds(System.of(system).handle, tests)
    return [None if one is None else one.answer.gbps for one in found]
