"""The path `command`: reads and writes that the GPU's processors issue, one warp for each transfer."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcielab.devices.cuda.clocks import Clock, check_events
from pcielab.devices.cuda.compiler import ReadForm, latency_kernel
from pcielab.devices.cuda.launches import LIST_LENGTH, AddressList, Pace
from pcielab.devices.cuda.limits import piece_bytes
from pcielab.devices.cuda.opened import OpenCard, Report
from pcielab.devices.cuda.pattern import MARK_UNIT, WORD_BYTES, expected_sum
from pcielab.devices.protocols import BandwidthSlice, LatencySlice, Start
from pcielab.library.suites.benchmark import Parameters

_TICKS_MOST = 1 << 16
"""Most latencies of a launch."""
_LATENCY_NS = 1500.0
_BYTES_PER_NS = 64.0
_TRANSFER_NS_LEAST = 2.0
"""First guesses of a transfer's time: a round trip, or a share of a fast link."""
_WRITES = {"bw-rd": 0, "bw-wr": 1, "bw-rdwr": 2}
_PROBE_NS = 5e6
_WARPS_LEAST = 16
_GAIN_LEAST = 1.01


@dataclass(frozen=True)
class Shape:
    """Pieces of the transfers of a test."""

    words: int
    piece: int
    pieces: int

    @classmethod
    def of(cls, test: Parameters, read: ReadForm) -> "Shape":
        """The shape of a test."""
        piece = piece_bytes(test, read)
        return cls(test.size_bytes // WORD_BYTES, piece, test.size_bytes // piece)


class Commands:
    """Tests on the path `command`."""

    def __init__(self, card: OpenCard, buffer: int, read: ReadForm, warps_most: int) -> None:
        """`buffer` is the GPU's address of the host's buffer."""
        self._card, self._buffer, self._read, self._warps_most = card, buffer, read, warps_most
        self._list = card.memory("address list", WORD_BYTES * (LIST_LENGTH + 1))
        self._ticks = card.memory("ticks", 4 * _TICKS_MOST)
        self._words = np.empty(LIST_LENGTH + 1, dtype=np.uint32)
        self._sent = 0
        self._found: dict[tuple[str, int, int], int] = {}

    def begin(self, start: Start) -> AddressList:
        """Make the address list of a test."""
        self._sent = 0
        return AddressList(start, self._words)

    def latency(self, start: Start, addresses: AddressList, mark: int, clock: Clock) -> Iterator[LatencySlice]:
        """Yield slices of a latency test."""
        test, shape, done = start.test, Shape.of(start.test, self._read), 0
        writes = test.operation == "lat-wrrd"
        kernel = latency_kernel(self._read, shape.piece, shape.pieces, writes_first=writes)
        pace = Pace(_LATENCY_NS)
        while done < test.transactions:
            asked = pace.next_count(min(test.transactions - done, _TICKS_MOST))
            index, count = addresses.piece(done, asked)
            words = self._send(addresses, index, count)
            report = self._card.run(
                kernel,
                1,
                32,
                self._buffer,
                self._list + WORD_BYTES * index,
                count,
                shape.pieces,
                mark,
                0,
                self._ticks,
            )
            if not self._is_whole(report, count, kernel):
                return
            _check_sum(report.sum, words, shape.words, mark if writes else 0, 1 << 32)
            check_events(report)
            clock.took(report)
            pace.took(count, report.elapsed_ns)
            done += count
            yield self._card.download(self._ticks, count), report.elapsed_ns

    def bandwidth(self, start: Start, addresses: AddressList, mark: int, warps: int) -> Iterator[BandwidthSlice]:
        """Yield slices of a bandwidth test with `warps` warps in flight."""
        test, done = start.test, 0
        pace = Pace(_expected_ns(test))
        while done < test.transactions:
            asked = pace.next_count(min(test.transactions - done, LIST_LENGTH), granule=2 * warps)
            index, count = addresses.piece(done, asked)
            report = self._transfers(test, addresses, done, index, count, mark, warps)
            if not self._is_whole(report, count, test.operation):
                return
            self._check_reads(test, addresses, done, index, count, report)
            check_events(report)
            pace.took(count, report.elapsed_ns)
            done += count
            yield count, report.elapsed_ns

    def warps(self, start: Start, addresses: AddressList) -> int:
        """Warps in flight of a bandwidth test: as requested, or doubled until the gain is below 1 %.

        The search makes transfers: prepare the test afterwards.
        """
        test = start.test
        if test.outstanding is not None:
            return test.outstanding
        key = (test.operation, test.size_bytes, test.host_offset_bytes)
        if key not in self._found:
            self._found[key] = self._probed(test, addresses)
        return self._found[key]

    def _probed(self, test: Parameters, addresses: AddressList) -> int:
        warps, before, transfer_ns = _WARPS_LEAST, 0.0, _expected_ns(test)
        while warps <= self._warps_most:
            most = min(test.transactions, LIST_LENGTH)
            index, count = addresses.piece(0, max(1, min(int(_PROBE_NS / transfer_ns), most)))
            report = self._transfers(test, addresses, 0, index, count, 0, warps)
            if report.done < count or report.elapsed_ns <= 0:
                break
            rate = count / report.elapsed_ns
            if rate < _GAIN_LEAST * before:
                break
            before, transfer_ns, warps = rate, 1 / rate, 2 * warps
        return max(warps // 2, min(_WARPS_LEAST, self._warps_most))

    def _transfers(
        self, test: Parameters, addresses: AddressList, first: int, index: int, count: int, mark: int, warps: int
    ) -> Report:
        shape = Shape.of(test, self._read)
        self._send(addresses, index, count)
        return self._card.run(
            f"bandwidth_{shape.piece}",
            warps,
            32,
            self._buffer,
            self._list + WORD_BYTES * index,
            count,
            shape.pieces,
            _WRITES[test.operation],
            (test.transactions - first) & 1,
            mark,
        )

    def _send(self, addresses: AddressList, index: int, count: int) -> NDArray[np.uint32]:
        """Copy a part of the list to the GPU, unless it is there already."""
        words = addresses.words(index, count)
        if self._sent < index + count:
            self._card.upload(
                self._list + WORD_BYTES * self._sent, addresses.words(self._sent, index + count - self._sent)
            )
            self._sent = index + count
        return words

    def _is_whole(self, report: Report, count: int, name: str) -> bool:
        """Whether a launch made all transfers; only a stopped one may have made fewer."""
        if report.done == count and report.elapsed_ns > 0:
            return True
        if self._card.is_stopped:
            return False
        raise RuntimeError(f"{name}: {report.done} of {count} transfers were made, in {report.elapsed_ns:.0f} ns")

    def _check_reads(
        self, test: Parameters, addresses: AddressList, first: int, index: int, count: int, report: Report
    ) -> None:
        words = addresses.words(index, count)
        size_words = test.size_bytes // WORD_BYTES
        if test.operation == "bw-rd":
            _check_sum(report.sum, words, size_words, 0, 1 << 32)
        elif test.operation == "bw-rdwr":
            # A word may be read before or after it is written: its lower half is the same.
            _check_sum(report.sum, words[(test.transactions - first) & 1 :: 2], size_words, 0, MARK_UNIT)


def _expected_ns(test: Parameters) -> float:
    return max(test.size_bytes / _BYTES_PER_NS, _TRANSFER_NS_LEAST)


def _check_sum(found: int, words: NDArray[np.uint32], size_words: int, mark: int, modulus: int) -> None:
    wanted = expected_sum(words, size_words) + len(words) * size_words * mark
    if (found - wanted) % modulus:
        raise RuntimeError(
            f"wrong data: {len(words)} transfers of {WORD_BYTES * size_words} bytes read words that add up to "
            f"{found % modulus}, and should add up to {wanted % modulus}"
        )
