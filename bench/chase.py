"""Dependent reads of a core beside a C program that does the same, in alternation.

The C program, `chase.c`, follows p = *p through a random cycle. It is a device here, so that its figures are in
a store like any other, and `pcielab report` shows them beside those of `--device cpu`. pcielab and C take turns
at each window, each run with pages of its own; the fastest run of each is compared. What else uses a shared
cache, and pages that collide in it, only add to a latency: beside them stands by how much the middle run is
slower. On a busy machine, a window in a shared cache needs many runs until each program has had the cache once: a
window that differs is measured again, four times as often, before it counts. Without a C compiler, nothing is
measured.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import numpy as np

import pcielab
from pcielab import devices, load_suite, single_test
from pcielab.devices.protocols import LatencySlice
from pcielab.library.suites.benchmark import Parameters

APART = 0.10
"""Allowed difference of the two latencies, as a share of the C program's."""
AGAIN = 4
"""Further pairs of runs at a window that differs, as a multiple of the first ones."""
BUFFER_BYTES = 64 << 20
HUGE_PAGE_BYTES = 2 << 20
_SOURCE = Path(__file__).with_name("chase.c")
_FREE_PAGES = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
_SLICE = 4096


def measure(program: Path, pairs: int, core: int, page_bytes: int, folder: Path) -> bool:
    """Print a row for each window; return whether all are within the allowed difference."""
    suite = load_suite("chase")
    windows = [test.parameters.window_bytes for test in suite.entries if test.name == "LAT_CMD_CHASE"]
    print(
        f"{'window':>10}  {'pcielab ns':>10}  {'C ns':>8}  {'ratio':>6}  {'pairs':>5}  fastest; middle: pcielab, C"
    )
    alike = True
    for window in windows:
        runs = [_pair(program, window, core, page_bytes, folder) for _ in range(pairs)]
        if abs(_ratio(runs) - 1) > APART:
            runs += [_pair(program, window, core, page_bytes, folder) for _ in range(AGAIN * pairs)]
        ratio = _ratio(runs)
        apart = abs(ratio - 1) > APART
        alike &= not apart
        ours, theirs = zip(*runs, strict=True)
        slower = "  ".join(f"{statistics.median(times) / min(times) - 1:+7.1%}" for times in (ours, theirs))
        figures = f"{min(ours):>10.2f}  {min(theirs):>8.2f}  {ratio:>6.3f}  {len(runs):>5}"
        print(f"{window:>10}  {figures}  {'apart' if apart else 'within'}  {slower}", flush=True)
    return alike


def _pair(program: Path, window: int, core: int, page_bytes: int, folder: Path) -> tuple[float, float]:
    """Medians of a run of pcielab and of the C program after it, ns."""
    test = single_test("lat-chase", path="command", size=8, window=window, cache="host-warm", transactions=1 << 20)
    sets = [f"host.page_bytes={page_bytes}", f"host.buffer_bytes={BUFFER_BYTES}"]
    store = Path(tempfile.mkdtemp(dir=folder), "core.db")
    run = pcielab.run(test, output=store, device=f"cpu:{core}", sets=sets)
    own = float(run.scalars["median"].iloc[0])
    return own, statistics.median(_averages(program, window, 1 << 20, core, page_bytes))


def _ratio(runs: list[tuple[float, float]]) -> float:
    """The fastest run of pcielab over the fastest of the C program."""
    return min(own for own, _ in runs) / min(other for _, other in runs)


def report(program: Path, core: int, page_bytes: int, output: Path, folder: Path) -> None:
    """Run the suite on the core and on the C program, and write a report of both."""
    suite, sets = load_suite("chase"), [f"host.page_bytes={page_bytes}", f"host.buffer_bytes={BUFFER_BYTES}"]
    pcielab.run(suite, output=folder / "core.db", device=f"cpu:{core}", sets=sets)
    devices.run(devices.bridged(CProgram(program, core, page_bytes)), suite, folder / "c.db", samples="full")
    pcielab_command = Path(sys.executable).with_name("pcielab")
    subprocess.run([pcielab_command, "report", folder / "core.db", folder / "c.db", "-o", output], check=True)


def _averages(program: Path, window: int, loads: int, core: int, page_bytes: int) -> list[float]:
    """The program's averages over 4096 loads, ns."""
    command = [program, *map(str, (window, loads, core, page_bytes))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(line) for line in done.stdout.split()]


class CProgram(devices.Backend):
    """The C program as a back end."""

    kind = "c-program"
    origin = "measured"

    def __init__(self, program: Path, core: int, page_bytes: int) -> None:
        self._measured = program, core, page_bytes

    def open(self) -> tuple[devices.Device, devices.Host]:
        """The program, and a host that prepares nothing."""
        return _Device(*self._measured), _Host()


class _Device(devices.Device):
    def __init__(self, program: Path, core: int, page_bytes: int) -> None:
        self._program, self._core, self._page_bytes = program, core, page_bytes

    def facts(self) -> devices.DeviceFacts:
        return devices.DeviceFacts(
            name="a C program, p = *p",
            timer=devices.Timer(1, 1000),
            deadline_ms=60_000,
            address=f"cpu{self._core}",
            operations=("command lat-chase",),
            latency_includes=("timer",),
        )

    def latency(self, test: Parameters) -> Generator[LatencySlice, None, None]:
        for average_ns in _averages(
            self._program, test.window_bytes, test.transactions, self._core, self._page_bytes
        ):
            yield np.full(_SLICE, int(1000 * average_ns), dtype=np.uint32), average_ns * _SLICE


class _Host(devices.Host):
    """The C program allocates and warms its window itself."""

    def facts(self) -> devices.HostFacts:
        return devices.HostFacts(name="this machine", buffer_bytes=BUFFER_BYTES)

    def thrash(self) -> None:
        pass

    def warm(self, window_bytes: int) -> None:
        pass


def _page_bytes() -> int:
    """2 MiB if enough huge pages are free for the buffer and the program's window, else 4 KiB."""
    needed = 2 * BUFFER_BYTES // HUGE_PAGE_BYTES
    try:
        free = int(_FREE_PAGES.read_text())
    except OSError:
        free = 0
    if free >= needed:
        return HUGE_PAGE_BYTES
    file = _FREE_PAGES.with_name("nr_hugepages")
    print(
        f"{free} of {needed} huge pages are free: pages have 4 KiB, and large windows include page walks; "
        f"`echo {needed} | sudo tee {file}` reserves them",
        file=sys.stderr,
    )
    return 4096


def main() -> None:
    """Compile, measure, and exit with 1 if a window differs by more than allowed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5, help="runs of each at every window")
    parser.add_argument("--core", type=int, default=0, help="core to measure on")
    parser.add_argument("--report", type=Path, help="also write a report of both, as HTML")
    arguments = parser.parse_args()
    if arguments.report and arguments.report.exists():
        parser.error(f"--report {arguments.report}: exists already: choose another name")
    compiler = shutil.which("cc")
    if compiler is None:
        sys.exit("skipped: no C compiler (cc) here")
    page_bytes = _page_bytes()
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        program = folder / "chase"
        subprocess.run([compiler, "-O2", "-o", program, _SOURCE], check=True)
        alike = measure(program, arguments.pairs, arguments.core, page_bytes, folder)
        if arguments.report:
            report(program, arguments.core, page_bytes, arguments.report, folder)
    if not alike:
        sys.exit(f"error: a window differs by more than {APART:.0%}")


if __name__ == "__main__":
    main()
