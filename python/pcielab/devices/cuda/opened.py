"""A card in use: kernels launched and waited for by a deadline, and memory moved to and from it.

Nothing here waits without one: a launch that overruns is told to stop by the flag that every kernel looks at;
where that does not help, the card is lost, and from then on nothing is asked of it, not even to give things back.
"""

import ctypes
import mmap
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcielab import _core
from pcielab.devices.cuda.compiler import SOURCES, ReadForm, compiled
from pcielab.devices.cuda.driver import LOST, Driver, DriverError

LAUNCH_SECONDS = 3.0
"""A launch takes 100 ms at most: after so long it is told to stop."""
STOP_SECONDS = 1.0
"""After so long it must have."""
CARD_BYTES_MOST = 2 << 30
"""Memory of the card that is taken at most."""
_REPORT_WORDS = 8
_POLL_SECONDS = 50e-6
_NEVER_NS = (1 << 64) - 1
_STAGING_BYTES = 8 << 20
_CONTROL_BYTES = 4096
_ZERO, _ONE, _REPORT, _WORD = 0, 8, 64, 256
"""Places in the control page: two constants, the report, and a word that a test may share with the card."""


@dataclass(frozen=True)
class Report:
    """What a launch leaves behind; the words of `kernels/link.cuh`, and the time between the events around it.

    Attributes:
        event_ns: Time between the events before and after the launch.
        done: Transfers that were made, or whatever the kernel counts.
        first_ns: When the first warp started, by the card's global timer.
        last_ns: When the last one ended.
        first_cycle: The same by the clock of the processor, where there is only one warp.
        last_cycle: Likewise.
        sum: Of the words that were read, each as a number of 32 bits.
        changes: How often a word changed.
        wrong: Words that were not what they should be.
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
    """A card with its context, two streams, and memory that both sides reach.

    Attributes:
        driver: The driver.
        stream: Where work is put.
        lost: Whether it was given up.
    """

    def __init__(self, driver: Driver, number: int, architecture: int, read: ReadForm) -> None:
        """Opens it, every kernel compiled. Raises `DriverError` or `CompileError`, with nothing left behind."""
        self.driver = driver
        self.lost = self._closed = False
        self._allocated: dict[str, tuple[int, int]] = {}
        self._registered: list[int] = []
        self._stop: _core.Stop | None = None
        self._told_to_stop = False
        code = {source.name: compiled(source.name, architecture, read) for source in SOURCES.glob("*.cu")}
        driver.open(number)
        try:
            self._modules = {source: driver.load(machine_code) for source, machine_code in code.items()}
            self._staging = mmap.mmap(-1, _CONTROL_BYTES + _STAGING_BYTES)
            start = ctypes.addressof(ctypes.c_char.from_buffer(self._staging))
            self._control_address, self._staging_address = start, start + _CONTROL_BYTES
            self._control_on_card = self.register(start, _CONTROL_BYTES + _STAGING_BYTES)
            memory = np.frombuffer(self._staging, dtype=np.uint8)
            self._control, self._room = memory[:_CONTROL_BYTES], memory[_CONTROL_BYTES:]
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
        """Takes over what asks a run to end: launches are told to stop with it."""
        self._stop = stop

    @property
    def is_stopped(self) -> bool:
        """Whether the run is to end."""
        return self._stop is not None and self._stop.is_requested()

    # Memory.

    def register(self, address: int, size_bytes: int) -> int:
        """Memory of this process, for as long as the card is open; where the card sees it."""
        pointer = self.driver.register(address, size_bytes)
        self._registered.append(address)
        return pointer

    def memory(self, name: str, size_bytes: int) -> int:
        """Memory of the card under a name: what was there is used again if it is large enough.

        Raises:
            NotSupportedError: With it more than `CARD_BYTES_MOST` would be taken.
        """
        pointer, there_bytes = self._allocated.get(name, (0, 0))
        if there_bytes >= size_bytes:
            return pointer
        taken = sum(size for _, size in self._allocated.values()) - there_bytes
        if taken + size_bytes > CARD_BYTES_MOST:
            raise _core.NotSupportedError(
                f"the {name} takes {size_bytes} bytes of the card's memory beside the {taken} that are taken: "
                f"{CARD_BYTES_MOST} at most: give a smaller window"
            )
        if pointer:
            del self._allocated[name]
            self.driver.free(pointer)
        pointer = self.driver.allocate(size_bytes)
        self._allocated[name] = (pointer, size_bytes)
        return pointer

    def upload(self, pointer: int, words: NDArray[Any]) -> None:
        """Copy an array into the card's memory, and wait for it."""
        content = np.ascontiguousarray(words).view(np.uint8).reshape(-1)
        for first in range(0, len(content), len(self._room)):
            piece = content[first : first + len(self._room)]
            self._room[: len(piece)] = piece
            self.driver.copy(pointer + first, self._staging_address, len(piece), self.stream)
            self.wait_for_stream("an upload")

    def download(self, pointer: int, count: int) -> NDArray[np.uint32]:
        """Words of 4 bytes from the card's memory, as many as there is room for at once at most."""
        size_bytes = 4 * count
        self.driver.copy(self._staging_address, pointer, size_bytes, self.stream)
        self.wait_for_stream("a download")
        return self._room[:size_bytes].view(np.uint32).copy()

    @property
    def shared_word(self) -> tuple[NDArray[np.uint32], int]:
        """A word of the host that kernels and streams may look at, and where the card sees it."""
        word = self._control[_WORD : _WORD + 4].view(np.uint32)
        return word, self._control_on_card + _WORD

    # Work.

    def run(self, kernel: str, source: str, blocks: int, threads: int, *arguments: int) -> Report:
        """Launch a kernel, whose last parameters are report and stop flag, and wait for it; what it left behind.

        Raises:
            DeviceLostError: It did not end, and did not stop when it was told to.
            RuntimeError: It did not end in time, and stopped when it was told to.
        """
        self._clear_report()
        self.driver.record(self._first, self.stream)
        self.start(kernel, source, blocks, threads, *arguments, self.report, self.stop_flag)
        return self.finish(kernel)

    def start(self, kernel: str, source: str, blocks: int, threads: int, *arguments: int) -> None:
        """Put a kernel on the stream."""
        self.driver.launch(self._modules[source], kernel, blocks, threads, arguments, self.stream)

    def finish(self, what: str) -> Report:
        """Wait for what was started; the report."""
        self.driver.record(self._last, self.stream)
        self.driver.copy(self._control_address + _REPORT, self.report, 8 * _REPORT_WORDS, self.stream)
        self.wait_for_stream(what)
        elapsed_ns = self.driver.elapsed_ns(self._first, self._last)
        return Report(elapsed_ns, *(int(word) for word in self._report_words()))

    def watch(self, kernel: str, source: str, *arguments: int) -> None:
        """Launch a kernel of one warp and come back at once; `finish` waits for it."""
        self._clear_report()
        self.driver.record(self._first, self.stream)
        self.start(kernel, source, 1, 32, *arguments, self.report, self.stop_flag)

    def _report_words(self) -> NDArray[np.uint64]:
        return self._control[_REPORT : _REPORT + 8 * _REPORT_WORDS].view(np.uint64)

    def _clear_report(self) -> None:
        words = self._report_words()
        words[:] = 0
        words[1] = _NEVER_NS
        self.driver.copy(self.report, self._control_address + _REPORT, 8 * _REPORT_WORDS, self.stream)
        if self._told_to_stop:
            self._set_stop(False, self.stream)
            self._told_to_stop = False

    # Waiting.

    def wait_for_stream(self, what: str) -> None:
        """Wait until everything on the stream is done."""
        self.driver.record(self._read_back, self.stream)
        self.wait_for(self._read_back, what)

    def wait_for(self, event: int, what: str) -> None:
        """Wait until the card came by an event.

        Raises:
            DeviceLostError: It did not, and did not stop either.
            RuntimeError: It did only once it was told to stop.
        """
        if self._poll(event, LAUNCH_SECONDS, heed_stop=True):
            return
        stopped_by_run = self.is_stopped
        self._tell_to_stop()
        if not self._poll(event, STOP_SECONDS, heed_stop=False):
            self.lost = True
            raise _core.DeviceLostError(
                f"{what} did not end within {LAUNCH_SECONDS:g} s, nor within {STOP_SECONDS:g} s of being told to"
            )
        if not stopped_by_run:
            raise RuntimeError(f"{what} did not end within {LAUNCH_SECONDS:g} s: it was told to stop, and did")

    def _poll(self, event: int, seconds: float, *, heed_stop: bool) -> bool:
        """Look whether the card came by, until it did, or the time is over, or the run is to end."""
        until = time.monotonic() + seconds
        while not self._is_done(event):
            if time.monotonic() > until or (heed_stop and self.is_stopped):
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def _is_done(self, event: int) -> bool:
        try:
            return self.driver.is_done(event)
        except DriverError as error:
            raise self.failure(error) from error

    def _tell_to_stop(self) -> None:
        self._told_to_stop = True
        self._set_stop(True, self._stop_stream)

    def _set_stop(self, stop: bool, stream: int) -> None:
        source = self._control_address + (_ONE if stop else _ZERO)
        self.driver.copy(self.stop_flag, source, 4, stream)

    def failure(self, error: DriverError) -> Exception:
        """What a failed call means: that the card is gone, or that this test failed."""
        if error.code in LOST:
            self.lost = True
            return _core.DeviceLostError(str(error))
        return error

    def close(self) -> None:
        """Give everything back, once; nothing of a card that is lost, whose context might wait for ever."""
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
