"""The address list of a test, the same as for every other device, as word indices in the GPU's memory."""

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
