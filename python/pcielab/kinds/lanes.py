"""The trace of a test as tracks of slices that nest, and counters: what exports and pictures draw.

A lane of the trace (`device`, `link up`, `iommu`...) is a group of tracks: one for each tag in flight, and more
where slices would overlap without nesting. Times are whole nanoseconds, the resolution of readers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pcielab.errors import refusal
from pcielab.store import Store

LANES = ("core", "device", "link up", "root port", "iommu", "cache", "memory", "link down")
"""Lanes of a machine in the order of pictures; a memory expander and a fabric have others."""
COUNTERS = "counters"


@dataclass(frozen=True)
class Slice:
    """A TLP or a phase.

    Attributes:
        name: Its name with its bytes, if it has any: `MRd 512 B`.
        start_ns: Start, whole nanoseconds from the start of the test.
        end_ns: End.
        details: What the trace has beside: request, tag, address, bytes, start_ps, end_ps.
    """

    name: str
    start_ns: int
    end_ns: int
    details: dict[str, Any]


@dataclass
class Lane:
    """A line of slices, which nest.

    Attributes:
        group: The lane of the trace.
        name: The same with its tag, or its number among several.
        slices: In the order of their starts, a whole before its parts.
    """

    group: str
    name: str
    slices: list[Slice] = field(default_factory=list)
    _open: list[int] = field(default_factory=list)

    def takes(self, one: Slice) -> bool:
        """Whether a slice that starts after all others nests in them or follows them; then it is open."""
        while self._open and self._open[-1] <= one.start_ns:
            self._open.pop()
        if self._open and self._open[-1] < one.end_ns:
            return False
        self._open.append(one.end_ns)
        self.slices.append(one)
        return True


@dataclass(frozen=True)
class Counter:
    """A counter: its name, and its values from times on."""

    name: str
    values: Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Traced:
    """The trace of a test as lanes and counters."""

    lanes: Sequence[Lane]
    counters: Sequence[Counter]


def traced_tests(store: Store) -> list[dict[str, Any]]:
    """The finished tests of a run, each with an `id`, that have a trace.

    Raises:
        InputError: The run kept none.
    """
    found = [test for test in store.test_rows() if store.trace_ns is not None and test["status"] == "ok"]
    if not found:
        raise refusal("missing", f"{store.path}: has no trace: run it with --trace 20us")
    return found


def chosen_test(store: Store, number: int | None) -> dict[str, Any]:
    """The traced test of a number; without one, the first.

    Raises:
        InputError: The run has no trace, or none of this test.
    """
    tests = traced_tests(store)
    chosen = tests[0] if number is None else next((test for test in tests if test["id"] == number), None)
    if chosen is None:
        numbers = f"{tests[0]['id']} to {tests[-1]['id']}" if len(tests) > 1 else str(tests[0]["id"])
        raise refusal("not-found", f"--test {number}: {store.path} has no trace of it: give {numbers}")
    return chosen


def segments_of(store: Store, test: int) -> Iterator[dict[str, Any]]:
    """The rows of the trace of a test, without the columns that are empty."""
    columns = store.trace_columns(test)
    for values in zip(*columns.values(), strict=True):
        yield {name: value for name, value in zip(columns, values, strict=True) if value is not None}


def trace_of(store: Store, test: int) -> Traced:
    """The trace of a test as lanes, each tag of a lane its own, and counters."""
    values: dict[str, list[tuple[int, int]]] = {}
    slices: dict[tuple[str, int | None], list[Slice]] = {}
    for row in segments_of(store, test):
        start, end = _ns(row["start_ps"]), _ns(row["end_ps"])
        if row["kind"] == "counter":
            values.setdefault(row["name"], []).append((start, row["value"]))
            continue
        group, tag = row["lane"], row.get("tag")
        # TLPs follow one another on a link, whatever their tags are.
        key = (group, None if row["kind"] == "tlp" else tag)
        details = {name: row[name] for name in row.keys() - {"kind", "lane", "name"}}
        slices.setdefault(key, []).append(Slice(_named(row), start, end, dict(sorted(details.items()))))
    lanes = [lane for key in sorted(slices, key=_order) for lane in _nested(key, slices[key])]
    return Traced(lanes, [Counter(name, values[name]) for name in sorted(values)])


def _ns(time_ps: int) -> int:
    return (time_ps + 500) // 1000


def _named(row: dict[str, Any]) -> str:
    return f"{row['name']} {row['bytes']} B" if row.get("bytes") else str(row["name"])


def _order(key: tuple[str, int | None]) -> tuple[int, str, int]:
    group, tag = key
    position = LANES.index(group) if group in LANES else len(LANES)
    return position, group, -1 if tag is None else tag


def _nested(key: tuple[str, int | None], slices: Sequence[Slice]) -> list[Lane]:
    """The slices of a lane, or of a tag of it, on as many tracks as they need to nest."""
    group, tag = key
    name = group if tag is None else f"{group}, tag {tag}"
    lanes: list[Lane] = []
    for one in sorted(slices, key=lambda one: (one.start_ns, -one.end_ns)):
        if not any(lane.takes(one) for lane in lanes):
            more = f" ({len(lanes) + 1})" if lanes else ""
            lanes.append(Lane(group, f"{name}{more}"))
            lanes[-1].takes(one)
    return lanes
