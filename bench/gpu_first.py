"""The first run of `--device cuda` on a machine: `make gpu-first`, at most ten minutes.

Each step prints what it must show, what it shows, and whether that is met; a step that fails is named, and the
next one goes on. The stores stay in gpu-first/. Other programs that measure the same are asked where they are
installed: torch's copies and nvbandwidth.
"""

import argparse
import mmap
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpu_figures import Figure, below_bounds, windows_alike
from pcielab import InputError, RunError, Store, devices, load_suite, open_store
from pcielab.analysis.explain import explain_run
from pcielab.devices.cuda import bindings, pattern
from pcielab.devices.cuda.backend import CudaBackend
from pcielab.devices.cuda.compiler import ATOMIC_BYTES
from pcielab.devices.cuda.opened import OpenCard
from pcielab.devices.cuda.options import CudaHostOptions, CudaOptions, chosen
from pcielab.devices.cuda.reach import median_cycles

MINUTES = 10
BEGIN_BEFORE_SECONDS = 8.5 * 60
"""No step begins later: the longest takes a minute and a half."""
PIECES_AGREE, FORMS_AGREE, COPIES_AGREE = 0.03, 0.03, 0.01
OPEN_SECONDS = 15
PROGRAM_SECONDS = 90
BUFFER_BYTES = COPY_BYTES = 64 << 20
"""The host's buffer, and the copies that are set beside those of other programs."""

LATENCIES = [("LAT_CMD_RD", size, "64K") for size in (4, 8, 16, 64, 512)] + [("LAT_CMD_WRRD", 8, "64K")]
WINDOWS = [("LAT_CMD_RD", 8, window) for window in ("4K", "64K", "1M", "16M", "64M")]
BANDWIDTHS = [(f"BW_CMD_{way}", size, "1M") for way in ("RD", "WR", "RW") for size in (64, 256, 1024, 4096)] + [
    (f"BW_DMA_{way}", size, "64M") for way in ("RD", "WR", "RW") for size in (65536, 1 << 20, 16 << 20, COPY_BYTES)
]
TORCH = """
import torch
host = torch.empty(64 << 20, dtype=torch.uint8, pin_memory=True)
card = torch.empty_like(host, device="cuda")
for name, (into, out) in {"RD": (card, host), "WR": (host, card)}.items():
    for _ in range(3):
        into.copy_(out, non_blocking=True)
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    for _ in range(20):
        into.copy_(out, non_blocking=True)
    last.record()
    last.synchronize()
    print(name, 20 * (64 << 20) * 8 / first.elapsed_time(last) / 1e6)
"""
"""Copies of pinned memory by another program, Gb/s; RD is from the host, as everywhere in pcielab."""
NVBANDWIDTH = {"RD": "host_to_device_memcpy_ce", "WR": "device_to_host_memcpy_ce"}


@dataclass
class First:
    """The first run on a GPU.

    Attributes:
        device: As for `pcielab run`.
        folder: Where stores are written.
        transactions: Most transfers of a latency test.
        kept: The suite whose store is worth keeping.
    """

    device: str
    folder: Path
    transactions: int = 65536
    kept: str = "cuda-quick"

    @property
    def number(self) -> int:
        """The GPU's number."""
        return int(self.device.partition(":")[2] or 0)

    def run(self, name: str, tests: Sequence[tuple[str, int, str]], **sets: object) -> Store:
        """Run tests, given by name, size and window, into the store `name`.db."""
        suite, output = self.folder / f"{name}.toml", self.folder / f"{name}.db"
        suite.write_text(_suite(name, tests, self.transactions))
        backend = devices.open_kind(self.device, sets={"host.buffer_bytes": BUFFER_BYTES, **sets})
        devices.run(backend, load_suite(str(suite)), output, overwrite=True)
        return open_store(output)


def machine(_first: First) -> Iterator[str | Figure]:
    """Name the machine: a GPU, its driver and the link, as driver and kernel show it."""
    yield f"{platform.platform()}, {os.cpu_count()} processors, locked memory {_locked()}"
    link = "pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current"
    query = f"--query-gpu=name,pci.bus_id,driver_version,{link},mig.mode.current"
    yield from _program("nvidia-smi", query, "--format=csv") or ["nvidia-smi is not installed"]
    for card in bindings.load_driver().cards():
        folder = Path("/sys/bus/pci/devices") / card.address[-12:].lower()
        shown = (
            f"{name} {_content(folder / name)}" for name in ("current_link_speed", "max_link_speed", "numa_node")
        )
        yield f"cuda:{card.number} {card.name} {card.address} sm_{card.architecture}: {', '.join(shown)}"


def opening(first: First) -> Iterator[str | Figure]:
    """Open the GPU: compile and load each kernel, and check that reads reach the host."""
    begin = time.monotonic()
    device, host = CudaBackend(CudaOptions(host=CudaHostOptions(buffer_bytes=BUFFER_BYTES)), first.number).open()
    taken = time.monotonic() - begin
    with closing(device):
        yield str(device.facts())
        yield str(host.facts())
        yield ", ".join(f"{each.metric} {each.value} {each.unit}" for each in device.conditions())
    yield Figure(f"opened within {OPEN_SECONDS} s", f"{taken:.1f} s", taken <= OPEN_SECONDS)


def latencies(first: First) -> Iterator[str | Figure]:
    """Time single reads of 4 to 512 B, and a write with the read that follows it."""
    store = first.run("latencies", LATENCIES)
    yield from _rows(store, "median", "ns")
    reads = store.scalars.query("name == 'LAT_CMD_RD' and size_bytes <= 16")["median"].dropna()
    apart = reads.max() / reads.min() - 1 if len(reads) == 3 else None
    yield Figure(
        f"reads of 4, 8 and 16 B agree within {100 * PIECES_AGREE:g} %",
        "not all were measured" if apart is None else f"{100 * apart:.2f} %",
        None if apart is None else bool(apart <= PIECES_AGREE),
    )


def atomics(first: First) -> Iterator[str | Figure]:
    """Time atomic additions to host memory beside reads, in cycles of the processor."""
    driver = bindings.load_driver()
    card = chosen(driver, first.number)
    opened = OpenCard(driver, card.number, card.architecture, "load")
    # Pages of their own, as registering needs them.
    words = np.frombuffer(mmap.mmap(-1, 1 << 20), dtype=np.uint32)
    pattern.fill(words)
    before = words.copy()
    with closing(opened):
        buffer = opened.register(words.ctypes.data, words.nbytes)
        for piece in ATOMIC_BYTES:
            kernels = (f"latency_read_{piece}_1", f"latency_atomic_{piece}_1")
            # The first launches load the code, and wake the link.
            pairs = [[median_cycles(opened, buffer, kernel) for kernel in kernels] for _ in range(4)][1:]
            read, added = (float(np.median(column)) for column in zip(*pairs, strict=True))
            yield f"{piece} B: read {read:.0f} cycles, atomic addition of 0 {added:.0f} cycles"
    wrong = int(np.count_nonzero(words != before))
    yield Figure("adding 0 leaves the host's memory as it was", f"{wrong} words differ", wrong == 0)


def bandwidths(first: First) -> Iterator[str | Figure]:
    """Move data by processors and by copy engines, to, from and both at once, over size."""
    store = first.run("bandwidths", BANDWIDTHS)
    yield from _rows(store, "bandwidth", "Gb/s")
    yield below_bounds(store)
    for other, values in (("torch's copies", _torch()), ("nvbandwidth", _nvbandwidth())):
        yield from _beside(store, other, values)


def windows(first: First) -> Iterator[str | Figure]:
    """Read 8 B over windows of 4 KiB to 64 MiB."""
    store = first.run("windows", WINDOWS)
    yield from _rows(store, "median", "ns")
    yield windows_alike(store)


def forms(first: First) -> Iterator[str | Figure]:
    """Read by each other instruction: as fast as by `load`, or refused with the name of another one."""
    test = [("LAT_CMD_RD", 16, "64K")]
    usual = _median(first.run("form-load", test))
    yield f"load: {usual:.0f} ns"
    for form in ("volatile", "cv", "bulk"):
        try:
            found = _median(first.run(f"form-{form}", test, **{"device.read": form}))
        except RunError as refusal:
            yield f"{form}: {refusal}"
            continue
        apart = found / usual - 1
        met = abs(apart) <= FORMS_AGREE
        yield Figure(
            f"{form} within {100 * FORMS_AGREE:g} % of load", f"{found:.0f} ns, {100 * apart:+.2f} %", met
        )


def kept_store(first: First) -> Iterator[str | Figure]:
    """Run the suite whose store is worth keeping, and explain it."""
    output = first.folder / "kept.db"
    backend = devices.open_kind(first.device, sets={"host.buffer_bytes": BUFFER_BYTES})
    devices.run(backend, load_suite(first.kept), output, overwrite=True)
    store = open_store(output)
    yield from _messages(store)
    for sweep in explain_run(store).sweeps:
        fitted = f"T {sweep.round_trip_ns.value:.0f} ns, N {sweep.in_flight.value:.1f}"
        yield f"{sweep.size_bytes} B: {fitted}: {sweep.holds}"
    good = int((store.tests["status"] == "ok").sum())
    yield Figure("every test is ok", f"{good} of {len(store.tests)}", good == len(store.tests))
    yield f"keep {output}: pcielab export json, pcielab report"


STEPS: tuple[Callable[[First], Iterator[str | Figure]], ...] = (
    machine, opening, latencies, atomics, bandwidths, windows, forms, kept_store,
)  # fmt: skip


def carry_out(first: First, clock: Callable[[], float] = time.monotonic) -> Iterator[tuple[str, bool | None]]:
    """Carry out each step; yields lines with a verdict: whether a figure is met, or that a step went wrong.

    Args:
        first: The run.
        clock: Seconds; steps are left out when the time is nearly over.
    """
    begin = clock()
    for number, step in enumerate(STEPS, start=1):
        passed = clock() - begin
        yield f"\n{number}. {(step.__doc__ or '').strip()} ({passed:.0f} s)", None
        if passed > BEGIN_BEFORE_SECONDS:
            yield f"left out: {MINUTES} minutes are nearly over", False
            continue
        try:
            for line in step(first):
                yield _line(line)
        except Exception as problem:  # each step is tried, whatever became of the one before
            yield f"FAILED: {type(problem).__name__}: {problem}", False


def _line(shown: str | Figure) -> tuple[str, bool | None]:
    if isinstance(shown, str):
        return shown, None
    verdict = {True: "met", False: "NOT MET", None: "not known"}[shown.met]
    return f"{verdict}: {shown.asked}: {shown.found}", shown.met


def _suite(name: str, tests: Sequence[tuple[str, int, str]], transactions: int) -> str:
    lines = [
        f'name = "{name}"',
        'title = "The first run on a GPU"',
        "[provenance]",
        'source = "bench/gpu_first.py"',
    ]
    for test, size, window in tests:
        lines += [
            "[[group]]",
            f'family = "{test.lower()}"',
            'loop = ["size", "window"]',
            f'tests = ["{test}"]',
            f"sizes = [{size}]",
            f'windows = ["{window}"]',
            'caches = ["host-warm"]',
            'patterns = ["random"]',
        ]
        if test.startswith("LAT") or "DMA" in test:
            moved = 8 << 30
            lines.append(f"transactions = {min(transactions, max(64, moved // size))}")
    return "\n".join(lines) + "\n"


def _rows(store: Store, metric: str, unit: str) -> Iterator[str]:
    for row in store.scalars.to_dict("records"):
        value = row.get(metric)
        shown = f"{value:.1f} {unit}" if value is not None and value == value else "no value"
        yield f"{row['name']} {row['size_bytes']} B, window {row['window_bytes']} B: {shown}"
    yield from _messages(store)


def _messages(store: Store) -> Iterator[str]:
    """What the store says about tests that failed."""
    failed = store.tests[store.tests["status"] != "ok"]
    yield from (f"{row['name']} {row['size_bytes']} B: {row['message']}" for row in failed.to_dict("records"))


def _median(store: Store) -> float:
    if "median" not in store.scalars:
        raise RunError(str(store.tests["message"].iloc[0]))
    return float(store.scalars["median"].iloc[0])


def _beside(store: Store, other: str, values: dict[str, float]) -> Iterator[str | Figure]:
    """Our copies of 64 MiB beside another program's."""
    if not values:
        yield f"{other}: not installed"
    for way, value in values.items():
        rows = store.scalars.query(f"name == 'BW_DMA_{way}' and size_bytes == {COPY_BYTES}")["bandwidth"].dropna()
        asked = (
            f"BW_DMA_{way} of {COPY_BYTES >> 20} MiB within {100 * COPIES_AGREE:g} % of {other}, {value:.1f} Gb/s"
        )
        if rows.empty:
            yield Figure(asked, "no value", None)
            continue
        own = float(rows.iloc[0])
        yield Figure(
            asked, f"{own:.1f} Gb/s, {100 * (own / value - 1):+.2f} %", abs(own / value - 1) <= COPIES_AGREE
        )


def _torch() -> dict[str, float]:
    """Rates of torch's copies, Gb/s; none where no Python here has torch."""
    for python in dict.fromkeys((sys.executable, shutil.which("python3") or sys.executable)):
        lines = _program(python, "-c", TORCH)
        found = {
            way: float(value) for way, _, value in (line.partition(" ") for line in lines) if way in NVBANDWIDTH
        }
        if found:
            return found
    return {}


def _nvbandwidth() -> dict[str, float]:
    """Rates of nvbandwidth's copies, Gb/s; none where it is not installed."""
    found = {}
    for way, test in NVBANDWIDTH.items():
        shown = "\n".join(_program("nvbandwidth", "-t", test, "-b", "64", "-i", "10"))
        if value := re.search(r"^SUM \S+ ([\d.]+)", shown, re.MULTILINE):
            found[way] = 8 * float(value[1])
    return found


def _program(*command: str) -> list[str]:
    """The lines that another program prints; none if it is missing, fails or takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PROGRAM_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return []
    return done.stdout.splitlines()


def _content(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return "unknown"


def _locked() -> str:
    most = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    return "without limit" if most == resource.RLIM_INFINITY else f"{most >> 20} MiB"


def main() -> None:
    """Carry out the steps, and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", help="as for pcielab run")
    parser.add_argument("--folder", type=Path, default=Path("gpu-first"))
    arguments = parser.parse_args()
    arguments.folder.mkdir(exist_ok=True)
    verdicts = []
    try:
        for line, verdict in carry_out(First(arguments.device, arguments.folder)):
            print(line, flush=True)
            verdicts.append(verdict)
    except InputError as error:
        sys.exit(f"error: {error}")
    print(f"\n{verdicts.count(True)} figures met, {verdicts.count(False)} not met or not measured")
    sys.exit(0 if False not in verdicts else 1)


if __name__ == "__main__":
    main()
