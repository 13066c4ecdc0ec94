"""The bounds of bandwidth tests: those of the machine that a store describes, as far as it describes one.

A system profile has everything that bounds a test; the compiled half knows what. Without one, as for an imported
measurement, there is the link, and what the run's own latencies say of tags. Such a latency includes what the card
does before it sends and after it received, so that a value may be above that bound.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pcielab import model
from pcielab.analysis.explain.facts import Facts
from pcielab.model.addresses import with_addresses
from pcielab.model.answers import Answer
from pcielab.model.answers import TestBounds as SystemBounds
from pcielab.model.questions import system_bounds

_RATE_OF = {"bw-rd": "read", "bw-wr": "write", "bw-rdwr": "rdwr"}


@dataclass(frozen=True)
class RoundTrip:
    """How long a read request holds its tag, and what says so."""

    ns: float
    source: str


@dataclass(frozen=True)
class TestBounds:
    """What bounds a test: the bound that binds with all others, and what its tags are charged with."""

    __test__ = False  # Not a test of pytest's.

    answer: Answer
    round_trip: RoundTrip | None


def bounds_of_tests(
    facts: Facts, tests: Sequence[Mapping[str, Any]], latencies: Iterable[Mapping[str, Any]] = ()
) -> list[TestBounds | None]:
    """What bounds each test; None for a test that has no bound: one of latency, or one that cannot be run.

    Args:
        facts: The machine.
        tests: Parameters of tests, as a store has them.
        latencies: Records of the run's latency tests; looked at where there is no system profile.
    """
    if facts.system is not None:
        return _of_system(facts.system.model_dump_json(), tests)
    known = _Latencies(latencies)
    return [_of_link(facts, test, known) if test["operation"] in _RATE_OF else None for test in tests]


def _of_system(system: str, tests: Sequence[Mapping[str, Any]]) -> list[TestBounds | None]:
    def told(found: SystemBounds | None) -> TestBounds | None:
        if found is None:
            return None
        held = None if found.round_trip_ns is None else RoundTrip(found.round_trip_ns, "the system's profile")
        return TestBounds(found.answer, held)

    return [told(found) for found in system_bounds(system, tests)]


def _of_link(facts: Facts, test: Mapping[str, Any], latencies: "_Latencies") -> TestBounds:
    round_trip = None
    if test["operation"] != "bw-wr":
        round_trip = latencies.round_trip(test, min(test["size_bytes"], facts.link.mrrs_bytes))
    limits = model.Limits(
        round_trip_ns=round_trip.ns if round_trip else None,
        tags=facts.tags if round_trip else None,
        # A write is done for the card when it has left: it does not wait for a round trip.
        dmas_in_flight=test["outstanding"] if round_trip and test["operation"] == "bw-rd" else None,
    )

    def ask(link: model.Link) -> list[Answer]:
        rows = model.bandwidth(link, [test["size_bytes"]], limits=limits, offset_bytes=test["host_offset_bytes"])
        return [getattr(row, _RATE_OF[test["operation"]]) for row in rows]

    [answer] = with_addresses(facts.model_link, facts.low_share(test), ask)
    return TestBounds(answer, round_trip)


class _Latencies:
    """The latencies of reads in a run: those of aligned transfers, by size."""

    def __init__(self, records: Iterable[Mapping[str, Any]]) -> None:
        self._rows: dict[int, list[tuple[Mapping[str, Any], RoundTrip]]] = {}
        for record in records:
            parameters = record["parameters"]
            median = scalar(record, "median")
            if parameters["operation"] != "lat-rd" or _is_unaligned(parameters) or not median:
                continue
            source = f"{record['name']} {parameters['size_bytes']} B, test {record['id']}"
            held = RoundTrip(median, source)
            self._rows.setdefault(parameters["size_bytes"], []).append((parameters, held))

    def round_trip(self, test: Mapping[str, Any], request_bytes: int) -> RoundTrip | None:
        """The round trip of a request of a test; None if the run has no latency of a request as long, or shorter.

        Rows of the test's own window and cache state come first; of several, the fastest.
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
    """A number of a test as a whole, if it has it."""
    if record["status"] != "ok":
        return None
    for row in record["scalars"]:
        if row["metric"] == metric and not row["subject"]:
            return float(row["value"])
    return None


def _is_unaligned(test: Mapping[str, Any]) -> bool:
    return bool(test["host_offset_bytes"] or test["device_offset_bytes"])
