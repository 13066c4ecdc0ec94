"""Which of the requests whose data are ready does a root complex answer next? A table of simulated-machine.md.

A closed loop of its own, smaller than the simulator and independent of it: tags in turn, one round trip, a choice
among ready requests, a serial downlink, receive buffers, and the data engine. The choice is free: any ready
request with probability p, otherwise the oldest one. For each size and host, the p whose time per read is nearest
to the measured one says how much disorder the sweep of sizes shows. Other choices stand beside it at one host.
"""

import os
import random
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pcielab
from marked import write_between
from pcielab.analysis.calibrate import read_measured
from pcielab.library.profiles.parts import System

PAGE = Path("docs/concepts/simulated-machine.md")
START, END = "<!-- arbiter: make arbiter-kernels -->", "<!-- end of arbiter -->"
HOSTS = ("snb", "ib-000", "ib-011", "hsw2620")
SIZES = (128, 192, 256, 320, 384, 640, 768, 1280, 1792)
SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
REQUESTS = 12_000
WINDOW_BYTES = 8192
ROUND_TRIP_SHARE = 0.94
"""The round trip as a share of all tags' time per read of 64 B, where disorder costs 6 %."""
GEN3_X8_GBPS = 8 * 8 * 128 / 130
"""The link of all these hosts."""
DLLP_BYTES = 5
"""What DLLPs add to a completion, on average."""
SMALL_BYTES = 256
"""A choice is free only while a request of at most this size is ready (`small_request_bytes`)."""

Choice = Callable[[Sequence["Request"], random.Random], int]
"""From the ready requests, the oldest first, the position of the one to answer."""


@dataclass(slots=True)
class Request:
    """A read request: its times on the downlink and in the engine, and when its data are ready."""

    number: int
    size: int
    link_ns: float
    engine_ns: float
    ready_ns: float = 0.0


def mixture(share: float) -> Choice:
    """Any ready request with this probability, the oldest one otherwise."""
    return lambda ready, draw: draw.randrange(len(ready)) if draw.random() < share else 0


def oldest_few(count: int) -> Choice:
    """Any of the oldest few."""
    return lambda ready, draw: draw.randrange(min(count, len(ready)))


def slices(count: int) -> Choice:
    """The oldest of each slice of the cache in turn; addresses are spread over slices at random."""
    slice_of: dict[int, int] = {}
    turn = [0]

    def choose(ready: Sequence[Request], draw: random.Random) -> int:
        for request in ready:
            slice_of.setdefault(request.number, draw.randrange(count))
        for step in range(1, count + 1):
            wanted = (turn[0] + step) % count
            found = next((at for at, one in enumerate(ready) if slice_of[one.number] == wanted), None)
            if found is not None:
                turn[0] = wanted
                return found
        raise AssertionError("a ready request is in no slice")

    return choose


def requests(system: System, size: int, draw: random.Random) -> tuple[list[Request], float]:
    """Requests of reads of one size at random offsets in a window, and how many there are in a read."""
    link, engine = system.link, system.device.dma.engine
    ns_per_byte = 8 / GEN3_X8_GBPS * system.host.root_complex.downlink_stretch
    overhead = 20 + (4 if link.root_port_ecrc else 0)
    stride = -(-size // 64) * 64
    whole, rest = divmod(size, engine.segment_bytes)
    tail_ns = min((rest / engine.word_bytes + 1) * engine.word_ns, engine.segment_ns) if rest else 0.0
    engine_ns = engine.read_fixed_ns + whole * engine.segment_ns + tail_ns
    made: list[Request] = []
    reads = 0
    while len(made) < REQUESTS:
        reads += 1
        start = draw.randrange(WINDOW_BYTES // stride) * stride
        for at, length in _cut(start, size, link.mrrs_bytes):
            parts = [part for _, part in _cut(at, length, link.mps_bytes)]
            on_link = sum(-(-(part + overhead) // 8) * 8 + DLLP_BYTES for part in parts) * ns_per_byte
            made.append(Request(len(made), length, on_link, engine_ns * length / size))
    return made, len(made) / reads


def _cut(start: int, size: int, at_most: int) -> Iterator[tuple[int, int]]:
    end = start + size
    while start < end:
        length = min(at_most - start % at_most, end - start)
        yield start, length
        start += length


def time_per_read_ns(system: System, size: int, round_trip_ns: float, choose: Choice) -> float:
    """The time between two reads of a device that always has more to ask for."""
    draw = random.Random(1)
    made, per_read = requests(system, size, draw)
    tags, buffers = system.link.tags, system.device.dma.receive_buffers
    pace_ns = system.device.dma.busy_request_interval_ns
    answered: dict[int, float] = {}
    waiting: list[Request] = []
    held: deque[float] = deque()
    issued_ns = link_ns = engine_ns = started_ns = 0.0
    following = iter(made)
    upcoming = next(following, None)
    for done in range(len(made)):
        while upcoming is not None and (upcoming.number < tags or upcoming.number - tags in answered):
            issued_ns = max(issued_ns + pace_ns, answered.pop(upcoming.number - tags, 0.0))
            upcoming.ready_ns = issued_ns + round_trip_ns
            waiting.append(upcoming)
            upcoming = next(following, None)
        while len(held) >= buffers:
            link_ns = max(link_ns, held.popleft())
        link_ns = max(link_ns, min(one.ready_ns for one in waiting))
        ready = [one for one in waiting if one.ready_ns <= link_ns]
        free = any(one.size <= SMALL_BYTES for one in ready)
        request = ready[choose(ready, draw) if free else 0]
        waiting.remove(request)
        link_ns += request.link_ns
        answered[request.number] = link_ns
        engine_ns = max(engine_ns, link_ns) + request.engine_ns
        held.append(engine_ns)
        if done == len(made) // 5:
            started_ns = engine_ns
    return (engine_ns - started_ns) / (len(made) * 0.8 / per_read)


def measured_ns(system: str, data: Path) -> dict[int, float]:
    """Measured time per read by size, ns, in the sweep of sizes."""
    source = pcielab.resolve(system).provenance["system"].source.split()[0].rstrip(":")
    rows = read_measured(data / source).rows
    return {
        row.test["size_bytes"]: row.test["size_bytes"] * 8 / row.bandwidth_gbps
        for row in rows
        if row.family == "bw_dma_sz_sweep" and row.name == "BW_DMA_RD" and row.bandwidth_gbps
    }


def table(data: Path) -> list[str]:
    """Both tables."""
    measured = {host: measured_ns(host, data) for host in HOSTS}
    systems = {host: pcielab.resolve(host).system for host in HOSTS}
    trips = {host: ROUND_TRIP_SHARE * measured[host][64] * systems[host].link.tags for host in HOSTS}
    lines = ["| size, B | " + " | ".join(f"`{host}`" for host in HOSTS) + " |", "|---|" + "---|" * len(HOSTS)]
    for size in SIZES:
        cells = []
        for host in HOSTS:
            times = {share: time_per_read_ns(systems[host], size, trips[host], mixture(share)) for share in SHARES}
            best = min(times, key=lambda share: abs(times[share] - measured[host][size]))
            error = 100 * (times[best] / measured[host][size] - 1)
            cells.append(f"{best:g} ({error:+.0f} %)")
        lines.append(f"| {size} | {' | '.join(cells)} |")
        print(lines[-1], file=sys.stderr)
    host = HOSTS[-1]
    others: dict[str, Callable[[], Choice]] = {
        "any ready": lambda: mixture(1.0),
        "oldest 8": lambda: oldest_few(8),
        "oldest": lambda: mixture(0.0),
        "6 slices in turn": lambda: slices(6),
    }
    lines += ["", f"| size, B, on `{host}` | " + " | ".join(others) + " |", "|---|" + "---|" * len(others)]
    for size in SIZES:
        found = (time_per_read_ns(systems[host], size, trips[host], made()) for made in others.values())
        errors = " | ".join(f"{100 * (one / measured[host][size] - 1):+.0f} %" for one in found)
        lines.append(f"| {size} | {errors} |")
    return lines


def main() -> None:
    """Write the tables."""
    data = os.environ.get("PCIELAB_DATA") or sys.exit("arbiter-kernels: set PCIELAB_DATA to the published data")
    lines = table(Path(data))
    write_between(PAGE, START, END, lines)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
