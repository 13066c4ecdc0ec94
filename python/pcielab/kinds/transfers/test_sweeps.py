"""The fit of a sweep recovers round trip and number in flight, and names the limit."""

from collections.abc import Mapping
from typing import Any

import pytest

from pcielab.kinds.transfers.sweeps import in_words, sweeps_of

IN_FLIGHT = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def sweep(size_bytes: int, round_trip_ns: float, most: float, first: int = 0) -> list[Mapping[str, Any]]:
    """A device that keeps `most` requests in flight, with a soft knee."""

    def rate(in_flight: int) -> float:
        line, level = in_flight / round_trip_ns, most / round_trip_ns
        return 1e9 * float((line**-3 + level**-3) ** (-1 / 3))

    return [
        {
            "id": first + number,
            "family": "bw_cmd_outstanding",
            "parameters": {
                "operation": "bw-rd",
                "path": "command",
                "pattern": "random",
                "cache": "host-warm",
                "size_bytes": size_bytes,
                "window_bytes": 1 << 20,
                "host_offset_bytes": 0,
                "outstanding": in_flight,
            },
            "scalars": [{"subject": "", "metric": "rate", "value": rate(in_flight)}],
        }
        for number, in_flight in enumerate(IN_FLIGHT)
    ]


def test_recovers_round_trip_and_number_in_flight() -> None:
    [found] = sweeps_of(sweep(256, 1200.0, 40.0), {})
    assert found.round_trip_ns.value == pytest.approx(1200, rel=0.01)
    assert found.in_flight.value == pytest.approx(40, rel=0.01)
    assert found.level_gbps == pytest.approx(8 * 256 * 40 / 1200, rel=0.01)
    assert found.round_trip_ns.low <= found.round_trip_ns.value <= found.round_trip_ns.high
    assert found.worst < 0.01
    assert found.holds == "in-flight"
    assert "held by N requests in flight over T" in in_words(found)


def test_wire_holds_a_level_near_it() -> None:
    [found] = sweeps_of(sweep(256, 1200.0, 40.0), {3: 8 * 256 * 40 / 1200 / 0.97})
    assert found.holds == "wire"


def test_issue_rate_holds_sizes_with_equal_request_rates() -> None:
    found = sweeps_of([*sweep(64, 1000.0, 50.0), *sweep(128, 1040.0, 52.0, first=20)], {})
    assert [each.holds for each in found] == ["issue-rate", "issue-rate"]


def test_reports_a_sweep_that_ends_before_the_level() -> None:
    [found] = sweeps_of(sweep(64, 1000.0, 200.0), {})
    assert not found.reached
    assert "ends before a level shows" in in_words(found)


def test_too_few_points_give_no_sweep() -> None:
    assert sweeps_of(sweep(64, 1000.0, 50.0)[:3], {}) == []
