"""What a launch has: the addresses of a test's transfers in the GPU's memory, and how many of them."""

import numpy as np
from numpy.typing import NDArray

from pcielab.devices.cuda.pattern import WORD_BYTES
from pcielab.devices.protocols import Start

LIST_LENGTH = 1 << 20
"""Length of the list that a test replays."""
_PIECE = 1 << 15
"""Entries that are made at once, so that they stay in a core's cache."""


class AddressList:
    """Start addresses of a test's transfers, made and sent to the GPU on demand.

    A latency test uses its first address twice before it replays its list, so its list here has one more entry and
    is replayed from the second entry on.
    """

    def __init__(self, start: Start, words: NDArray[np.uint32] | None = None) -> None:
        """The list of the test of `start`; `words` is an optional buffer of LIST_LENGTH + 1 entries."""
        self._start = start
        self._repeated = 1 if start.test.operation.startswith("lat-") else 0
        self.length = min(start.test.transactions, LIST_LENGTH + self._repeated)
        self._words = np.empty(LIST_LENGTH + 1, dtype=np.uint32) if words is None else words
        self.known = 0

    def piece(self, transaction: int, most: int) -> tuple[int, int]:
        """List index of a transaction, and the number of consecutive entries from there, at most `most`."""
        if transaction < self.length:
            index = transaction
        else:
            period = self.length - self._repeated
            index = (transaction - self._repeated) % period + self._repeated
        return index, min(most, self.length - index)

    def words(self, index: int, count: int) -> NDArray[np.uint32]:
        """Indices of the first words of transfers; each entry is computed once."""
        while self.known < index + count:
            piece = min(_PIECE, index + count - self.known)
            offsets = self._start.offsets(self.known, piece)
            self._words[self.known : self.known + piece] = offsets // WORD_BYTES
            self.known += piece
        return self._words[index : index + count]


TARGET_NS = 20e6
"""Target duration of a launch, between 5 and 100 ms: long enough to hide its start, short enough to stop."""
_FIRST_NS = 6e6
_GROWTH_MOST = 4.0


class Pace:
    """The length of the next launch of a test."""

    def __init__(self, expected_ns: float) -> None:
        """`expected_ns` is the least expected time of a transfer."""
        self._transfer_ns = expected_ns
        self._launch_ns = _FIRST_NS

    def next_count(self, most: int, granule: int = 1) -> int:
        """Transfers of the next launch: at most `most`, a multiple of `granule` if that many are left."""
        count = int(min(max(self._launch_ns / self._transfer_ns, 1.0), most))
        return count - count % granule if count > granule else min(granule, most)

    def took(self, count: int, elapsed_ns: float) -> None:
        """Record the duration of a launch."""
        self._launch_ns = min(TARGET_NS, self._launch_ns * _GROWTH_MOST)
        if count > 0 and elapsed_ns > 0:
            self._transfer_ns = elapsed_ns / count
