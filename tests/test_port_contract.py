"""One contract for every way into the simulated host: rates at the closed form, credits, and the order of TLPs.

The ways here are a trace, the port in Python and the C library, each with a device of this test. SimBricks
(`crates/pcie-port/tests/simbricks`) and cocotb (`rtl/tb/test_read_dma.py`) have to agree with a trace to the
picosecond, and keep the same rates. `test_port_rules.py` has limits of TLPs and reads that fail, and
`test_port_engines.py` engines. `make port-contract` takes all hosts and sizes.
"""

import atexit
import functools
import subprocess
from collections import deque
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree, which
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING

import pytest

from pcielab import _core, bounds
from pcielab.library.profiles import resolve
from pcielab.port import trace

if TYPE_CHECKING:
    from pcielab.library.profiles import ResolvedSystem

ROOT = Path(__file__).parents[1]
CRATE = ROOT / "crates" / "pcie-port"
LIBRARY = ROOT / "target" / "debug" / "libpcie_port.a"

PLAIN = ["link.tags=256", "chunk_addresses=[34359738368]"]
"""No read waits for a tag, and every address of the buffer takes 64 bits."""
HOSTS = ["hsw2620", "snb-iommu", "clx-6234", "icx-6346"]
QUICK_HOSTS = [pytest.param(host, marks=[pytest.mark.slow] if host != "hsw2620" else []) for host in HOSTS]
SIZES = [64, 256, 1024, 4096]
KINDS = {"bw-rd": "r", "bw-wr": "w", "bw-rdwr": "rw"}
TLPS = 4000

Line = tuple[bool, int, int]
"""Whether a TLP writes, its offset and its bytes."""
Times = list[tuple[int, int]]
"""When each TLP had a tag and credits, and when it was done, ps."""


def tlps(system: "ResolvedSystem", kinds: str, size: int) -> list[Line]:
    """Transfers of a size, of some kinds in turn over 64 KiB, cut into TLPs."""
    link, number = system.system.link, 0
    lines: list[Line] = []
    while len(lines) < TLPS:
        write = kinds[number % len(kinds)] == "w"
        most = link.mps_bytes if write else link.mrrs_bytes
        start = number * size % (64 << 10)
        lines += [(write, start + at, min(most, size - at)) for at in range(0, size, most)]
        number += 1
    return lines


def text_of(lines: list[Line]) -> str:
    words = (f"0 {'write' if write else 'read'} {offset} {size}\n" for write, offset, size in lines)
    return f"{trace.HEADER}\n{''.join(words)}"


def by_trace(system: "ResolvedSystem", lines: list[Line]) -> Times:
    return [(one.sent_ps, one.done_ps) for one in trace.play(system, text_of(lines))]


class Engine:
    """A device with one queue in front of the port, from the port's public interface alone."""

    def __init__(self, system: "ResolvedSystem") -> None:
        self.port = _core.HostPort(system.handle, "cold", 0, 1)
        self.advertised = self.port.credits
        self.free_tags = deque(range(system.system.link.tags))
        self.owners: dict[int, int] = {}
        self.times: dict[int, list[int]] = {}
        self.now = 0

    def run(self, lines: list[Line]) -> Times:
        for number, (write, offset, size) in enumerate(lines):
            address = self.port.address(offset)
            assert address is not None
            while not (self.free_tags or write) or not self._has_room(write, address, size):
                self._pass_time()
            tag = 0 if write else self.free_tags.popleft()
            _, arrived, _ = self.port.submit("write" if write else "read", tag, address, size, self.now)
            self.times[number] = [self.now, arrived]
            self.owners |= {} if write else {tag: number}
            self._check_credits()
        while self.port.next_ps is not None:
            self._pass_time()
        assert self.port.credits == self.advertised, "credits that did not come back"
        return [(sent, done) for sent, done in self.times.values()]

    def _has_room(self, write: bool, address: int, size: int) -> bool:
        return self.port.has_room("write" if write else "read", 0 if write else self.free_tags[0], address, size)

    def _pass_time(self) -> None:
        assert self.port.next_ps is not None, "a TLP waits for nothing"
        self.port.advance(self.port.next_ps)
        while (event := self.port.take()) is not None:
            kind, at, tag, *_, last, _ = event
            self.now = max(self.now, at)
            if kind == "completion" and last:
                self.times[self.owners.pop(tag)][1] = at
                self.free_tags.append(tag)
        self._check_credits()

    def _check_credits(self) -> None:
        assert all(0 <= left <= most for left, most in zip(self.port.credits, self.advertised, strict=True))


def by_port(system: "ResolvedSystem", lines: list[Line]) -> Times:
    return Engine(system).run(lines)


@functools.cache
def player() -> Path:
    """The C library's example, as a program."""
    program = Path(mkdtemp()) / "player"
    atexit.register(rmtree, program.parent)
    source = CRATE / "examples" / "play_trace.c"
    command = ["cc", "-std=c99", f"-I{CRATE / 'include'}", source, LIBRARY, "-lpthread", "-ldl", "-lm"]
    subprocess.run([*map(str, command), "-o", str(program)], check=True)
    return program


def in_c(system: "ResolvedSystem", lines: list[Line]) -> Times:
    if not LIBRARY.exists() or which("cc") is None:
        pytest.skip(f"needs cc and the library: make {LIBRARY.relative_to(ROOT)}")
    with TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "system.json").write_text(system.to_json())
        (folder / "dma.trace").write_text(text_of(lines))
        played = subprocess.run(
            [player(), "system.json", "dma.trace"], cwd=folder, check=True, capture_output=True, text=True
        )
    rows = (line.split() for line in played.stdout.splitlines())
    return [(int(sent), int(done)) for _, sent, done in rows]


WAYS: dict[str, Callable[["ResolvedSystem", list[Line]], Times]] = {"trace": by_trace, "port": by_port, "C": in_c}


def cases() -> list[object]:
    """Hosts, sizes and kinds; all but a few only in `make port-contract`."""
    every = [(host, size, test) for host in HOSTS for size in SIZES for test in KINDS]
    quick = {("hsw2620", 64, "bw-wr"), ("hsw2620", 256, "bw-rdwr"), ("clx-6234", 1024, "bw-rd")}
    return [pytest.param(*case, marks=() if case in quick else pytest.mark.slow) for case in every]


def bound_gbps(host: str, size: int, test: str) -> float:
    """The closed form, for a device that does not limit it."""
    ideal = resolve(host, [*PLAIN, "device=direct-dma"])
    return float(bounds(ideal, test=test, size=size, window="64K").frame["bandwidth_gbps"].iloc[0])


def rate_gbps(lines: list[Line], times: Times, write: bool) -> float:
    """The rate of the reads or of the writes, behind the first visits of the window's pages and before the end.

    It counts what was done: credits let a device send ahead of the link, but not be done ahead of it.
    """
    done = sorted((at, length) for (_, at), (kind, _, length) in zip(times, lines, strict=True) if kind == write)
    middle = done[3 * len(done) // 8 : 3 * len(done) // 4]
    return 8000 * sum(length for _, length in middle[1:]) / (middle[-1][0] - middle[0][0])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("host", "size", "test"), cases())
def test_rates_are_within_two_percent_of_the_closed_form(way: str, host: str, size: int, test: str) -> None:
    system = resolve(host, PLAIN)
    lines = tlps(system, KINDS[test], size)
    times = WAYS[way](system, lines)
    assert len(times) == len(lines)
    # In a mix, the kind whose direction has time left runs ahead until the other has no tags: the slower counts.
    gbps = min(rate_gbps(lines, times, write) for write in {write for write, *_ in lines})
    bound = bound_gbps(host, size, test)
    assert 0.98 * bound < gbps < 1.002 * bound, (gbps, bound)


@pytest.mark.parametrize("way", ["port", "C"])
def test_a_mix_takes_the_times_of_a_trace(way: str) -> None:
    system = resolve("snb-iommu", ["link.tags=16"])
    lines = [
        (number % 3 == 0, number * 4160 % (1 << 20), 60 + number % 196)
        for number in range(1500)
        if number * 4160 % 4096 + 60 + number % 196 <= 4096
    ]
    assert WAYS[way](system, lines) == by_trace(system, lines)


@pytest.mark.parametrize("way", WAYS)
def test_a_read_does_not_pass_the_writes_before_it(way: str) -> None:
    system = resolve("hsw2620")
    [(_, alone)] = WAYS[way](system, [(False, 0, 64)])
    *writes, (_, read) = WAYS[way](system, [*((True, 256 * number, 256) for number in range(60)), (False, 0, 64)])
    assert read > max(done for _, done in writes) > alone


@pytest.mark.parametrize("host", QUICK_HOSTS)
@pytest.mark.parametrize("way", WAYS)
def test_a_read_beside_writes_waits_for_no_more_than_the_credits_hold(way: str, host: str) -> None:
    system, size = resolve(host, PLAIN), 256
    lines = [(True, 256 * (number % 256), size) for number in range(TLPS)]
    reads = range(TLPS // 4, TLPS, 97)
    for number in reads:
        lines[number] = (False, 256 * (number % 256), 64)
    times = WAYS[way](system, lines)
    [(_, alone)] = WAYS[way](system, [(False, 0, 64)])
    slowest = max(times[number][1] - times[number][0] for number in reads)
    headers, data, _ = _core.HostPort(system.handle, "cold", 0, 1).credits
    ideal = resolve(host, [*PLAIN, "device=direct-dma"])
    write_ps = (
        8000 * size / float(bounds(ideal, test="bw-wr", size=size, window="64K").frame["bandwidth_gbps"].iloc[0])
    )
    in_front = min(headers, 16 * data // size)
    # A refresh of memory may meet the read.
    refresh_ps = 1000 * system.system.host.memory.refresh.duration_ns
    assert alone < slowest < alone + (in_front + 1) * write_ps + refresh_ps, (slowest, alone, in_front)
