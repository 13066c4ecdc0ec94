"""A driver without a GPU, for tests: it executes the kernels in NumPy, with faults on request.

Memory is real: kernels read and write the host's buffer. Time is made up from a round trip, a rate and a clock, so
that numbers are reproducible. Host memory has different addresses for the GPU and the host, and an address that is
neither registered nor allocated is illegal, as on a GPU.
"""

import ctypes
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pcielab.devices.cuda.compiler import LANES
from pcielab.devices.cuda.driver import Card, DriverError
from pcielab.devices.cuda.pattern import FIRST, STEP

CARD = Card(
    number=0,
    name="Stand-in",
    address="ffff:ff:1f.7",
    architecture=90,
    processors=8,
    clock_khz=1_980_000,
    l2_bytes=50 << 20,
    memory_bytes=8 << 30,
    copy_engines=2,
)
LOADING_NS = 5e6
"""Time of a kernel's first launch, before it starts: CUDA loads its code there."""
_SEEN_BY_GPU = 1 << 52
_GPU_MEMORY = 1 << 60


@dataclass
class Faults:
    """Faults of the stand-in. Those of launches begin with a kernel's second launch: the first one only loads it.

    Attributes:
        failing_launches: Kernels whose launch fails, with the error.
        hanging: Kernels that do not end until the stop flag is set.
        deaf: Whether they ignore the stop flag, too.
        wrong_reads: Kernels that read a wrong value.
        wrong_writes: Whether one bit of the written words is wrong.
        wrong_copies: Whether one bit of a copy behind a gate is wrong.
        lazy: Whether launches make fewer transfers than asked for.
        cached: Whether reads come from a cache of the GPU.
        slow_clock: Share of its clock at which a processor runs in every second launch.
        slow_events: Whether the time of events differs from that of the clocks.
        refused_registrations: Registrations that succeed before one is refused; None for all.
        exclusive: Whether another process uses the GPU exclusively.
    """

    failing_launches: dict[str, str] = field(default_factory=dict)
    hanging: tuple[str, ...] = ()
    deaf: bool = False
    wrong_reads: tuple[str, ...] = ()
    wrong_writes: bool = False
    wrong_copies: bool = False
    lazy: bool = False
    cached: bool = False
    slow_clock: float = 1.0
    slow_events: bool = False
    refused_registrations: int | None = None
    exclusive: bool = False


class StandIn:
    """`Driver` in NumPy.

    Attributes:
        faults: May be changed at any time.
        launches: Names of the kernels that were launched.
        calls: Functions, launches, large copies and records, each with its kernel, its direction, or its event.
        start_events: Events from which a time was taken.
        open_contexts: Opened contexts that are not closed yet.
        own_seconds: Processor time of the stand-in itself, to subtract from that of its caller.
        host_thrashes: How often the host was asked to make its caches cold.
        round_trip_ns: Time of a read.
        bytes_per_ns: Rate of the link.
    """

    def __init__(
        self, faults: Faults | None = None, cards: Sequence[Card] = (CARD,), version: tuple[int, int] = (13, 0)
    ) -> None:
        self.faults = faults or Faults()
        self.launches: list[str] = []
        self.calls: list[tuple[str, str | int]] = []
        self.start_events: set[int] = set()
        self.open_contexts = 0
        self.own_seconds = 0.0
        self.host_thrashes = 0
        self.round_trip_ns, self.bytes_per_ns = 1000.0, 25.0
        self._cards, self._version = list(cards), version
        self._now_ns = 1e9
        self._cycles = 1e6
        self._host: dict[int, int] = {}
        self._memory: dict[int, NDArray[np.uint8]] = {}
        self._next_pointer = _GPU_MEMORY
        self._modules: list[str] = []
        self._functions: list[str] = []
        self._streams: list[deque[Callable[[], bool]]] = []
        self._events: list[float | None] = []
        self._lost: str | None = None
        self._gated: set[int] = set()
        self._slept_seconds = 0.0
        self._look: Callable[[], None] = lambda: None

    # The protocol.

    def version(self) -> tuple[int, int]:
        return self._version

    def cards(self) -> list[Card]:
        return self._cards

    def open(self, number: int) -> None:
        if self.faults.exclusive:
            raise _error("cuDevicePrimaryCtxRetain", "CUDA_ERROR_DEVICE_UNAVAILABLE")
        self.open_contexts += 1

    def close(self) -> None:
        self.open_contexts -= 1
        assert not self._host, "host memory is still registered"

    def register(self, address: int, size_bytes: int) -> int:
        left = self.faults.refused_registrations
        if left is not None and len(self._host) >= left:
            raise _error("cuMemHostRegister", "CUDA_ERROR_INVALID_VALUE")
        assert address % 4096 == 0
        self._host[address] = size_bytes
        return address + _SEEN_BY_GPU

    def unregister(self, address: int) -> None:
        del self._host[address]

    def allocate(self, size_bytes: int) -> int:
        pointer = self._next_pointer
        # A gap, so that a write beyond an allocation does not reach the next one.
        self._next_pointer += -(-size_bytes // 4096) * 4096 + 4096
        self._memory[pointer] = np.zeros(size_bytes, dtype=np.uint8)
        return pointer

    def free(self, pointer: int) -> None:
        del self._memory[pointer]

    def load(self, code: bytes) -> int:
        self._modules.append(code.decode())
        return len(self._modules) - 1

    def stream(self) -> int:
        self._streams.append(deque())
        return len(self._streams) - 1

    def function(self, module: int, kernel: str) -> int:
        assert _family(kernel)[0] == self._modules[module]
        self.calls.append(("function", kernel))
        self._functions.append(kernel)
        return len(self._functions) - 1

    def launch(self, function: int, blocks: int, threads: int, arguments: Sequence[int], stream: int) -> None:
        self._check()
        assert all(0 <= argument < 1 << 64 for argument in arguments)
        kernel = self._functions[function]
        is_first = kernel not in self.launches
        self.launches.append(kernel)
        self.calls.append(("launch", kernel))
        if is_first:
            self._streams[stream].append(self._loading)
        elif code := self.faults.failing_launches.get(kernel):
            raise _error("cuLaunchKernel", code)
        running = self._running(kernel, _family(kernel)[1], blocks, arguments, is_first=is_first)
        self._streams[stream].extend([_InFlight(), running])

    @property
    def is_busy(self) -> bool:
        """Whether work is in flight."""
        return any(self._streams)

    def _loading(self) -> bool:
        self._now_ns += LOADING_NS
        return True

    def _running(
        self,
        kernel: str,
        execute: "Callable[..., None]",
        blocks: int,
        arguments: Sequence[int],
        *,
        is_first: bool,
    ) -> Callable[[], bool]:
        """A launch as a function that is polled until it returns True."""
        if kernel == "watch":
            return self._watching(arguments)
        stop = arguments[-1]

        def step() -> bool:
            if kernel in self.faults.hanging and not is_first:
                return bool(self._words(stop, 1)[0]) and not self.faults.deaf
            if self._words(stop, 1)[0]:
                return True
            execute(self, kernel, blocks, *arguments)
            return True

        return step

    def _watching(self, arguments: Sequence[int]) -> Callable[[], bool]:
        """`watch`, which looks at the word whenever the host sleeps, and whenever it is polled."""
        word, last, limit_ns, report, stop = arguments
        seen, flag = self._words(word, 1), self._words(stop, 1)
        until = self._slept_seconds + limit_ns / 1e9
        changes, before, is_over = 0, 0, False

        def look() -> None:
            nonlocal changes, before, is_over
            if is_over:  # the word may be gone with its GPU
                return
            now = 0 if self.faults.cached else int(seen[0])
            changes += now != before
            before = now
            is_over = now == last or bool(flag[0]) or self._slept_seconds >= until

        def step() -> bool:
            look()
            if is_over:
                self._quads(report, 8)[6] = changes
            return is_over

        self._look = look
        return step

    def note_thrash(self) -> None:
        """Count a thrash of the host's caches, which then stay as they are."""
        self.host_thrashes += 1

    def monotonic(self) -> float:
        """The host's clock, s: only sleep moves it, so that a limit is a number of polls on every machine."""
        return self._slept_seconds

    def sleep(self, seconds: float) -> None:
        """Move the host's clock."""
        self._slept_seconds += seconds
        self._look()

    def copy(self, destination: int, source: int, size_bytes: int, stream: int) -> None:
        self._check()
        if size_bytes >= 4096:
            self.calls.append(("large copy", "from GPU" if source >= _GPU_MEMORY else "to GPU"))

        def step() -> bool:
            self._bytes(destination, size_bytes)[:] = self._bytes(source, size_bytes)
            if size_bytes >= 4096:
                self._now_ns += size_bytes / self.bytes_per_ns
                if self.faults.wrong_copies and stream in self._gated:
                    self._bytes(destination, size_bytes)[17] ^= 1
            return True

        self._streams[stream].append(step)

    def hold(self, stream: int, address: int, value: int) -> None:
        self._check()
        word = self._words(address, 1)
        if int(word[0]) != value:
            self._gated.add(stream)
        self._streams[stream].append(lambda: int(word[0]) == value)

    def event(self) -> int:
        self._events.append(None)
        return len(self._events) - 1

    def record(self, event: int, stream: int) -> None:
        self._check()
        self.calls.append(("record", event))
        self._events[event] = None

        def step() -> bool:
            self._events[event] = self._now_ns
            return True

        self._streams[stream].append(step)

    def is_done(self, event: int) -> bool:
        self._check()
        started = time.process_time()
        for stream in self._streams:
            while stream and stream[0]():
                stream.popleft()
        self.own_seconds += time.process_time() - started
        return self._events[event] is not None

    def elapsed_ns(self, first: int, last: int) -> float:
        self.start_events.add(first)
        start, end = self._events[first], self._events[last]
        assert start is not None
        assert end is not None
        return (end - start) * (1.5 if self.faults.slow_events else 1.0)

    # Memory, as the GPU sees it.

    def _check(self) -> None:
        if self._lost:
            raise _error("a call", self._lost)

    def lose(self, code: str = "CUDA_ERROR_LAUNCH_FAILED") -> None:
        """Make every later call fail, as after a fault of the GPU."""
        self._lost = code

    def _bytes(self, address: int, size_bytes: int) -> NDArray[np.uint8]:
        for pointer, memory in self._memory.items():
            if pointer <= address and address + size_bytes <= pointer + len(memory):
                return memory[address - pointer : address - pointer + size_bytes]
        for start, length in self._host.items():
            for seen in (start, start + _SEEN_BY_GPU):
                if seen <= address and address + size_bytes <= seen + length:
                    own = start + address - seen
                    return np.frombuffer((ctypes.c_uint8 * size_bytes).from_address(own), dtype=np.uint8)
        self.lose("CUDA_ERROR_ILLEGAL_ADDRESS")
        raise _error("a kernel", "CUDA_ERROR_ILLEGAL_ADDRESS")

    def _words(self, address: int, count: int) -> NDArray[np.uint32]:
        return self._bytes(address, 4 * count).view(np.uint32)

    def _quads(self, address: int, count: int) -> NDArray[np.uint64]:
        return self._bytes(address, 8 * count).view(np.uint64)

    def _transfers(self, base: int, firsts: NDArray[np.uint32], words: int) -> "NDArray[np.uint32]":
        """The words of transfers, a row each."""
        most = int(firsts.max()) + words
        memory = self._words(base, most)
        return np.lib.stride_tricks.sliding_window_view(memory, words)[firsts]

    def _write(self, base: int, firsts: NDArray[np.uint32], words: int, mark: int) -> None:
        if not len(firsts):
            return
        memory = self._words(base, int(firsts.max()) + words)
        indices = (np.unique(firsts)[:, None] + np.arange(words, dtype=np.uint32)).reshape(-1)
        memory[indices] = in_order(indices, mark)
        if self.faults.wrong_writes:
            memory[indices[-1]] ^= 1 << 7

    # The kernels.

    def _latency(
        self,
        kernel: str,
        _blocks: int,
        base: int,
        listed: int,
        count: int,
        pieces: int,
        mark: int,
        zeros: int,
        ticks: int,
        report: int,
        _stop: int,
    ) -> None:
        assert zeros == 0
        count -= self.faults.lazy and count > 0
        piece, loads = (int(number) for number in kernel.split("_")[-2:])
        assert pieces <= LANES * loads, f"{kernel} cannot move {pieces} pieces"
        words = pieces * piece // 4
        firsts = self._words(listed, count)
        ns = self.round_trip_ns
        if "write_read" in kernel:
            self._write(base, firsts, words, mark)
            ns += 100
        if self.faults.cached and self.launches.count(kernel) > 2:
            ns /= 4
        clock = CARD.clock_khz / 1e6 * (self.faults.slow_clock if self.launches.count(kernel) % 2 else 1.0)
        each = np.full(count, ns * clock, dtype=np.uint32)
        each += np.arange(count, dtype=np.uint32) % 3
        self._words(ticks, count)[:] = each
        quads = self._quads(report, 8)
        quads[0], quads[1], quads[3] = count, self._now_ns, self._cycles
        self._cycles += float(each.sum(dtype=np.uint64)) + 50 * count
        self._now_ns += (float(each.sum(dtype=np.uint64)) + 50 * count) / clock
        quads[2], quads[4] = self._now_ns, self._cycles
        quads[5] = self._read(kernel, base, firsts, words)

    def _read(self, kernel: str, base: int, firsts: NDArray[np.uint32], words: int) -> int:
        if not len(firsts):
            return 0
        found = int(self._transfers(base, firsts, words).sum(dtype=np.uint64))
        return found + (kernel in self.faults.wrong_reads)

    def _bandwidth(
        self,
        kernel: str,
        blocks: int,
        base: int,
        listed: int,
        count: int,
        pieces: int,
        writes: int,
        turn: int,
        mark: int,
        report: int,
        _stop: int,
    ) -> None:
        words = pieces * int(kernel.rpartition("_")[2]) // 4
        firsts = self._words(listed, count)
        turns = (turn ^ np.arange(count)) & 1
        written = firsts if writes == 1 else firsts[turns == 1] if writes == 2 else firsts[:0]
        read = firsts[:0] if writes == 1 else firsts[turns == 0] if writes == 2 else firsts
        quads = self._quads(report, 8)
        if len(read):
            quads[5] = self._read(kernel, base, read, words)
        if len(written):
            self._write(base, written, words, mark)
        each = max(self.round_trip_ns / blocks, words * 4 / self.bytes_per_ns, 1.0)
        quads[0], quads[1] = count - (self.faults.lazy and count > 0), min(int(quads[1]), int(self._now_ns))
        self._now_ns += count * each
        quads[2] = max(int(quads[2]), int(self._now_ns))

    def _fill(self, _kernel: str, _blocks: int, base: int, first: int, count: int, mark: int, _stop: int) -> None:
        indices = np.arange(first, first + count, dtype=np.uint32)
        self._words(base + 4 * first, count)[:] = in_order(indices, mark)
        self._now_ns += 4 * count / self.bytes_per_ns

    def _scatter(
        self, _kernel: str, _blocks: int, base: int, lines: int, seed: int, count: int, _stop: int
    ) -> None:
        drawn = np.random.default_rng(seed).integers(0, lines, size=min(count, 1 << 12), dtype=np.uint32)
        self._write(base, drawn * 16, 16, 0)
        self._now_ns += 64 * count / self.bytes_per_ns

    def _compare(
        self,
        _kernel: str,
        _blocks: int,
        base: int,
        listed: int,
        count: int,
        words: int,
        mark: int,
        mask: int,
        report: int,
        _stop: int,
    ) -> None:
        firsts = self._words(listed, count)
        wrong = 0
        for first in firsts.tolist():
            wanted = in_order(np.arange(first, first + words, dtype=np.uint32), mark)
            wrong += int(np.count_nonzero((self._words(base + 4 * first, words) ^ wanted) & np.uint32(mask)))
        quads = self._quads(report, 8)
        quads[0], quads[7] = count, wrong

    def _clocks(self, _kernel: str, _blocks: int, count: int, readings: int, _stop: int) -> None:
        pairs = self._quads(readings, 2 * count).reshape(-1, 2)
        pairs[:, 0] = 32 * (np.arange(count, dtype=np.uint64) // 3) + 1000
        pairs[:, 1] = 20 * np.arange(count, dtype=np.uint64)


def in_order(indices: NDArray[np.uint32], mark: int) -> NDArray[np.uint32]:
    """The pattern of the words with these indices, with a mark."""
    return (indices.astype(np.uint64) * STEP + FIRST + mark).astype(np.uint32)


class _InFlight:
    """Keep a stream busy for one poll, so that launches are seen in flight."""

    def __init__(self) -> None:
        self._polls = 0

    def __call__(self) -> bool:
        self._polls += 1
        return self._polls > 1


def _family(kernel: str) -> "tuple[str, Callable[..., None]]":
    """File and implementation of a kernel."""
    return next(found for name, found in _KERNELS.items() if kernel.startswith(name))


def _error(call: str, code: str) -> DriverError:
    return DriverError(call, code, "on purpose")


_KERNELS: dict[str, tuple[str, Callable[..., None]]] = {
    "latency_": ("latency.cu", StandIn._latency),
    "bandwidth_": ("bandwidth.cu", StandIn._bandwidth),
    "fill": ("memory.cu", StandIn._fill),
    "scatter": ("memory.cu", StandIn._scatter),
    "compare": ("memory.cu", StandIn._compare),
    "clocks": ("watch.cu", StandIn._clocks),
    "watch": ("watch.cu", lambda *_: None),
}
"""The beginning of each kernel's name, with its file and its implementation."""
