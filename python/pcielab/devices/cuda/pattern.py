"""The pattern in host memory, which shows whether a transfer moved the right data.

The word of 4 bytes at index i holds `STEP * i + FIRST`, modulo 2^32, so that an address determines the data that a
transfer should read. A test of writes adds its mark to the words that it writes. Marks are multiples of 2^16, so
that the lower half of a word depends on its address alone. `kernels/link.cuh` has the same constants.
"""

import numpy as np
from numpy.typing import NDArray

STEP, FIRST = 2654435761, 305419896
WORD_BYTES = 4
MARK_UNIT = 1 << 16
"""Marks are multiples of this."""
_PAGE_WORDS = 1024
_CHUNK_WORDS = 1 << 18
"""Words that are checked at once, so that they stay in a core's cache."""
_PAGE = (np.arange(_PAGE_WORDS, dtype=np.uint64) * STEP + FIRST).astype(np.uint32)


def fill(words: NDArray[np.uint32], mark: int = 0) -> None:
    """Fill whole pages of memory with the pattern, from word 0 on."""
    pages = words.reshape(-1, _PAGE_WORDS)
    starts = (np.arange(len(pages), dtype=np.uint64) * (_PAGE_WORDS * STEP) + mark).astype(np.uint32)
    np.add(starts[:, None], _PAGE[None, :], out=pages)


def expected_sum(first_words: NDArray[np.uint32], words: int) -> int:
    """Expected sum of the words of transfers, modulo 2^32.

    Args:
        first_words: Index of each transfer's first word.
        words: Words of each.
    """
    count = len(first_words)
    starts = int(first_words.sum(dtype=np.uint64))
    within = count * (STEP * (words * (words - 1) // 2) + words * FIRST)
    return (words * STEP * starts + within) % (1 << 32)


def wrong_words(
    memory: NDArray[np.uint32], written: NDArray[np.uint32], words: int, unit_words: int, mark: int
) -> int:
    """Count wrong words after transfers wrote some of them with a mark.

    Args:
        memory: The window, from word 0 on.
        written: Index of the first word of each transfer, in any order, repeated or not.
        words: Words of each transfer.
        unit_words: Words of a unit of the window; every transfer starts at the same offset in its unit.
        mark: The mark that was added to each word.
    """
    offset = int(written[0]) % unit_words if len(written) else 0
    units = -(-len(memory) // unit_words)
    marks = np.zeros(units, dtype=np.uint32)
    marks[written // unit_words] = mark
    wrong = 0
    step = max(_CHUNK_WORDS // unit_words, 1)
    inside = np.arange(unit_words, dtype=np.uint32) * np.uint32(STEP & 0xFFFFFFFF)
    for unit in range(0, units, step):
        piece = memory[unit * unit_words : (unit + step) * unit_words]
        whole = len(piece) // unit_words
        starts = np.arange(unit, unit + whole, dtype=np.uint64) * (unit_words * STEP) + FIRST
        difference = piece[: whole * unit_words].reshape(whole, unit_words) - inside
        difference -= starts.astype(np.uint32)[:, None]
        difference[:, offset : offset + words] -= marks[unit : unit + whole, None]
        wrong += int(np.count_nonzero(difference))
    return wrong
