"""Scatter of single reads, from one distribution: 64 B cold DMA reads of a small window, one at a time.

Most lie in one mode, as wide as the card's tick and the root complex's spread. Behind it is a foot of some 30 ns,
the same for lines in the cache and in memory: reads that found a ring or an agent of the host busy. Both are
fitted to the ticks around the mode; later ticks are refreshes (`refresh.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from pcielab.formats.published import NFP6000_TIMER

_Vector: TypeAlias = NDArray[np.float64]

_TICK_NS = float(NFP6000_TIMER.tick_ns)
_GRAIN_NS = 0.1
_BEFORE_TICKS, _BEHIND_TICKS = 3, 5
"""Range of ticks around the fullest one."""
_REFRESHES_TO_TICKS = 40
_LENGTH_NS = 200.0
"""Approximate spread of the refreshes behind the mode; a longer refresh changes little near the mode."""
_PRIORS = np.array([4.5, 0.015, 30.0])
_PRIOR_WIDTHS = np.array([3.0, 0.01, 10.0])
_WEIGHT = 0.003
"""Weight of a prior, in errors of the root of a tick's share."""
_LOW, _HIGH = np.array([0.5, 0.0, 15.0]), np.array([12.0, 0.05, 60.0])

SCATTER_KEYS = [f"host.root_complex.{key}" for key in ("jitter_ns", "conflict_share", "conflict_ns")]
"""Keys of a system that the distribution determines."""


@dataclass(frozen=True)
class Scatter:
    """The root complex's spread, and the share and the longest wait of reads that met a conflict."""

    jitter_ns: float
    conflict_share: float
    conflict_ns: float


def scatter(distribution: Sequence[tuple[int, float]]) -> Scatter | None:
    """Fit the scatter to a distribution (ticks, rising, and shares of samples); None without one."""
    if not distribution:
        return None
    shares = dict(distribution)
    peak = max(shares, key=lambda tick: shares[tick])
    ticks = np.arange(peak - _BEFORE_TICKS, peak + _BEHIND_TICKS + 1)
    measured = np.sqrt([shares.get(int(tick), 0.0) for tick in ticks])
    further = sum(share for tick, share in shares.items() if _BEHIND_TICKS <= tick - peak <= _REFRESHES_TO_TICKS)

    def residuals(values: _Vector) -> _Vector:
        found = np.sqrt(_shares(ticks, values))
        priors = _WEIGHT * (values[2:] - _PRIORS) / _PRIOR_WIDTHS
        return np.concatenate([found - measured, priors])

    low = np.concatenate([[(peak - 1) * _TICK_NS, 0.0], _LOW])
    high = np.concatenate([[(peak + 2) * _TICK_NS, 0.4], _HIGH])
    scale = np.concatenate([[2.0, 0.01], _PRIOR_WIDTHS])
    starts = [np.concatenate([[(peak + part) * _TICK_NS, further], _PRIORS]) for part in (0.1, 0.5, 0.9)]
    fits = [least_squares(residuals, start, bounds=(low, high), x_scale=scale) for start in starts]
    best = min(fits, key=lambda fit: float(fit.cost)).x
    return Scatter(round(float(best[2]), 2), round(float(best[3]), 4), round(float(best[4]), 1))


def _shares(ticks: NDArray[np.int64], values: _Vector) -> _Vector:
    """The share of reads at each tick: jitter, then a conflict or a refresh for some, then the timer's phase."""
    middle_ns, refreshed, jitter_ns, conflicts, conflict_ns = values
    start_ns = float(ticks[0] - 2) * _TICK_NS
    cells = int((ticks[-1] + 4 - ticks[0]) * _TICK_NS / _GRAIN_NS)
    mode = np.zeros(cells)
    position = (middle_ns - jitter_ns - start_ns) / _GRAIN_NS
    before = int(position)
    mode[before : before + 2] = before + 1 - position, position - before
    mode = _spread(mode, 2 * jitter_ns)
    apart = (1 - conflicts - refreshed) * mode
    density = _spread(
        apart + conflicts * _spread(mode, conflict_ns) + refreshed * _spread(mode, _LENGTH_NS), _TICK_NS
    )
    upto = np.concatenate([[0.0], np.cumsum(density)])
    edges = (np.append(ticks, ticks[-1] + 1) * _TICK_NS - start_ns) / _GRAIN_NS
    shares: _Vector = np.maximum(np.diff(np.interp(edges, np.arange(cells + 1), upto)), 0.0)
    return shares


def _spread(density: _Vector, width_ns: float) -> _Vector:
    """The density of the sum with a time that is uniform from 0 to a width."""
    width = max(width_ns / _GRAIN_NS, 1.0)
    cells = np.arange(len(density) + 1.0)
    upto = np.concatenate([[0.0], np.cumsum(density)])
    area = np.concatenate([[0.0], np.cumsum((upto[1:] + upto[:-1]) / 2)])
    spread_upto = (area - np.interp(cells - width, cells, area, left=0.0)) / width
    spread: _Vector = np.diff(spread_upto)
    return spread
