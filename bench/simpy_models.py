"""The baseline: reads of 64 B by the same card on the same host, written in SimPy as people would write it.

Two forms. `resources` has a process per worker and a SimPy resource per server, which reads like the machine.
`timeouts` keeps servers as next-free times and has a process per tag, so that two timeouts are all that is left of
a read; with 95 workers behind 32 tags the tags are never idle, and the two forms agree.

Both take their times from the resolved system. They leave out what the simulator has besides: caches and their
history, translation, credits, the order of completions, other sizes than 64 B.
"""

from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass
from random import Random

import simpy

from pcielab.profiles.system import System

SIZE_BYTES = 64
_REQUEST_BYTES, _COMPLETION_BYTES = 24, 20 + SIZE_BYTES
"""On the wire: headers with 64-bit addresses, framing, sequence number, LCRC; 3 DW of header on completions."""


@dataclass(frozen=True)
class Times:
    """What a read meets on its way, in ns."""

    uplink: float
    flight: float
    request_interval: float
    access: float
    jitter: float
    downlink: float
    engine: float
    tags: int
    workers: int

    @classmethod
    def of(cls, system: System) -> "Times":
        """The times of a Gen3 x8 system for lines that the CPU wrote, in its cache."""
        host, engine = system.host.root_complex, system.device.dma.engine
        ns_per_byte = 130 / 128 / 8  # 8 lanes of 8 GT/s, 128b/130b
        return cls(
            uplink=_whole(_REQUEST_BYTES, system.device.uplink_quantum_bytes) * ns_per_byte * host.uplink_stretch,
            flight=host.flight_ns,
            request_interval=host.request_interval_ns,
            access=host.busy_read_ns + system.host.memory.host_line_ns,
            jitter=host.jitter_ns,
            downlink=_whole(_COMPLETION_BYTES, host.downlink_quantum_bytes) * ns_per_byte * host.downlink_stretch,
            engine=engine.read_fixed_ns + (SIZE_BYTES / engine.word_bytes + 1) * engine.word_ns,
            tags=system.link.tags,
            workers=system.device.dma.outstanding,
        )


def _whole(size_bytes: int, unit_bytes: int) -> int:
    return -(-size_bytes // unit_bytes) * unit_bytes


class FinishedError(Exception):
    """All reads are done: no failure, but how SimPy is stopped from within."""


class Reads:
    """Counts reads down; SimPy has no cheaper way to stop after a number of them."""

    def __init__(self, count: int) -> None:
        self.left = count

    def done(self) -> None:
        """One more is done."""
        self.left -= 1
        if self.left == 0:
            raise FinishedError


def resources(times: Times, count: int) -> float:
    """Simulates `count` reads with processes and resources; returns the simulated ns."""
    env, draws, reads = simpy.Environment(), Random(1), Reads(count)
    queue, uplink, gate, downlink, engine = (simpy.Resource(env) for _ in range(5))
    tags = simpy.Resource(env, times.tags)

    def serve(server: simpy.Resource, ns: float) -> Generator[simpy.Event]:
        with server.request() as turn:
            yield turn
            yield env.timeout(ns)

    def worker() -> Generator[simpy.Event]:
        while True:
            with queue.request() as turn:
                yield turn
                tag = tags.request()
                yield tag
                yield from serve(uplink, times.uplink)
            yield env.timeout(times.flight)
            yield from serve(gate, times.request_interval)
            yield env.timeout(times.access - times.request_interval + draws.uniform(-times.jitter, times.jitter))
            yield from serve(downlink, times.downlink)
            yield env.timeout(times.flight)
            tags.release(tag)
            yield from serve(engine, times.engine)
            reads.done()

    return _simulate(env, worker, times.workers)


def timeouts(times: Times, count: int) -> float:
    """Simulates `count` reads with nothing but timeouts; returns the simulated ns."""
    env, draws, reads = simpy.Environment(), Random(1), Reads(count)
    uplink_free = gate_free = downlink_free = engine_free = 0.0

    def tag() -> Generator[simpy.Event]:
        nonlocal uplink_free, gate_free, downlink_free, engine_free
        while True:
            uplink_free = max(uplink_free, env.now) + times.uplink
            admitted = max(gate_free, uplink_free + times.flight)
            gate_free = admitted + times.request_interval
            ready = admitted + times.access + draws.uniform(-times.jitter, times.jitter)
            yield env.timeout(ready - env.now)
            downlink_free = max(downlink_free, env.now) + times.downlink
            yield env.timeout(downlink_free + times.flight - env.now)
            engine_free = max(engine_free, env.now) + times.engine
            reads.done()

    return _simulate(env, tag, times.tags)


def _simulate(env: simpy.Environment, process: object, processes: int) -> float:
    for _ in range(processes):
        env.process(process())
    with suppress(FinishedError):
        env.run()
    return float(env.now)
