"""Rows made from known numbers give those numbers back, within their intervals, or say that they do not."""

import random

import pytest
from hypothesis import given, settings, strategies as st

from pcielab.analysis.calibrate.pins import Pin, pins
from pcielab.kinds.tools.rows import MeasuredRow
from pcielab.library.link import Link
from pcielab.model.questions import bandwidth

LINK = Link(generation=4, lanes=16, mps_bytes=256, mrrs_bytes=512)
SIZES = [1 << power for power in range(6, 23)]


def row(test: int, value: float, quantity: str = "bandwidth", **more: object) -> MeasuredRow:
    unit = {"bandwidth": "Gb/s", "latency": "ns"}[quantity]
    common = {"tool": "perftest", "direction": "write", "statistic": "average", "name": "ib_write_bw"}
    return MeasuredRow(test=test, value=value, quantity=quantity, unit=unit, **{**common, **more})  # type: ignore[arg-type]


def found(rows: list[MeasuredRow], link: Link | None = LINK) -> dict[str, Pin]:
    return {pin.key: pin for pin in pins(rows, link)}


def swept(call_ns: float, peak: float, noise: float = 0.0, seed: int = 1) -> list[MeasuredRow]:
    chance = random.Random(seed)
    times = [(call_ns + size / peak) * (1 + noise * chance.gauss(0, 1)) for size in SIZES]
    rates = [8 * size / time for size, time in zip(SIZES, times, strict=True)]
    return [row(test, rate, size_bytes=SIZES[test]) for test, rate in enumerate(rates)]


@given(st.floats(10, 10_000), st.floats(1, 60))
def test_a_sweep_without_noise_gives_cost_and_rate_back(call_ns: float, peak: float) -> None:
    pinned = found(swept(call_ns, peak))
    assert pinned["write.call_ns"].value == pytest.approx(call_ns, rel=1e-6)
    assert pinned["write.peak"].value == pytest.approx(peak, rel=1e-6)


@settings(max_examples=5)
@given(st.integers(0, 1000))
def test_intervals_cover_what_noise_hides(seed: int) -> None:
    """Of 100 sweeps, about 95 cover; 85 or fewer would happen once in 30,000 times."""
    covered = 0
    for one in range(100):
        pin = found(swept(100, 24, noise=0.02, seed=1000 * seed + one))["write.call_ns"]
        assert pin.low is not None
        assert pin.high is not None
        covered += pin.low <= 100 <= pin.high
    assert covered > 85


def test_a_payload_ratio_is_that_of_the_largest_size() -> None:
    [bound] = bandwidth(LINK, [1 << 20])
    large = [row(test, share * bound.read.gbps, size_bytes=1 << 20) for test, share in ((1, 0.9), (2, 0.92))]
    rows = [row(0, 10, size_bytes=64), *large]
    pin = found(rows)["write.payload_ratio"]
    assert pin.value == pytest.approx(0.91)
    assert pin.told_by == (1, 2)
    assert pin.low is not None
    assert pin.low < 0.9


def test_without_a_link_a_ratio_is_not_identified_and_names_the_option() -> None:
    pin = found([row(0, 90)], None)["write.payload_ratio"]
    assert not pin.identified
    assert "--link" in pin.reason


def test_a_rate_above_the_link_is_not_of_the_link() -> None:
    pin = found([row(0, 2000, tool="nvbandwidth", direction="p2p", engine="copy")])["p2p.copy.payload_ratio"]
    assert not pin.identified
    assert "another path" in pin.reason


def test_one_size_gives_no_cost() -> None:
    assert not found([row(0, 90, size_bytes=64)])["write.call_ns"].identified


def test_the_share_of_a_busy_direction_needs_the_direction_alone() -> None:
    both = row(1, 60, beside="opposite")
    assert not found([both])["write.both_ways_share"].identified
    assert found([row(0, 80), both])["write.both_ways_share"].value == pytest.approx(0.75)


def test_bytes_in_flight_follow_littles_law() -> None:
    rows = [row(0, 32, tool="fio", direction="read"), row(0, 1000, "latency", tool="fio", direction="read")]
    assert found(rows)["read.in_flight"].value == pytest.approx(4000)


def test_a_round_trip_is_twice_what_perftest_prints() -> None:
    halves = [row(0, 950, "latency", statistic="median", size_bytes=2)]
    assert found(halves)["write.round_trip_ns"].value == 1900
    whole = [row(0, 1900, "latency", statistic="median", direction="read", size_bytes=2)]
    assert found(whole)["read.round_trip_ns"].value == 1900
    queued = [row(0, 9000, "latency", tool="fio", direction="read", outstanding=32, queues=1)]
    assert not found(queued)["read.round_trip_ns"].identified
