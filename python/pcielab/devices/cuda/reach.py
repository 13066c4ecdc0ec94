"""Check, before anything is measured, that every read of host memory reaches the host.

The first check changes a word of the host while a kernel reads it: the kernel has to see the values. The second
reads lines again that have just been read: a cache of the GPU would return them in a fraction of the time.
"""

import time

import numpy as np

from pcielab.devices.cuda.compiler import ReadForm, latency_kernel
from pcielab.devices.cuda.opened import OpenCard

_CHANGES = 8
_CHANGE_SECONDS = 2e-3
_SEEN_LEAST = 4
"""A kernel reads a thousand times between two changes, and misses some only if others keep the GPU busy."""
_LIMIT_NS = 500_000_000
_LINES, _LINE_WORDS = 512, 16
_AGAIN_LEAST = 0.6
"""Least share of the first time that a second read takes; from a cache of the GPU, it takes a third."""


class CachedError(Exception):
    """Reads do not reach the host each time."""


def check_reach(card: OpenCard, buffer: int, read: ReadForm) -> None:
    """Run both checks.

    Args:
        card: The GPU.
        buffer: Its address of the host's buffer.
        read: The instruction that reads.

    Raises:
        CachedError: The GPU answered a read itself.
    """
    hint = f"device.read is {read}: give another of load, mmio, volatile, cv"
    seen = changes_seen(card)
    if seen < _SEEN_LEAST:
        raise CachedError(f"a kernel saw only {seen} of {_CHANGES} values that the host wrote: {hint}")
    size = 16 if read == "bulk" else 4
    kernel = latency_kernel(read, size, 1, writes_first=False)
    first, again = (median_cycles(card, buffer, kernel) for _ in range(2))
    if again < _AGAIN_LEAST * first:
        raise CachedError(
            f"lines of the host took {first:.0f} cycles, and {again:.0f} when read again, "
            f"from a cache of the GPU: {hint}"
        )


def changes_seen(card: OpenCard) -> int:
    """Count the values, among those that the host writes in turn, that a polling kernel sees."""
    word, address = card.shared_word
    word[0] = 0
    card.watch("watch", address, _CHANGES, _LIMIT_NS)
    time.sleep(_CHANGE_SECONDS)
    for value in range(1, _CHANGES + 1):
        word[0] = value
        time.sleep(_CHANGE_SECONDS)
    return card.finish("watching a word of the host").changes


def median_cycles(card: OpenCard, buffer: int, kernel: str) -> float:
    """Median time of a transfer of one piece, over lines at the start of the buffer, in cycles.

    Args:
        card: The GPU.
        buffer: Its address of the host's buffer.
        kernel: A kernel of `latency.cu`.
    """
    lines = card.memory("lines", 4 * _LINES)
    ticks = card.memory("ticks", 4 * _LINES)
    card.upload(lines, np.arange(_LINES, dtype=np.uint32) * _LINE_WORDS)
    card.run(kernel, 1, 32, buffer, lines, _LINES, 1, 0, 0, ticks)
    return float(np.median(card.download(ticks, _LINES)))
