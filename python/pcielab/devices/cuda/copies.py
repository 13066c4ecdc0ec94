"""The path `dma`: copies by the GPU's copy engines, one engine for each direction.

A batch of copies waits on its stream behind a gate, a word of host memory, and is released at once, so that the
engine's queue never runs dry. The engines' own events measure the time.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pcielab.devices.cuda.launches import LIST_LENGTH, AddressList, Pace
from pcielab.devices.cuda.limits import DMA_BYTES_LEAST
from pcielab.devices.cuda.opened import OpenCard
from pcielab.devices.cuda.pattern import MARK_UNIT, WORD_BYTES
from pcielab.devices.protocols import BandwidthSlice, Start
from pcielab.library.suites.benchmark import Parameters

_BEHIND_GATE = 256
"""Most copies of a direction behind a gate: beyond a few thousand, the driver blocks."""
_BYTES_PER_NS, _COPY_NS_LEAST = 64.0, 1000.0
_UNTOUCHED = 0xFFFF * MARK_UNIT
"""The mark of memory that a test overwrites."""
_LISTED_MOST = LIST_LENGTH
_READ_INTO, _WRITTEN_FROM = "window that is read into", "window that is written from"
"""Names of the GPU's memory."""


class Copies:
    """Tests on the path `dma`."""

    def __init__(self, card: OpenCard, address: int) -> None:
        """`address` is the address of the host's buffer in this process."""
        self._card, self._address = card, address
        self._streams = [card.stream, card.driver.stream()]
        self._events = [(card.driver.event(), card.driver.event()) for _ in self._streams]

    def warm_up(self) -> None:
        """Copy the first bytes of the host's buffer to the GPU and back.

        The driver sets an engine up at its first copy, and not while a gate is closed: that may never end.
        """
        gate, gate_on_card = self._card.shared_word
        gate[0] = 1
        pointer = self._card.memory(_READ_INTO, DMA_BYTES_LEAST)
        directions = [(pointer, self._address), (self._address, pointer)]
        for stream, (first, last), (destination, source) in zip(
            self._streams, self._events, directions, strict=True
        ):
            self._card.driver.hold(stream, gate_on_card, 1)
            self._card.driver.record(first, stream)
            self._card.driver.copy(destination, source, DMA_BYTES_LEAST, stream)
            self._card.driver.record(last, stream)
            self._card.wait_for(last, "the first copy")

    def prepare(self, test: Parameters, mark: int) -> None:
        """Fill the GPU's windows of a test: the data that it writes, and memory that its reads overwrite."""
        words = test.window_bytes // WORD_BYTES
        for name, content, wanted in (
            (_READ_INTO, _UNTOUCHED, test.operation != "bw-wr"),
            (_WRITTEN_FROM, mark, test.operation != "bw-rd"),
        ):
            if wanted:
                pointer = self._card.memory(name, test.window_bytes)
                self._card.start("fill", 1024, 256, pointer, 0, words, content, self._card.stop_flag)
                self._card.wait_for_stream("filling the GPU's memory")

    def bandwidth(self, start: Start, addresses: AddressList) -> Iterator[BandwidthSlice]:
        """Yield slices of a bandwidth test."""
        test, done = start.test, 0
        pace = Pace(max(test.size_bytes / _BYTES_PER_NS, _COPY_NS_LEAST))
        while done < test.transactions and not self._card.is_stopped:
            wanted = pace.next_count(min(test.transactions - done, _LISTED_MOST))
            slice_done, slice_ns = 0, 0.0
            # A slice may have several batches.
            while slice_done < wanted and not self._card.is_stopped:
                index, count = addresses.piece(done, min(wanted - slice_done, _BEHIND_GATE))
                words = addresses.words(index, count)
                slice_ns += self._batch(test, words, (test.transactions - done) & 1)
                slice_done += count
                done += count
            pace.took(slice_done, slice_ns)
            if slice_done:
                yield slice_done, slice_ns

    def _batch(self, test: Parameters, words: NDArray[np.uint32], turn: int) -> float:
        """Run a batch of copies behind a gate; the time from the first start to the last end, ns."""
        driver = self._card.driver
        gate, gate_on_card = self._card.shared_word
        gate[0] = 0
        into, out = (self._card.memory(name, 0) for name in (_READ_INTO, _WRITTEN_FROM))
        reads = [(into + at, self._address + at) for at in _offsets(words, test.operation, turn, writes=False)]
        writes = [(self._address + at, out + at) for at in _offsets(words, test.operation, turn, writes=True)]
        at_work = [pair for pair in zip(self._streams, self._events, (reads, writes), strict=True) if pair[2]]
        try:
            for stream, (first, last), copies in at_work:
                driver.hold(stream, gate_on_card, 1)
                driver.record(first, stream)
                for destination, source in copies:
                    driver.copy(destination, source, test.size_bytes, stream)
                driver.record(last, stream)
        finally:
            # Always open the gate: no stream may be left waiting.
            gate[0] = 1
        for _, (_, last), _ in at_work:
            self._card.wait_for(last, "copies")
        return max(driver.elapsed_ns(first, last) for _, (first, _), _ in at_work for _, (_, last), _ in at_work)

    def wrong_words(self, test: Parameters, read: NDArray[np.uint32]) -> int:
        """Count words read into the GPU that differ from the host's, of transfers that start at `read`."""
        units = np.unique(read)
        listed = self._card.memory("address list", WORD_BYTES * len(units))
        self._card.upload(listed, units)
        into = self._card.memory(_READ_INTO, 0)
        # A word may be read before or after it is written: its lower half is the same.
        mask = MARK_UNIT - 1 if test.operation == "bw-rdwr" else (1 << 32) - 1
        arguments = (into, listed, len(units), test.size_bytes // WORD_BYTES, 0, mask)
        report = self._card.run("compare", 1024, 256, *arguments)
        if report.done < len(units) and not self._card.is_stopped:
            raise RuntimeError(f"{report.done} of {len(units)} transfers were compared")
        return report.wrong


def _offsets(words: NDArray[np.uint32], operation: str, turn: int, *, writes: bool) -> list[int]:
    """Offsets of the reads, or of the writes, of a batch, bytes."""
    if operation == "bw-rdwr":
        # As on every device, a counter that runs down decides: odd values write.
        words = words[(turn ^ 1 if writes else turn) :: 2]
    elif (operation == "bw-wr") != writes:
        return []
    return [WORD_BYTES * word for word in words.tolist()]
