"""An open GPU: launches kernels and waits for them up to a deadline, and moves memory to and from it.

Every wait has a deadline. The flag that every kernel polls stops a launch that overruns. If that fails, the GPU is
lost: no further call is made to it, not even to release resources.
"""

import ctypes
import mmap
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcielab import _core
from pcielab.devices.cuda.compiler import ReadForm, compiled, kernels_of
from pcielab.devices.cuda.driver import LOST, Driver, DriverError

LAUNCH_SECONDS = 3.0
"""A launch takes at most 100 ms; after this time it is asked to stop."""
STOP_SECONDS = 1.0
"""Time that a launch has to stop."""
CARD_BYTES_MOST = 2 << 30
"""Most memory of the GPU that is taken."""
_REPORT_WORDS = 8
_POLL_SECONDS = 50e-6
_NEVER_NS = (1 << 64) - 1
_STAGING_BYTES = 8 << 20
_CONTROL_BYTES = 4096
_ZERO, _ONE, _REPORT, _WORD = 0, 8, 64, 256
"""Offsets in the control page: two constants, the report, and a word that a test may share with the GPU."""


@dataclass(frozen=True)
class Report:
    """The report of a launch: the words of `kernels/link.cuh`, and the time between the events around it.

    Attributes:
        event_ns: Time between the events before and after the launch.
        done: Transfers made, or another count of the kernel.
        first_ns: Start of the first warp, by the GPU's global timer.
        last_ns: End of the last warp.
        first_cycle: Start by the processor's clock, for a single warp.
        last_cycle: End, likewise.
        sum: Sum of the words read, each a number of 32 bits.
        changes: Number of changes of a word.
        wrong: Number of wrong words.
    """

    event_ns: float
    done: int
    first_ns: int
    last_ns: int
    first_cycle: int
    last_cycle: int
    sum: int
    changes: int
    wrong: int

    @property
    def elapsed_ns(self) -> float:
        """From the first start of a warp to the last end, ns."""
        return float(self.last_ns - self.first_ns)


class OpenCard:
    """A GPU with its context, two streams, and memory that both sides reach.

    Attributes:
        driver: The driver.
        stream: The stream for work.
        functions: The kernels, by name.
        lost: Whether the GPU was given up.
        while_busy: Called again and again during waits for work in flight, unless None.
    """

    def __init__(self, driver: Driver, number: int, architecture: int, read: ReadForm) -> None:
        """Open the GPU, and compile and find every kernel.

        Raises:
            DriverError: The GPU cannot be opened; nothing is leaked.
            CompileError: A kernel does not compile.
        """
        self.driver = driver
        self.lost = self._closed = False
        self.while_busy: Callable[[], None] | None = None
        self._allocated: dict[str, tuple[int, int]] = {}
        self._registered: list[int] = []
        self._stop: _core.Stop | None = None
        self._stop_sent = False
        kernels = kernels_of(read)
        code = {source: compiled(source, architecture, read) for source in kernels}
        driver.open(number)
        try:
            modules = {source: driver.load(machine_code) for source, machine_code in code.items()}
            self.functions = {
                kernel: driver.function(modules[source], kernel)
                for source, names in kernels.items()
                for kernel in names
            }
            self._staging = mmap.mmap(-1, _CONTROL_BYTES + _STAGING_BYTES)
            start = ctypes.addressof(ctypes.c_char.from_buffer(self._staging))
            self._control_address, self._staging_address = start, start + _CONTROL_BYTES
            self._control_on_card = self.register(start, _CONTROL_BYTES + _STAGING_BYTES)
            memory = np.frombuffer(self._staging, dtype=np.uint8)
            self._control, self._buffer = memory[:_CONTROL_BYTES], memory[_CONTROL_BYTES:]
            self._control[_ONE : _ONE + 4].view(np.uint32)[0] = 1
            self.stream, self._stop_stream = driver.stream(), driver.stream()
            self._first, self._last, self._read_back = driver.event(), driver.event(), driver.event()
            self.stop_flag = self.memory("stop flag", 256)
            self.report = self.memory("report", 8 * _REPORT_WORDS)
            self._set_stop(False, self.stream)
            self.wait_for_stream("clearing the stop flag")
        except BaseException:
            self.close()
            raise

    def begin(self, stop: _core.Stop) -> None:
        """Use the stop of a run, which also ends launches."""
        self._stop = stop

    @property
    def is_stopped(self) -> bool:
        """Whether the run is to end."""
        return self._stop is not None and self._stop.is_requested()

    def register(self, address: int, size_bytes: int) -> int:
        """Map memory of this process until the GPU is closed; the GPU's address of it."""
        pointer = self.driver.register(address, size_bytes)
        self._registered.append(address)
        return pointer

    def memory(self, name: str, size_bytes: int) -> int:
        """Memory of the GPU under a name; reuses an allocation that is large enough.

        Raises:
            NotSupportedError: More than `CARD_BYTES_MOST` would be taken.
        """
        pointer, old_bytes = self._allocated.get(name, (0, 0))
        if old_bytes >= size_bytes:
            return pointer
        taken = sum(size for _, size in self._allocated.values()) - old_bytes
        if taken + size_bytes > CARD_BYTES_MOST:
            raise _core.NotSupportedError(
                f"the {name} takes {size_bytes} bytes of the GPU's memory beside the {taken} in use: "
                f"at most {CARD_BYTES_MOST} in all: give a smaller window"
            )
        if pointer:
            del self._allocated[name]
            self.driver.free(pointer)
        pointer = self.driver.allocate(size_bytes)
        self._allocated[name] = (pointer, size_bytes)
        return pointer

    def upload(self, pointer: int, words: NDArray[Any]) -> None:
        """Copy an array into the GPU's memory, and wait for it."""
        content = np.ascontiguousarray(words).view(np.uint8).reshape(-1)
        for first in range(0, len(content), len(self._buffer)):
            piece = content[first : first + len(self._buffer)]
            self._buffer[: len(piece)] = piece
            self.driver.copy(pointer + first, self._staging_address, len(piece), self.stream)
            self.wait_for_stream("an upload")

    def download(self, pointer: int, count: int) -> NDArray[np.uint32]:
        """Copy words of 4 bytes from the GPU's memory, at most as many as the staging buffer holds."""
        size_bytes = 4 * count
        self.driver.copy(self._staging_address, pointer, size_bytes, self.stream)
        self.wait_for_stream("a download")
        return self._buffer[:size_bytes].view(np.uint32).copy()

    @property
    def shared_word(self) -> tuple[NDArray[np.uint32], int]:
        """A word of host memory that kernels and streams may read, and the GPU's address of it."""
        word = self._control[_WORD : _WORD + 4].view(np.uint32)
        return word, self._control_on_card + _WORD

    def run(self, kernel: str, blocks: int, threads: int, *arguments: int) -> Report:
        """Launch a kernel, whose last parameters are report and stop flag, and wait for it; its report.

        Raises:
            DeviceLostError: It neither ended nor stopped.
            RuntimeError: It did not end in time, but stopped.
        """
        self._clear_report()
        self.driver.record(self._first, self.stream)
        self.start(kernel, blocks, threads, *arguments, self.report, self.stop_flag)
        return self.finish(kernel)

    def start(self, kernel: str, blocks: int, threads: int, *arguments: int) -> None:
        """Put a kernel on the stream."""
        self._clear_stop()
        self.driver.launch(self.functions[kernel], blocks, threads, arguments, self.stream)

    def finish(self, name: str) -> Report:
        """Wait for the started kernel; its report."""
        self.driver.record(self._last, self.stream)
        self.driver.copy(self._control_address + _REPORT, self.report, 8 * _REPORT_WORDS, self.stream)
        self.wait_for_stream(name)
        elapsed_ns = self.driver.elapsed_ns(self._first, self._last)
        return Report(elapsed_ns, *(int(word) for word in self._report_words()))

    def watch(self, kernel: str, *arguments: int) -> None:
        """Launch a kernel of one warp and return at once; `finish` waits for it."""
        self._clear_report()
        self.driver.record(self._first, self.stream)
        self.start(kernel, 1, 32, *arguments, self.report, self.stop_flag)

    def _report_words(self) -> NDArray[np.uint64]:
        return self._control[_REPORT : _REPORT + 8 * _REPORT_WORDS].view(np.uint64)

    def _clear_report(self) -> None:
        words = self._report_words()
        words[:] = 0
        words[1] = _NEVER_NS
        self.driver.copy(self.report, self._control_address + _REPORT, 8 * _REPORT_WORDS, self.stream)
        self._clear_stop()

    def _clear_stop(self) -> None:
        """Clear the stop flag that ended a launch: the next one would end at once, too."""
        if self._stop_sent:
            self._set_stop(False, self.stream)
            self._stop_sent = False

    def wait_for_stream(self, name: str) -> None:
        """Wait until the stream is empty."""
        self.driver.record(self._read_back, self.stream)
        self.wait_for(self._read_back, name)

    def wait_for(self, event: int, name: str) -> None:
        """Wait until the GPU reaches an event.

        Raises:
            DeviceLostError: It neither reached it nor stopped.
            RuntimeError: It reached it only after a stop.
        """
        if self._poll(event, LAUNCH_SECONDS, heed_stop=True):
            return
        stopped_by_run = self.is_stopped
        self._send_stop()
        if not self._poll(event, STOP_SECONDS, heed_stop=False):
            self.lost = True
            raise _core.DeviceLostError(
                f"{name} did not end within {LAUNCH_SECONDS:g} s, nor within {STOP_SECONDS:g} s of a stop"
            )
        if not stopped_by_run:
            raise RuntimeError(f"{name} did not end within {LAUNCH_SECONDS:g} s and was stopped")

    def _poll(self, event: int, seconds: float, *, heed_stop: bool) -> bool:
        """Poll an event until it is done, the time is over, or the run is to end; whether it is done."""
        until = time.monotonic() + seconds
        while not self._is_done(event):
            if time.monotonic() > until or (heed_stop and self.is_stopped):
                return False
            if self.while_busy:
                self.while_busy()
            time.sleep(_POLL_SECONDS)
        return True

    def _is_done(self, event: int) -> bool:
        try:
            return self.driver.is_done(event)
        except DriverError as error:
            raise self.failure(error) from error

    def _send_stop(self) -> None:
        self._stop_sent = True
        self._set_stop(True, self._stop_stream)

    def _set_stop(self, stop: bool, stream: int) -> None:
        source = self._control_address + (_ONE if stop else _ZERO)
        self.driver.copy(self.stop_flag, source, 4, stream)

    def failure(self, error: DriverError) -> Exception:
        """Classify a failed call: the GPU is lost, or this test failed."""
        if error.code in LOST:
            self.lost = True
            return _core.DeviceLostError(str(error))
        return error

    def close(self) -> None:
        """Release everything, once; nothing of a lost GPU, whose context might block for ever."""
        if self.lost or self._closed:
            return
        self._closed = True
        for pointer, _ in self._allocated.values():
            self.driver.free(pointer)
        self._allocated.clear()
        for address in self._registered:
            self.driver.unregister(address)
        self._registered.clear()
        self.driver.close()
