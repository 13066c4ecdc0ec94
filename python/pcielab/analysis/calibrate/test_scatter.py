"""Scatter from a distribution: recovers the spread of the mode and the foot behind it."""

import numpy as np
import pytest

from pcielab.analysis.calibrate.scatter import scatter

TICK_NS = 40 / 3


def distribution(middle_ns: float, jitter_ns: float, share: float, longest_ns: float) -> list[tuple[int, float]]:
    """Ticks of reads: a spread, conflicts, one read in forty in a refresh, and the timer's phase."""
    draws = np.random.default_rng(1)
    count = 2_000_000
    times = middle_ns + jitter_ns * draws.uniform(-1, 1, count)
    met = draws.uniform(size=count)
    times += np.where(met < share, longest_ns * draws.uniform(size=count), 0)
    times += np.where(met > 0.975, 200 * draws.uniform(size=count), 0)
    ticks, counts = np.unique(
        np.floor(times / TICK_NS + draws.uniform(size=count)).astype(int), return_counts=True
    )
    return [(int(tick), float(number) / count) for tick, number in zip(ticks, counts, strict=True)]


@pytest.mark.parametrize("middle_ns", [598.0, 604.0, 611.0])
@pytest.mark.parametrize(("jitter_ns", "share", "longest_ns"), [(3.0, 0.018, 34.0), (7.0, 0.01, 28.0)])
def test_recovers_spread_and_conflicts(
    middle_ns: float, jitter_ns: float, share: float, longest_ns: float
) -> None:
    found = scatter(distribution(middle_ns, jitter_ns, share, longest_ns))
    assert found is not None
    # A spread that stays within a tick cannot be seen.
    assert found.jitter_ns == pytest.approx(jitter_ns, abs=1.0)
    assert found.conflict_share * found.conflict_ns == pytest.approx(share * longest_ns, rel=0.25)


def test_mode_without_a_foot_has_hardly_any_conflicts() -> None:
    found = scatter(distribution(604.0, 4.5, 0.0, 30.0))
    assert found is not None
    assert found.conflict_share < 0.004
    assert scatter([]) is None
