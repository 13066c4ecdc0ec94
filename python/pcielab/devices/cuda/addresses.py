"""The addresses of a test in the card's memory: the list that every other device visits, as indices of words."""

import numpy as np
from numpy.typing import NDArray

from pcielab.devices.cuda.pattern import WORD_BYTES
from pcielab.devices.protocols import Start

LIST_LENGTH = 1 << 20
"""Places of the list that a test replays."""
_PIECE = 1 << 15
"""Made in one go, so that it stays in a core's cache."""


class AddressList:
    """Where the transfers of a test start, made and sent to the card as far as they are needed.

    A latency test uses its first address twice, and only then replays its list: its list here is one longer, and
    replayed from the second entry on.
    """

    def __init__(self, start: Start, words: NDArray[np.uint32] | None = None) -> None:
        """Those of the test that `start` begins; `words` is room for them, LIST_LENGTH + 1 entries."""
        self._start = start
        self._repeated = 1 if start.test.operation.startswith("lat-") else 0
        self.length = min(start.test.transactions, LIST_LENGTH + self._repeated)
        self._words = np.empty(LIST_LENGTH + 1, dtype=np.uint32) if words is None else words
        self.known = 0

    def piece(self, transaction: int, most: int) -> tuple[int, int]:
        """Index in the list of a transaction, and how many follow one another from there, `most` or fewer."""
        if transaction < self.length:
            index = transaction
        else:
            period = self.length - self._repeated
            index = (transaction - self._repeated) % period + self._repeated
        return index, min(most, self.length - index)

    def words(self, index: int, count: int) -> NDArray[np.uint32]:
        """Index of the first word of transfers; none that is made is made again."""
        while self.known < index + count:
            piece = min(_PIECE, index + count - self.known)
            offsets = self._start.offsets(self.known, piece)
            self._words[self.known : self.known + piece] = offsets // WORD_BYTES
            self.known += piece
        return self._words[index : index + count]
