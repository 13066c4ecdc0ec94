"""Launches take 5 to 100 ms, however fast the transfers are."""

import pytest

from pcielab.devices.cuda.launches import Pace


@pytest.mark.parametrize("transfer_ns", [0.5, 20.0, 1500.0, 3e4])
def test_launches_converge_to_the_target_duration(transfer_ns: float) -> None:
    pace = Pace(1500.0)
    for _ in range(6):
        count = pace.next_count(1 << 40)
        pace.took(count, count * transfer_ns)
    assert 5e6 <= pace.next_count(1 << 40) * transfer_ns <= 1e8


def test_counts_are_multiples_of_the_granule() -> None:
    pace = Pace(1000.0)
    assert pace.next_count(1 << 20, granule=128) % 128 == 0
    assert pace.next_count(100, granule=128) == 100
    assert pace.next_count(1) == 1


def test_launch_has_at_least_one_transfer() -> None:
    assert Pace(1e9).next_count(5) == 1
