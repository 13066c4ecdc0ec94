"""Cost per transaction of a device in Python: the bridge and the recording of results.

The device returns the same slice again and again, so that a run costs only bridge, histogram and runner. The
difference of two lengths counts.
"""

import tempfile
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pcielab import devices, single_test
from pcielab.devices.protocols import LatencySlice
from pcielab.library.suites.benchmark import Parameters

SLICES = (512, 4096, 65_536)
LIMIT_NS = 20.0
"""Goal for a transaction in slices of 65,536."""
_SHORT, _LONG = 1 << 22, 1 << 28
_REPEATS = 3


@dataclass(frozen=True)
class Bridge:
    """Cost of a transaction in slices of one length."""

    slice: int
    ns_per_transaction: float
    limit_ns: float | None


def bridges() -> Iterator[Bridge]:
    """Measure each length of slices."""
    for length in SLICES:
        short, long = (min(_seconds(length, count) for _ in range(_REPEATS)) for count in (_SHORT, _LONG))
        yield Bridge(length, 1e9 * (long - short) / (_LONG - _SHORT), LIMIT_NS if length == max(SLICES) else None)


def _seconds(length: int, transactions: int) -> float:
    suite = single_test("lat-rd", window="8K", transactions=transactions)
    with tempfile.TemporaryDirectory() as directory:
        started = time.perf_counter()
        devices.run(devices.bridged(_Backend(length)), suite, Path(directory) / "run.db", samples="full")
        return time.perf_counter() - started


class _Device(devices.Device):
    def __init__(self, length: int) -> None:
        self._ticks = (np.arange(length) % 50 + 400).astype(np.uint32)

    def facts(self) -> devices.DeviceFacts:
        return devices.DeviceFacts(name="nothing", timer=devices.Timer(1), deadline_ms=None)

    def latency(self, test: Parameters) -> Generator[LatencySlice, None, None]:
        for _ in range(test.transactions // len(self._ticks)):
            yield self._ticks, 500.0 * len(self._ticks)


class _Host(devices.Host):
    def facts(self) -> devices.HostFacts:
        return devices.HostFacts(name="nothing", buffer_bytes=8192)

    def thrash(self) -> None:
        pass

    def warm(self, window_bytes: int) -> None:
        pass


class _Backend(devices.Backend):
    kind = "nothing"
    origin = "emulated"

    def __init__(self, length: int) -> None:
        self._length = length

    def open(self) -> tuple[devices.Device, devices.Host]:
        return _Device(self._length), _Host()
