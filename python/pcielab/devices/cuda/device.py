"""A GPU as a device that runs the micro-benchmarks.

Every kernel is launched once before anything is measured. CUDA loads a kernel's code at its first launch
(`CUDA_MODULE_LOADING=LAZY`, the default). That takes milliseconds, between the event before the launch and the
start of the kernel. Loading may also wait for everything else on the GPU, and then never ends while a stream waits
for the host.
"""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pcielab import _core
from pcielab._core import generation_of
from pcielab.devices.cuda import pattern
from pcielab.devices.cuda.clocks import Clock, measure_steps
from pcielab.devices.cuda.commands import Commands
from pcielab.devices.cuda.compiler import TRANSFER_BYTES_MOST, ReadForm
from pcielab.devices.cuda.copies import Copies
from pcielab.devices.cuda.driver import Card, DriverError
from pcielab.devices.cuda.host import CudaHost
from pcielab.devices.cuda.launches import AddressList
from pcielab.devices.cuda.limits import DMA_BYTES_MOST, WARPS_OF_PROCESSOR, refusal
from pcielab.devices.cuda.link import Link
from pcielab.devices.cuda.monitor import Monitor
from pcielab.devices.cuda.opened import OpenCard
from pcielab.devices.cuda.reach import CachedError, check_reach
from pcielab.devices.facts import Condition, DeviceFacts, LinkFacts, Remarks, Timer
from pcielab.devices.protocols import BandwidthSlice, Device, LatencySlice, Start
from pcielab.library.suites.benchmark import Parameters

_FLITS_FROM = 6
_MARGIN = 1.002
"""Tolerance above a bound: steps of a clock, over some milliseconds."""
_READ = {"bw-rd": "read", "bw-wr": "write", "bw-rdwr": "rdwr"}


@cache
def ceiling_gbps(link: LinkFacts, operation: str, size_bytes: int) -> float | None:
    """The wire bound of the link by the specification, Gb/s in one direction; None if unknown."""
    from pcielab import model

    generation = None if link.rate_gtps is None else generation_of(link.rate_gtps)
    if generation is None or link.lanes is None:
        return None
    # Unknown MPS and MRRS count as the largest, which give the highest bound.
    asked = model.Link(
        generation=generation,
        flit_mode=generation >= _FLITS_FROM,
        lanes=link.lanes,
        mps_bytes=link.mps_bytes or 4096,
        mrrs_bytes=link.mrrs_bytes or 4096,
    )
    [row] = model.bandwidth(asked, [size_bytes])
    return float(getattr(row, _READ[operation]).gbps)


def check_ceiling(
    link: LinkFacts | None, operation: str, size_bytes: int, transactions: int, elapsed_ns: float
) -> None:
    """Check a slice of a bandwidth test against the bound of its link.

    Raises:
        RuntimeError: The bandwidth is above the bound.
    """
    most = None if link is None else ceiling_gbps(link, operation, size_bytes)
    if most is None:
        return
    counted = transactions / 2 if operation == "bw-rdwr" else transactions
    found = 8 * size_bytes * counted / elapsed_ns
    if found > most * _MARGIN:
        raise RuntimeError(
            f"{found:.2f} Gb/s is above the bound of the link, {most:.2f} Gb/s: part of it did not cross the "
            "link: the GPU may have answered from a cache"
        )


def launch_each_kernel(card: OpenCard, buffer: int) -> None:
    """Launch every kernel once, with no transfers, and wait for all of them.

    Args:
        card: The GPU.
        buffer: Its address of the host's buffer.
    """
    word, report, stop = card.shared_word[1], card.report, card.stop_flag
    # Kernels without transfers write their report, and touch nothing else of the memory that they are given.
    unused, none = card.report, 0
    arguments = {
        "latency": (buffer, unused, none, 1, 0, 0, unused, report, stop),
        "bandwidth": (buffer, unused, none, 1, 0, 0, 0, report, stop),
        "fill": (buffer, 0, none, 0, stop),
        "scatter": (buffer, 1, 0, none, stop),
        "compare": (buffer, unused, none, 1, 0, 0, report, stop),
        "clocks": (none, unused, stop),
        # `watch` reads for no time at all.
        "watch": (word, 0, none, report, stop),
    }
    for kernel in card.functions:
        card.start(kernel, 1, 32, *arguments[kernel.partition("_")[0]])
    card.wait_for_stream("the first launch of every kernel")


_Slice = TypeVar("_Slice", LatencySlice, BandwidthSlice)
DEADLINE_MS = 9000
"""For a driver that does not answer; a launch that does not end is given up after 4 s."""
_THRASH_BYTES = 128 << 20
_LINE_BYTES = 64
_WAKE_LAUNCHES = 50
_CLOCK_KHZ = 1_000_000
"""If the driver does not report the clock; every test measures its tick anyway."""
_WRITING = ("lat-wrrd", "bw-wr", "bw-rdwr")
_BANDWIDTHS = ("bw-rd", "bw-wr", "bw-rdwr")
_OPERATIONS = (
    *(f"command {operation}" for operation in ("lat-rd", "lat-wrrd", *_BANDWIDTHS)),
    *(f"dma {operation}" for operation in _BANDWIDTHS),
)


class CudaDevice(Device):
    """An open GPU."""

    def __init__(
        self,
        opened: OpenCard,
        card: Card,
        host: CudaHost,
        buffer: int,
        link: Link,
        monitor: Monitor,
        read: ReadForm,
    ) -> None:
        """Check the GPU. Raises `UnavailableError` if its reads do not reach the host."""
        self._opened, self._card, self._host, self._buffer = opened, card, host, buffer
        self._link, self._monitor, self._read = link, monitor, read
        self._warps_most = WARPS_OF_PROCESSOR * card.processors
        self._commands = Commands(opened, buffer, read, self._warps_most)
        self._copies = Copies(opened, host.address)
        self._nominal = Timer(1_000_000, card.clock_khz or _CLOCK_KHZ)
        self._start: Start | None = None
        self._addresses: AddressList | None = None
        self._clock = Clock(self._nominal)
        self._warps: int | None = None
        self._problem: Exception | None = None
        self._marked_bytes = 0
        with self._lost_or_failed():
            launch_each_kernel(opened, buffer)
            self._copies.warm_up()
            self._wake()
            self._steps = measure_steps(opened)
            try:
                check_reach(opened, buffer, read)
            except CachedError as error:
                raise _core.UnavailableError(f"--device cuda:{card.number}: {error}") from None
        self._on_pcie = not card.coherent and not card.integrated
        self._link_facts = link.fastest.facts(link.pci) if self._on_pcie else None

    def facts(self) -> DeviceFacts:
        """Facts of the GPU. The link is that under load: idle links run slower."""
        kind = ", integrated: not on PCIe" if self._card.integrated else ""
        kind = ", on a coherent link: not on PCIe" if self._card.coherent else kind
        return DeviceFacts(
            name=f"{self._card.name} (sm_{self._card.architecture}{kind})",
            timer=self._nominal,
            deadline_ms=DEADLINE_MS,
            dma_transfer_bytes_most=DMA_BYTES_MOST,
            command_transfer_bytes_most=TRANSFER_BYTES_MOST,
            outstanding=self._warps_most,
            address=self._card.address,
            vendor_id=self._link.pci.vendor_id,
            device_id=self._link.pci.device_id,
            driver=self._monitor.driver or "CUDA {}.{}".format(*self._opened.driver.version()),
            link=self._link_facts,
            operations=_OPERATIONS,
            latency_includes=("processor", "timer"),
        )

    def conditions(self) -> list[Condition]:
        """Clocks, links and sensors, and the warps of the last test."""
        clock, warps = self._clock.clock_mhz, self._warps
        return [
            Condition("processor_clock", "MHz", clock),
            Condition("warps", "1", None if warps is None else float(warps)),
            Condition("timer_step", "ns", float(self._steps.timer_ns)),
            Condition("clock_reading", "cycles", float(self._steps.reading_cycles)),
            *self._link.idle.conditions("idle_link"),
            *self._link.loaded.conditions("link"),
            *self._monitor.read().conditions(),
        ]

    def remarks(self) -> Remarks:
        """The tick of the last test, and remarks on its numbers."""
        link = self._link.remark() if self._on_pcie else None
        found = [self._clock.remark, link, *self._monitor.read().remarks()]
        return Remarks(timer=self._clock.timer, message="; ".join(text for text in found if text) or None)

    def begin(self, start: Start) -> None:
        """Prepare for the next test, and find its number of warps."""
        self._start, self._problem, self._warps = start, None, None
        self._clock = Clock(self._nominal)
        self._opened.begin(start.stop)
        self._link.begin_test()
        # A reading of the link could delay one of the reads that are timed one by one.
        reads_link = start.test.operation in _BANDWIDTHS
        self._opened.while_busy = self._link.read_under_load if reads_link else None
        self._restore()
        self._addresses = self._commands.begin(start)
        try:
            with self._lost_or_failed():
                if self._refusal(start.test) is None and self._finds_warps(start.test):
                    self._warps = self._commands.warps(start, self._addresses)
        except Exception as error:
            # Raised again by the test, where the runner handles it.
            self._problem = error.with_traceback(None)

    def thrash(self) -> None:
        """Write random lines over the whole buffer."""
        lines = self._host.buffer.size // _LINE_BYTES
        seed = 0 if self._start is None else self._start.position
        self._prepare("scatter", lines, seed, _THRASH_BYTES // _LINE_BYTES)

    def warm(self, window_bytes: int) -> None:
        """Write the window, twice."""
        if window_bytes > self._host.buffer.size:
            raise _core.NotSupportedError(
                f"window_bytes is {window_bytes}: the buffer has {self._host.buffer.size} bytes "
                "(host.buffer_bytes)"
            )
        for _ in range(2):
            self._prepare("fill", 0, window_bytes // pattern.WORD_BYTES, 0)

    def latency(self, test: Parameters) -> Generator[LatencySlice, None, None]:
        """Yield slices of a latency test."""
        start, addresses = self._begun(test)
        return self._checked(start, self._commands.latency(start, addresses, _mark(start), self._clock))

    def bandwidth(self, test: Parameters) -> Generator[BandwidthSlice, None, None]:
        """Yield slices of a bandwidth test."""
        start, addresses = self._begun(test)
        if test.path == "dma":
            with self._lost_or_failed():
                self._copies.prepare(test, _mark(start))
            slices = self._copies.bandwidth(start, addresses)
        else:
            assert self._warps is not None
            slices = self._commands.bandwidth(start, addresses, _mark(start), self._warps)
        return self._checked(start, self._below_ceiling(test, slices))

    def recover(self) -> None:
        """Recover from a failure, unless the GPU is lost."""
        if self._opened.lost:
            raise _core.DeviceLostError("the GPU does not answer any more")

    def close(self) -> None:
        """Release the GPU."""
        self._opened.close()

    def _begun(self, test: Parameters) -> tuple[Start, AddressList]:
        if reason := self._refusal(test):
            raise _core.NotSupportedError(reason)
        problem, self._problem = self._problem, None
        if problem is not None:
            raise problem
        assert self._start is not None
        assert self._addresses is not None
        if test.operation in _WRITING:
            self._marked_bytes = test.window_bytes
        return self._start, self._addresses

    def _restore(self) -> None:
        """Restore the buffer if a test has written its mark there."""
        if self._marked_bytes:
            self._host.restore(self._marked_bytes)
            self._marked_bytes = 0

    def _refusal(self, test: Parameters) -> str | None:
        return refusal(test, self._read, self._host.buffer.size, self._warps_most)

    def _finds_warps(self, test: Parameters) -> bool:
        return test.path == "command" and test.operation.startswith("bw-")

    def _below_ceiling(self, test: Parameters, slices: Iterator[BandwidthSlice]) -> Iterator[BandwidthSlice]:
        for transactions, elapsed_ns in slices:
            self._link.read_under_load()
            link = self._link.fastest.facts(self._link.pci) if self._on_pcie else None
            check_ceiling(link, test.operation, test.size_bytes, transactions, elapsed_ns)
            yield transactions, elapsed_ns

    def _checked(self, start: Start, slices: Iterator[_Slice]) -> Generator[_Slice, None, None]:
        """Pass slices on, and check memory afterwards, also after an early close."""
        done = 0
        with self._lost_or_failed():
            try:
                for results, elapsed_ns in slices:
                    # Right after a launch, the link still runs as under load.
                    self._link.read_under_load()
                    done += len(results) if isinstance(results, np.ndarray) else results
                    yield results, elapsed_ns
            except GeneratorExit:
                self._check_memory(start.test, done)
                raise
            self._check_memory(start.test, done)

    def _check_memory(self, test: Parameters, done: int) -> None:
        """Compare memory with the data that the finished transfers should have left."""
        assert self._addresses is not None
        if not done or self._opened.is_stopped:
            return
        words = self._addresses.words(0, min(done, self._addresses.length))
        if test.path == "dma" and test.operation != "bw-wr":
            read = _of_operation(words, test, writes=False)
            _refuse_wrong(self._copies.wrong_words(test, read) if len(read) else 0, "read", test)
        if test.operation in _WRITING:
            assert self._start is not None
            written = _of_operation(words, test, writes=True)
            wrong = self._wrong_in_buffer(test, written, _mark(self._start))
            self._restore()
            _refuse_wrong(wrong, "written", test)

    def _wrong_in_buffer(self, test: Parameters, written: NDArray[np.uint32], mark: int) -> int:
        unit_words = (
            -(-(test.size_bytes + test.host_offset_bytes) // _LINE_BYTES) * _LINE_BYTES // pattern.WORD_BYTES
        )
        window = self._host.words[: test.window_bytes // pattern.WORD_BYTES]
        return pattern.wrong_words(window, written, test.size_bytes // pattern.WORD_BYTES, unit_words, mark)

    def _prepare(self, kernel: str, *arguments: int) -> None:
        with self._lost_or_failed():
            blocks = self._card.processors * 4
            self._opened.start(kernel, blocks, 256, self._buffer, *arguments, self._opened.stop_flag)
            self._opened.wait_for_stream(kernel)

    def _wake(self) -> None:
        """Keep the GPU busy for a moment, and read its link: it runs at a low rate when idle."""
        self._opened.while_busy = self._link.read_under_load
        for _ in range(_WAKE_LAUNCHES):
            self._prepare("fill", 0, self._host.buffer.size // pattern.WORD_BYTES // 8, 0)
        self._link.read_under_load()

    @contextmanager
    def _lost_or_failed(self) -> Iterator[None]:
        """Turn a failed call of the driver into the loss of the device or the failure of a test."""
        try:
            yield
        except DriverError as error:
            raise self._opened.failure(error) from error


def _mark(start: Start) -> int:
    """The mark that a test adds to the words that it writes: never 0, and not that of the test before."""
    return pattern.MARK_UNIT * (1 + start.position % 0xFFF0)


def _of_operation(words: NDArray[np.uint32], test: Parameters, *, writes: bool) -> NDArray[np.uint32]:
    """The writes, or the reads, among a test's transfers."""
    if test.operation != "bw-rdwr":
        return words
    # As on every device, a counter that runs down decides: odd values write.
    first_write = (test.transactions & 1) ^ 1
    return words[first_write if writes else first_write ^ 1 :: 2]


def _refuse_wrong(wrong: int, how: str, test: Parameters) -> None:
    if wrong:
        raise RuntimeError(
            f"wrong data: {wrong} words of the window differ from those that {test.operation} should have {how}"
        )
