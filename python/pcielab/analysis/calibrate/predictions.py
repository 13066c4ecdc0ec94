"""What is asked for and answered when rows of a suite are predicted, as it comes out of JSON.

Written by `make generate` from `crates/pcie-bench-sim/src/prediction.rs`: change the types there.
"""

from dataclasses import dataclass
from typing import TypedDict


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How many transactions of each row are simulated."""

    latency_samples: int = 4096
    """Samples of a latency test."""
    bandwidth_transactions: int = 8192
    """Counted transactions of a bandwidth test."""


class Prediction(TypedDict, total=False):
    """What is predicted of a row."""

    bandwidth_gbps: float
    """Of one direction, as published."""
    average_ns: float
    """Average, as exact as the simulation is: not rounded to ticks."""
    ticks: list[tuple[int, int]]
    """What the device's timer shows: ticks, and how many samples showed them."""
    not_supported: str
    """Why not."""
