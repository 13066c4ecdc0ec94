"""Refresh from a distribution: recovers its length and rate."""

import pytest

from pcielab.analysis.calibrate.refresh import refreshes

TICK_NS = 40 / 3


def distribution(duration_ns: float, share: float, interval_ns: float = 7800.0) -> list[tuple[int, float]]:
    """A mode at tick 45, half of it in the next, and waits that are uniform up to the length of a refresh."""
    met = share * duration_ns / interval_ns
    ticks = {45: (1 - met) / 2, 46: (1 - met) / 2}
    steps = 20_000
    for step in range(steps):
        tick = round(45.5 + (step + 0.5) / steps * duration_ns / TICK_NS)
        ticks[tick] = ticks.get(tick, 0.0) + met / steps
    return sorted(ticks.items())


@pytest.mark.parametrize(("duration_ns", "share"), [(160.0, 1.2), (260.0, 1.0), (350.0, 2.0)])
def test_recovers_length_and_share(duration_ns: float, share: float) -> None:
    found = refreshes(distribution(duration_ns, share), 7800.0)
    assert found is not None
    assert found.duration_ns == duration_ns
    assert found.share == pytest.approx(share, rel=0.1)


def test_separates_repeated_reads_from_refreshes() -> None:
    whole = dict(distribution(260.0, 1.0))
    later = 45.5 + (260 + 4 + 50) / TICK_NS
    caught = 1.0 * 8.0 / 7800.0
    made_again = {int(later): caught / 2, int(later) + 1: caught / 2}
    found = refreshes(sorted((whole | made_again).items()), 7800.0)
    alone = refreshes(distribution(260.0, 1.0), 7800.0)
    assert found is not None
    assert alone is not None
    assert (found.duration_ns, alone.caught_ns, alone.again_ns) == (260.0, 0.0, 0.0)
    assert found.share == pytest.approx(alone.share)
    assert found.caught_ns == pytest.approx(8.0, rel=0.1)
    assert found.again_ns == pytest.approx(50.0, abs=10.0)


def test_no_second_mode_gives_no_refresh() -> None:
    assert refreshes([], 7800.0) is None
    assert refreshes([(45, 0.5), (46, 0.5)], 7800.0) is None
