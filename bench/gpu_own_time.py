"""Processor time of `--device cuda` for 10^6 transactions on a stand-in for a GPU, without the stand-in's time."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from pcielab import devices, single_test
from pcielab.devices.cuda import bindings, opened
from pcielab.devices.cuda.backend import CudaBackend
from pcielab.devices.cuda.options import CudaHostOptions, CudaOptions

if TYPE_CHECKING:
    from gpu.stand_in import StandIn

_TESTS = Path(__file__).parents[1] / "tests"
_OPERATIONS = ("bw-rd", "bw-wr", "lat-rd")
_TRANSACTIONS = 1_000_000
_REPEATS = 5
GOAL_MS = 50


@dataclass(frozen=True)
class OwnTime:
    """Processor time of one operation, the least of some repeats."""

    operation: str
    processor_ms: float
    goal_ms: int


def own_times() -> list[OwnTime]:
    """Measure reads, writes, and dependent reads."""
    sys.path.insert(0, str(_TESTS))
    from gpu.stand_in import Faults, StandIn

    card = StandIn(Faults())
    with (
        patch.object(bindings, "load_driver", lambda: card),
        patch.object(opened, "compiled", lambda source, _architecture, _read: source.encode()),
    ):
        device, _ = CudaBackend(CudaOptions(host=CudaHostOptions(buffer_bytes=8 << 20)), 0).open()
        found = [
            OwnTime(operation, 1e3 * min(_taken_s(card, device, operation)), GOAL_MS) for operation in _OPERATIONS
        ]
        device.close()
    return found


def _taken_s(card: "StandIn", device: devices.Device, operation: str) -> list[float]:
    """Processor seconds of each repeat, without the stand-in's own."""
    dependent = operation.startswith("lat")
    outstanding = None if dependent else 64
    [test] = single_test(
        operation, path="command", size=64, window="8M", transactions=_TRANSACTIONS, outstanding=outstanding
    ).entries
    taken = []
    for position in range(_REPEATS):
        before, started = card.own_seconds, time.process_time()
        device.begin(devices.Start(position, 1, test.parameters, devices.Stop()))
        slices = (device.latency if dependent else device.bandwidth)(test.parameters)
        made = sum(len(found) if dependent else found for found, _ in slices)
        taken.append(time.process_time() - started - (card.own_seconds - before))
        assert made == _TRANSACTIONS
    return taken
