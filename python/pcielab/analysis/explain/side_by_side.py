"""Two runs of any kind as they are: the values of their tests, and the values in which their machines differ.

Nothing is simulated again, so that a change of a test is that of all differences together.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pcielab.analysis.compare import Comparison, Difference, compare
from pcielab.analysis.explain.moved import Contrast, Moved
from pcielab.analysis.explain.run import explain_rows
from pcielab.errors import InputError, refusal
from pcielab.kinds.explained import matching
from pcielab.kinds.rooms import room_of
from pcielab.store import Store

_PROFILES = ("system", "nic", "messages")
"""Keys of a manifest that describe the machine."""
_UNTOLD = frozenset(
    {
        *("name", "title", "calibrated", "host.name", "device.name", "fabric.name"),
        *("nic.description", "nic.provenance", "messages.name"),
    }
)
"""Keys that change no number."""


def side_by_side(a: Store, b: Store, tests: Sequence[str] = ()) -> Contrast:
    """The tests of both runs with their own values.

    Raises:
        InputError: The runs are of different kinds or emulated, or no test is common to both.
    """
    a.require_speed("explain")
    b.require_speed("explain")
    comparison = compare(a, b)
    apart = differences_of(a, b)
    chosen = set(matching(a, tests))
    rows = list(_rows(comparison, chosen, joint=bool(apart)))
    if not rows:
        if tests:
            raise refusal(
                "not-found",
                f"--test {' '.join(tests)}: matches no test of both runs: give numbers or parts of names",
            )
        raise refusal(
            "missing", f"{a.path} and {b.path}: have no test in common with results: give runs of one suite"
        )
    # Both profiles are known, or a list of differences would name the keys of one.
    known = all(any(store.manifest.get(key) for key in _PROFILES) for store in (a, b))
    note = "" if known else "a run without a profile: the values in which the machines differ are not known"
    return Contrast([tuple(apart)] if apart else [], rows, [note] if note else [], a.kind, simulated=False)


def differences_of(a: Store, b: Store) -> list[Difference]:
    """The values in which the machines of two runs differ; none where one run does not describe its own."""
    first, second = ({key: _by_name(store.manifest.get(key)) for key in _PROFILES} for store in (a, b))
    return [
        one
        for key in _PROFILES
        if first[key] and second[key]
        for one in _apart("" if key == "system" else key, first[key], second[key])
        if one.key not in _UNTOLD
    ]


def _apart(key: str, first: Any, second: Any) -> Iterator[Difference]:
    """The differences of two tables; a table that one side lacks is one difference."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        for inner in dict.fromkeys([*first, *second]):
            yield from _apart(f"{key}.{inner}".removeprefix("."), first.get(inner), second.get(inner))
    elif first != second:
        yield Difference(key, *("present" if isinstance(one, Mapping) else one for one in (first, second)))


def _by_name(value: Any) -> Any:
    """A profile with its lists of named tables as tables, so that their entries are compared one by one."""
    if isinstance(value, Mapping):
        return {key: _by_name(inner) for key, inner in value.items()}
    if isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
        names = [_name_of(one) for one in value]
        if len(set(names)) == len(names):
            return {name: _by_name(one) for name, one in zip(names, value, strict=True)}
    return value


def _name_of(table: Mapping[str, Any]) -> str:
    """What names an entry of a list: its name, its ends, or the path and words of a NIC's step."""
    named = [table.get(key) for key in ("name", "upper", "lower", "path", "what")]
    return " ".join(str(one) for one in named if one is not None)


def _rows(comparison: Comparison, chosen: set[int], *, joint: bool) -> Iterator[Moved]:
    limits = [_limits(store) for store in (comparison.a, comparison.b)]
    tests, of = comparison.a.tests, room_of(comparison.a).compare
    operations = dict(zip(tests["id"], tests["operation"], strict=True)) if "operation" in tests else {}
    for row in comparison.rows.to_dict("records"):
        test = int(row["test_a"])
        found = _values(row, of.rate_unit)
        if test not in chosen or found is None:
            continue
        unit, first, second = found
        change = 100 * (second / first - 1) if first else 0.0
        parameters = {str(key): _plain(value) for key, value in row.items() if _is_asked(str(key))}
        if test in operations:
            parameters["operation"] = operations[test]
        key_of = (row.get("flow"), unit)
        yield Moved(
            test=test,
            name=str(row["name"]),
            parameters=parameters,
            sort=of.sort({**parameters, "name": str(row["name"])}, unit == "ns"),
            unit=unit,
            a=first,
            b=second,
            effects_percent=(change,) if joint else (),
            bounds=(limits[0].get((test, *key_of)), limits[1].get((int(row["test_b"]), *key_of))),
        )


def _values(row: Mapping[Any, Any], rate_unit: tuple[str, float]) -> tuple[str, float, float] | None:
    """Unit and both values of a pair: rates in `rate_unit`, a name and its size in Gb/s; latencies in ns."""
    for metric, unit in (("bandwidth", "gbps"), ("median", "ns"), ("average", "ns")):
        first, second = (row.get(f"{metric}_{side}_{unit}") for side in "ab")
        alone = metric == "bandwidth" and row.get("pace") == "alone"
        if first is not None and second is not None and first == first and second == second and not alone:
            name, gbps = ("ns", 1.0) if unit == "ns" else rate_unit
            return name, float(first / gbps), float(second / gbps)
    return None


def _limits(store: Store) -> dict[tuple[Any, ...], float]:
    """The binding limit of each test, or flow, of a run."""
    try:
        rows = explain_rows(store).rows
    except InputError:
        return {}
    return {(row.test, row.asked.get("flow"), row.unit): row.limits[0].value for row in rows if row.limits}


def _is_asked(column: str) -> bool:
    parts = ("_a_", "_b_", "_difference_")
    hidden = ("test_a", "test_b", "occurrence", "origin_a", "origin_b", "family", "name")
    return column not in hidden and not any(part in column for part in parts) and "standard_error" not in column


def _plain(value: Any) -> Any:
    """A cell of a frame as a plain value, None where it is missing."""
    return None if value is None or value != value else value.item() if hasattr(value, "item") else value
