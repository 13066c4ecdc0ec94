"""Whether reads of host memory reach the host each time: shown before anything is measured, not taken for granted.

Twice. The host changes a word while a kernel reads it, and every value has to be seen. And lines that have just
been read are read again: from a cache of the card they would come in a fraction of the time.
"""

import time

import numpy as np

from pcielab.devices.cuda.compiler import ReadForm
from pcielab.devices.cuda.limits import piece_bytes
from pcielab.devices.cuda.opened import OpenCard
from pcielab.library.suites.benchmark import Parameters

_CHANGES = 8
_CHANGE_SECONDS = 2e-3
_SEEN_LEAST = 4
"""A kernel reads a thousand times between two changes; only one that others keep off the card misses some."""
_LIMIT_NS = 500_000_000
_LINES, _LINE_WORDS = 512, 16
_AGAIN_LEAST = 0.6
"""Lines take at least this share of the time when they are read again: from a cache of the card, a third."""


class CachedError(Exception):
    """Reads do not reach the host each time."""


def check_reach(card: OpenCard, buffer: int, read: ReadForm) -> None:
    """Both checks.

    Args:
        card: The card.
        buffer: Where it sees the host's buffer.
        read: The instruction that reads.

    Raises:
        CachedError: A read was answered by the card itself.
    """
    hint = f"device.read is {read}: give another of load, mmio, volatile, cv"
    seen = changes_seen(card)
    if seen < _SEEN_LEAST:
        raise CachedError(f"of {_CHANGES} values that the host wrote, a kernel saw {seen}: {hint}")
    first, again = (median_cycles(card, buffer, read) for _ in range(2))
    if again < _AGAIN_LEAST * first:
        raise CachedError(
            f"lines of the host took {first:.0f} cycles, and {again:.0f} when they were read again: they came "
            f"from a cache of the card: {hint}"
        )


def changes_seen(card: OpenCard) -> int:
    """How many of the values that the host writes, one after the other, a kernel sees that reads all the time."""
    word, address = card.shared_word
    word[0] = 0
    card.watch("watch", "watch.cu", address, _CHANGES, _LIMIT_NS)
    time.sleep(_CHANGE_SECONDS)
    for value in range(1, _CHANGES + 1):
        word[0] = value
        time.sleep(_CHANGE_SECONDS)
    return card.finish("watching a word of the host").changes


def median_cycles(card: OpenCard, buffer: int, read: ReadForm) -> float:
    """Median time of a read, over lines at the start of the buffer, in cycles."""
    size = 16 if read == "bulk" else 4
    test = Parameters(
        operation="lat-rd",
        path="command",
        pattern="sequential",
        cache="host-warm",
        size_bytes=size,
        window_bytes=64 * _LINES,
    )
    piece = piece_bytes(test, read)
    lines = card.memory("lines", 4 * _LINES)
    ticks = card.memory("ticks", 4 * _LINES)
    card.upload(lines, np.arange(_LINES, dtype=np.uint32) * _LINE_WORDS)
    card.run(f"latency_read_{piece}", "latency.cu", 1, 32, buffer, lines, _LINES, size // piece, 0, 0, ticks)
    return float(np.median(card.download(ticks, _LINES)))
