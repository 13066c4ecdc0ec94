"""The baseline: reads of 64 B by the same device on the same host, in idiomatic SimPy.

`resources` has a process per worker, a SimPy resource per server, tags and receive buffers that are requested and
released, and a root complex that chooses among ready requests. `timeouts` keeps servers and buffers as next-free
times and has a process per tag, so that a read is two timeouts; it omits the order of tags and the choice among
requests.

Both take their times from the resolved system. They omit caches and their history, translation, credits, and sizes
other than 64 B.
"""

from collections import deque
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle
from random import Random

import simpy

from pcielab.library.profiles.parts import System

SIZE_BYTES = 64
_REQUEST_BYTES, _COMPLETION_BYTES = 24, 20 + SIZE_BYTES
"""On the wire: headers with 64-bit addresses, framing, sequence number, LCRC; 3 DW of header on completions."""


@dataclass(frozen=True)
class Times:
    """Times of a read's steps, ns, and numbers of resources."""

    uplink: float
    flight: float
    request_interval: float
    access: float
    jitter: float
    downlink: float
    engine: float
    buffers: int
    tags: int
    workers: int

    @classmethod
    def of(cls, system: System) -> "Times":
        """The times of a Gen3 x8 system, for lines that the CPU wrote and its cache holds."""
        host, engine = system.host.root_complex, system.device.dma.engine
        ns_per_byte = 130 / 128 / 8  # 8 lanes of 8 GT/s, 128b/130b
        # A gap follows each request, and DLLPs answer each completion.
        uplink_bytes = _whole(_REQUEST_BYTES, system.device.uplink_quantum_bytes)
        uplink_bytes += system.device.uplink_gap_bytes + system.device.uplink_dllp_bytes
        return cls(
            uplink=uplink_bytes * ns_per_byte * host.uplink_stretch,
            flight=host.flight_ns,
            request_interval=max(host.request_interval_ns, system.device.dma.busy_request_interval_ns),
            access=host.busy_read_ns + system.host.memory.host_line_ns,
            jitter=host.busy_jitter_ns,
            downlink=_whole(_COMPLETION_BYTES, host.downlink_quantum_bytes) * ns_per_byte * host.downlink_stretch,
            engine=engine.read_fixed_ns + (SIZE_BYTES / engine.word_bytes + 1) * engine.word_ns,
            buffers=system.device.dma.receive_buffers,
            tags=system.link.tags,
            workers=system.device.dma.outstanding,
        )


def _whole(size_bytes: int, unit_bytes: int) -> int:
    return -(-size_bytes // unit_bytes) * unit_bytes


class FinishedError(Exception):
    """All reads are done; stops SimPy from within."""


class Reads:
    """Counts reads down: SimPy's cheapest way to stop after a number of them."""

    def __init__(self, count: int) -> None:
        self.left = count

    def done(self) -> None:
        """Count one read."""
        self.left -= 1
        if self.left == 0:
            raise FinishedError


def resources(times: Times, count: int) -> float:
    """Simulate `count` reads with processes and resources; returns the simulated ns."""
    env, draws, reads = simpy.Environment(), Random(1), Reads(count)
    queue, uplink, gate, engine = (simpy.Resource(env) for _ in range(4))
    tags = [simpy.Resource(env) for _ in range(times.tags)]
    buffers = simpy.Resource(env, times.buffers)
    in_order = cycle(tags)
    ready: list[simpy.Event] = []
    any_ready = env.event()

    def serve(server: simpy.Resource, ns: float) -> Generator[simpy.Event]:
        with server.request() as turn:
            yield turn
            yield env.timeout(ns)

    def worker() -> Generator[simpy.Event]:
        while True:
            with queue.request() as turn:
                yield turn
                tag = next(in_order)
                in_use = tag.request()
                yield in_use
                yield from serve(uplink, times.uplink)
            yield env.timeout(times.flight)
            yield from serve(gate, times.request_interval)
            yield env.timeout(times.access - times.request_interval + draws.uniform(-times.jitter, times.jitter))
            answered = env.event()
            ready.append(answered)
            if not any_ready.triggered:
                any_ready.succeed()
            buffer = yield answered
            yield env.timeout(times.flight)
            tag.release(in_use)
            yield from serve(engine, times.engine)
            buffers.release(buffer)
            reads.done()

    def root_complex() -> Generator[simpy.Event]:
        nonlocal any_ready
        while True:
            if not ready:
                any_ready = env.event()
                yield any_ready
            chosen = ready.pop(draws.randrange(len(ready)))
            buffer = buffers.request()
            yield buffer
            yield env.timeout(times.downlink)
            chosen.succeed(buffer)

    env.process(root_complex())
    return _simulate(env, worker, times.workers)


def timeouts(times: Times, count: int) -> float:
    """Simulate `count` reads with timeouts alone; returns the simulated ns."""
    env, draws, reads = simpy.Environment(), Random(1), Reads(count)
    uplink_free = gate_free = downlink_free = engine_free = 0.0
    buffers = deque([0.0] * times.buffers)

    def tag() -> Generator[simpy.Event]:
        nonlocal uplink_free, gate_free, downlink_free, engine_free
        while True:
            uplink_free = max(uplink_free, env.now) + times.uplink
            admitted = max(gate_free, uplink_free + times.flight)
            gate_free = admitted + times.request_interval
            ready = admitted + times.access + draws.uniform(-times.jitter, times.jitter)
            yield env.timeout(ready - env.now)
            downlink_free = max(downlink_free, env.now, buffers.popleft()) + times.downlink
            arrival = downlink_free + times.flight
            engine_free = max(engine_free, arrival) + times.engine
            buffers.append(engine_free)
            yield env.timeout(arrival - env.now)
            reads.done()

    return _simulate(env, tag, times.tags)


def _simulate(env: simpy.Environment, process: object, processes: int) -> float:
    for _ in range(processes):
        env.process(process())
    with suppress(FinishedError):
        env.run()
    return float(env.now)
