"""Reads of 64 B per second of the FPGA core in RTL simulation: in its cocotb bench, and in `pcielab-rtl`."""

import resource
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from pcielab import RunOptions, open_store, run as run_work
from pcielab.devices import rtl
from pcielab.library.suites import single_test

_BENCHES = Path(__file__).parents[1] / "rtl" / "tb"
_LENGTHS = (1 << 17, 1 << 19)
"""Two lengths: the difference of their times counts."""


@dataclass(frozen=True)
class RtlReads:
    """The speed of one way to simulate the core."""

    name: str
    reads_per_processor_s: float
    ratio: float
    """To the cocotb bench."""


def missing() -> str:
    """What `make rtl` has yet to install or build, or an empty text."""
    return rtl.missing() if find_spec("cocotb") else "cocotb is not installed: run make rtl"


def rtl_reads(system: str) -> list[RtlReads]:
    """Measure the cocotb bench, and the native process with the simulated host at the other end of its pipe."""
    sys.path.insert(0, str(_BENCHES))
    from reads import reads_per_s

    with tempfile.TemporaryDirectory() as directory:
        cocotb = reads_per_s(Path(directory) / "reads.json")
        native, gbps = _native(system, Path(directory) / "run.db")
    return [
        RtlReads("cocotb bench of the core", cocotb, 1.0),
        RtlReads(f"pcielab-rtl, {system}, {gbps:.1f} Gb/s", native, native / cocotb),
    ]


def _native(system: str, path: Path) -> tuple[float, float]:
    def run(reads: int) -> None:
        suite = single_test("bw-rd", size=64, window="8K", cache="host-warm", transactions=reads)
        options = RunOptions(samples="full", jobs=1, overwrite=True)
        run_work(suite, "rtl", path, profile=system, options=options)

    short, long = (_processor_s(lambda n=n: run(n)) for n in _LENGTHS)
    gbps = float(open_store(path).scalars["bandwidth"].iloc[0])
    return (_LENGTHS[1] - _LENGTHS[0]) / (long - short), gbps


def _processor_s(work: Callable[[], None]) -> float:
    """Processor time of this process and its children for some work."""

    def used() -> float:
        usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(usage.ru_utime + usage.ru_stime for usage in usages)

    start = used()
    work()
    return used() - start
