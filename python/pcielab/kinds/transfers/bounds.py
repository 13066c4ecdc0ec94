"""The bounds of bandwidth tests on the machine that a store describes.

A system profile gives all bounds, computed by the compiled half. Without one, as for an imported measurement, the
link and the run's own latencies give those of wire and tags. A measured latency includes the device's time before
sending and after receiving, so a value may exceed its tags bound.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pcielab import _core, model
from pcielab.kinds.machine_facts import MachineFacts
from pcielab.model.answers import Answer, FlitTimes, LinkReplays, TestBounds as SystemBounds
from pcielab.model.questions import system_bounds

_RATE_OF = {"bw-rd": "read", "bw-wr": "write", "bw-rdwr": "rdwr"}


@dataclass(frozen=True)
class RoundTrip:
    """How long a read request holds its tag, and the source of that time."""

    ns: float
    source: str


@dataclass(frozen=True)
class TestBounds:
    """The bounds of a test, and what they rest on.

    Attributes:
        answer: The bounds, the binding one first.
        round_trip: The round trip charged to its tags; None without reads.
        flits: In flit mode, what flits add to a read that is alone; None without reads.
        replays: What replays cost each direction while it is full; None on a link that damages nothing.
    """

    __test__ = False  # Not a test of pytest's.

    answer: Answer
    round_trip: RoundTrip | None
    flits: FlitTimes | None = None
    replays: LinkReplays | None = None


def bounds_of_tests(
    facts: MachineFacts, tests: Sequence[Mapping[str, Any]], latencies: Iterable[Mapping[str, Any]] = ()
) -> list[TestBounds | None]:
    """The bounds of each test, given its parameters; None for latency tests and tests that the system cannot run.

    Without a system profile, `latencies`, records of the run's latency tests, give the bounds of tags.
    """
    if facts.system is not None:
        return _of_system(facts.system.handle, tests)
    known = _Latencies(latencies)
    return [_of_link(facts, test, known) if test["operation"] in _RATE_OF else None for test in tests]


def _of_system(system: _core.System, tests: Sequence[Mapping[str, Any]]) -> list[TestBounds | None]:
    def with_source(found: SystemBounds | None) -> TestBounds | None:
        if found is None:
            return None
        held = None if found.round_trip_ns is None else RoundTrip(found.round_trip_ns, "the system's profile")
        return TestBounds(found.answer, held, found.flits, found.replays)

    return [with_source(found) for found in system_bounds(system, tests)]


def _of_link(facts: MachineFacts, test: Mapping[str, Any], latencies: "_Latencies") -> TestBounds:
    round_trip = None
    if test["operation"] != "bw-wr":
        round_trip = latencies.round_trip(test, min(test["size_bytes"], facts.link.mrrs_bytes))
    limits = model.Limits(
        round_trip_ns=round_trip.ns if round_trip else None,
        tags=facts.tags if round_trip else None,
        # A posted write does not wait for a round trip.
        dmas_in_flight=test["outstanding"] if round_trip and test["operation"] == "bw-rd" else None,
    )

    [row] = model.bandwidth(
        facts.model_link,
        [test["size_bytes"]],
        limits=limits,
        offset_bytes=test["host_offset_bytes"],
        low_share=facts.low_share(test),
    )
    return TestBounds(getattr(row, _RATE_OF[test["operation"]]), round_trip)


_LEAST_NS = 1e-9
"""Shortest round trip that the model takes; a shorter median is none."""


class _Latencies:
    """The latencies of a run's aligned reads, by size."""

    def __init__(self, records: Iterable[Mapping[str, Any]]) -> None:
        self._rows: dict[int, list[tuple[Mapping[str, Any], RoundTrip]]] = {}
        for record in records:
            parameters = record["parameters"]
            median = scalar(record, "median")
            if parameters["operation"] != "lat-rd" or _is_unaligned(parameters):
                continue
            if median is None or median < _LEAST_NS:
                continue
            source = f"{record['name']} {parameters['size_bytes']} B, test {record['id']}"
            held = RoundTrip(median, source)
            self._rows.setdefault(parameters["size_bytes"], []).append((parameters, held))

    def round_trip(self, test: Mapping[str, Any], request_bytes: int) -> RoundTrip | None:
        """The fastest round trip of the largest reads up to a request's size; None if the run has none.

        Rows with the test's window and cache state are preferred.
        """
        size = max((size for size in self._rows if size <= request_bytes), default=None)
        if size is None:
            return None
        rows = self._rows[size]
        alike = [
            held
            for parameters, held in rows
            if all(parameters[key] == test[key] for key in ("cache", "window_bytes"))
        ]
        return min(alike or [held for _, held in rows], key=lambda held: held.ns)


def scalar(record: Mapping[str, Any], metric: str) -> float | None:
    """A metric of a whole test, if it has it."""
    if record["status"] != "ok":
        return None
    for row in record["scalars"]:
        if row["metric"] == metric and not row["subject"]:
            return float(row["value"])
    return None


def _is_unaligned(test: Mapping[str, Any]) -> bool:
    return bool(test["host_offset_bytes"] or test["device_offset_bytes"])
