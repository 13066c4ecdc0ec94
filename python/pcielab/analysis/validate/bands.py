"""Predictions of bandwidths that do not repeat: a band over several seeds instead of a number.

A machine with idle states stalls now and then for longer than a test lasts, so two runs of one test differ. A good
twin's band contains most measured values.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pcielab import _core
from pcielab.library.profiles.parts import System
from pcielab.library.suites import load_suite
from pcielab.store import Store
from pcielab.work.running import available_cores

SEEDS = 100
LOW, HIGH = 0.05, 0.95
_EFFORT = {"latency_samples": 1024, "bandwidth_transactions": 8192}


@dataclass(frozen=True)
class Band:
    """A measured write bandwidth, and the middle 90 % of those predicted, in Gb/s."""

    family: str
    size_bytes: int
    window_bytes: int
    measured_gbps: float
    low_gbps: float
    high_gbps: float

    @property
    def inside(self) -> bool:
        """Whether the measured value lies in the band."""
        return self.low_gbps <= self.measured_gbps <= self.high_gbps


def write_bands(system: System, measured: Store, seeds: int = SEEDS) -> list[Band]:
    """The bands of all measured write bandwidths of the suite `paper`."""
    suite = load_suite("paper")
    rows = measured.scalars
    rows = rows[(rows["name"] == "BW_DMA_WR") & (rows["status"] == "ok")]
    known = {_identity(test["family"], test["parameters"]): index for index, test in enumerate(suite.tests)}
    found = [
        (known[identity], row)
        for row in rows.to_dict("records")
        if (identity := _identity(row["family"], row)) in known
    ]
    found.sort(key=lambda pair: pair[0])
    indices = [index for index, _ in found]
    resolved = [system.handle]
    runs = []
    for seed in range(1, seeds + 1):
        predictor = _core.Predictor(suite.handle, indices, seed=seed, jobs=available_cores())
        [one] = json.loads(
            predictor.predict(
                resolved,
                [list(range(len(indices)))],
                effort=json.dumps(_EFFORT),
                progress=lambda _done, _total: None,
            )
        )
        runs.append([row.get("bandwidth_gbps", np.nan) for row in one])
    lows, highs = np.quantile(np.array(runs), [LOW, HIGH], axis=0)
    return [
        Band(row["family"], row["size_bytes"], row["window_bytes"], row["bandwidth"], float(low), float(high))
        for (_, row), low, high in zip(found, lows, highs, strict=True)
    ]


def _identity(family: str, asked: Mapping[Any, Any]) -> tuple[object, ...]:
    sizes = ("size_bytes", "window_bytes", "host_offset_bytes", "device_offset_bytes")
    keys = ("operation", "pattern", "cache", *sizes)
    return (family, *(asked[key] for key in keys))
