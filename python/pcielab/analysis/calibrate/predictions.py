"""Questions and answers of the prediction of a suite's rows, as they come out of JSON.

Written by `make generate` from `crates/pcie-bench-sim/src/prediction.rs`: change the types there.
"""

from dataclasses import dataclass
from typing import TypedDict


@dataclass(frozen=True, kw_only=True)
class Effort:
    """Simulated transactions of each row."""

    latency_samples: int = 4096
    """Samples of a latency test."""
    bandwidth_transactions: int = 8192
    """Counted transactions of a bandwidth test."""


class Prediction(TypedDict, total=False):
    """The prediction of a row."""

    bandwidth_gbps: float
    """Bandwidth of one direction, as published."""
    average_ns: float
    """Average, not rounded to ticks."""
    ticks: list[tuple[int, int]]
    """Histogram of the device's timer: ticks and samples."""
    not_supported: str
    """Why not."""
