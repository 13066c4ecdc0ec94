"""Reads of 64 B per second: both engines and the SimPy models of the same machine, in one process."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import simpy_models
from pcielab import open_store
from pcielab.devices.running import simulate
from pcielab.library.profiles import ResolvedSystem
from pcielab.library.suites import single_test
from pcielab.work.options import Engine

_REPEATS = 3
_RESOURCES_READS, _TIMEOUTS_READS = 10_000, 100_000
_ENGINE_READS: dict[Engine, tuple[int, int]] = {"reference": (1 << 18, 1 << 20), "fast": (1 << 21, 1 << 23)}
"""Two lengths for each engine: the difference of their times counts."""


@dataclass(frozen=True)
class Throughput:
    """The speed of one way to simulate, and its simulated bandwidth, which all ways must agree on."""

    name: str
    transactions_per_s: float
    simulated_gbps: float

    def row(self, slowest: "Throughput") -> dict[str, str | float]:
        """The row of a table, with the ratio to the slowest."""
        return asdict(self) | {"ratio": self.transactions_per_s / slowest.transactions_per_s}


def throughputs(system: ResolvedSystem) -> list[Throughput]:
    """Measure SimPy with resources, SimPy with timeouts, the reference engine and the fast engine."""
    times = simpy_models.Times.of(system.system)
    return [
        _simpy("SimPy, processes and resources", simpy_models.resources, times, _RESOURCES_READS),
        _simpy("SimPy, timeouts only", simpy_models.timeouts, times, _TIMEOUTS_READS),
        _engine(system, "reference"),
        _engine(system, "fast"),
    ]


def _simpy(
    name: str, model: Callable[[simpy_models.Times, int], float], times: simpy_models.Times, reads: int
) -> Throughput:
    seconds, simulated_ns = min(_timed(lambda: model(times, reads)) for _ in range(_REPEATS))
    return Throughput(name, reads / seconds, reads * simpy_models.SIZE_BYTES * 8 / simulated_ns)


def _engine(system: ResolvedSystem, engine: Engine) -> Throughput:
    """Measure the difference of two lengths, to exclude loading, preparing and storing."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "run.db"

        def run(reads: int) -> None:
            suite = single_test("bw-rd", size=64, window="8K", cache="host-warm", transactions=reads)
            simulate(system, suite, path, samples="full", engine=engine, jobs=1, overwrite=True)

        lengths = _ENGINE_READS[engine]
        short, long = (min(_timed(lambda n=n: run(n)) for _ in range(_REPEATS))[0] for n in lengths)
        gbps = float(open_store(path).scalars["bandwidth"].iloc[0])
    return Throughput(f"{engine} engine", (lengths[1] - lengths[0]) / (long - short), gbps)


def _timed(work: Callable[[], float | None]) -> tuple[float, float]:
    """Seconds that some work takes, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result or 0.0
