"""Idle states from a distribution."""

import pytest

from pcielab.calibrate.idle import wake_ups

FAST, PLAIN, SLOW, STALL = 40, 90, 150, 150_000


def test_rare_stalls_of_milliseconds_do_not_smear_over_what_is_slow() -> None:
    shares = [(FAST, 0.05), (PLAIN, 0.65), (SLOW, 0.25), (SLOW + 20, 0.049), (STALL, 0.001)]
    found = wake_ups(shares)
    assert found["host.idle.fast_share_long_gap"] == pytest.approx(0.05)
    clusters = found["host.idle.clusters"]
    assert sum(one["share"] for one in clusters) * 0.95 == pytest.approx(0.3)
    assert all(one["high_ns"] <= 1.3 * one["low_ns"] for one in clusters)
    average = sum(one["share"] * (one["low_ns"] + one["high_ns"]) / 2 for one in clusters) * 0.95
    expected = sum(share * (tick + 0.5) * 40 / 3 for tick, share in shares[2:])
    assert average == pytest.approx(expected, rel=0.01)


def test_without_a_distribution_nothing_is_told() -> None:
    assert wake_ups([]) == {}
