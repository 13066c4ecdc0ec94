"""On random systems no bandwidth exceeds the bound printed as binding, and adaptive runs agree with full ones.

`make trust-tables` tries 20,000 and 300 systems, and writes the results into the documentation.
"""

import json

import pytest

from claims import held_against_bound, sampled
from pcielab.library import profiles
from pcielab.library.suites import single_test
from random_systems import Case, random_case, set_key

BOUNDED, SAMPLED = 60, 6


def test_no_bandwidth_exceeds_the_printed_bound() -> None:
    found = [held_against_bound(random_case(number, transactions=1 << 16)) for number in range(BOUNDED)]
    above = [case for case in found if case and case.share > 1.001]
    assert not above
    assert sum(case is not None for case in found) > BOUNDED / 2


@pytest.mark.parametrize(
    ("system", "changes", "test"),
    [
        # A lone request finds the root complex idle, and an idle one is faster.
        ("hsw2620", {"link.tags": 1}, {"operation": "bw-rdwr", "size": 300, "window": "64K"}),
        # Alternating reads and writes visit separate units.
        ("bdw-011-nosp", {}, {"operation": "bw-rdwr", "size": 777, "window": "64K", "pattern": "sequential"}),
        # In flit mode DLLPs take no extra bytes.
        ("snb", {"link.generation": 6, "link.flit": True, "link.lanes": 1}, {"operation": "bw-rdwr", "size": 512}),
        # The root complex's buffers hold a whole short test.
        (
            "snb",
            {"host.root_complex.write_line_ns": 50.0},
            {"operation": "bw-wr", "size": 256, "transactions": 500},
        ),
        ("gen5-x16", {}, {"operation": "bw-rdwr", "size": 4096, "window": "8K", "cache": "host-warm"}),
    ],
)
def test_bounds_hold_in_difficult_cases(system: str, changes: dict[str, object], test: dict[str, object]) -> None:
    content = json.loads(profiles.resolve(system).to_json())
    for key, value in changes.items():
        set_key(content, key, value)
    suite = single_test(**{"transactions": 1 << 18, **test})
    case = Case(0, json.dumps(content), suite.to_json(), suite.tests[0]["parameters"], f"{system} {changes}")
    found = held_against_bound(case)
    assert found is not None
    assert found.share <= 1.001, found


def test_adaptive_runs_agree_with_full_runs() -> None:
    found = [row for number in range(0, 3 * SAMPLED, 3) if (row := sampled(number, 1 << 21))]
    assert len(found) > SAMPLED / 2
    assert all(abs(row.error) <= 0.003 for row in found if row.settled), found
    assert sum(row.inside for row in found) >= 0.8 * len(found), found
