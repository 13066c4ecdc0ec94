"""Each word of the buffer depends on its address, and the check finds every wrong one."""

import numpy as np
import pytest

from pcielab.devices.cuda import pattern

WORDS = 16 * 1024
UNIT, OFFSET, SIZE = 48, 3, 40
MARK = 5 * pattern.MARK_UNIT


def memory() -> "np.ndarray[tuple[int], np.dtype[np.uint32]]":
    words = np.zeros(WORDS, dtype=np.uint32)
    pattern.fill(words)
    return words


def test_words_of_transfers_add_up_to_the_expected_sum() -> None:
    words = memory()
    firsts = np.array([0, 5, 5, WORDS - 40, 777], dtype=np.uint32)
    found = sum(int(words[first : first + 40].sum(dtype=np.uint64)) for first in firsts.tolist())
    assert found % (1 << 32) == pattern.expected_sum(firsts, 40)


def test_words_differ_in_their_lower_halves_too() -> None:
    lower = memory()[: 1 << 14] & 0xFFFF
    assert len(np.unique(lower)) == 1 << 14


def written(firsts: list[int]) -> "np.ndarray[tuple[int], np.dtype[np.uint32]]":
    words = memory()
    for first in set(firsts):
        words[first : first + SIZE] += np.uint32(MARK)
    return words


FIRSTS = [OFFSET, OFFSET + 7 * UNIT, OFFSET + 7 * UNIT, OFFSET + 300 * UNIT]


@pytest.mark.parametrize("chunk", [UNIT, 1 << 10, 1 << 18])
def test_correct_writes_have_no_wrong_word(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(pattern, "_CHUNK_WORDS", chunk)
    firsts = np.array(FIRSTS, dtype=np.uint32)
    assert pattern.wrong_words(written(FIRSTS), firsts, SIZE, UNIT, MARK) == 0


@pytest.mark.parametrize("index", [OFFSET + SIZE - 1, OFFSET - 1, OFFSET + SIZE, OFFSET + 8 * UNIT])
def test_changed_word_is_found(index: int) -> None:
    words = written(FIRSTS)
    words[index] ^= 1 << 20
    assert pattern.wrong_words(words, np.array(FIRSTS, dtype=np.uint32), SIZE, UNIT, MARK) == 1


def test_missing_transfer_is_found() -> None:
    words = written(FIRSTS[:-1])
    assert pattern.wrong_words(words, np.array(FIRSTS, dtype=np.uint32), SIZE, UNIT, MARK) == SIZE
