"""Free bus addresses for the BARs of a fabric whose file gives none."""

from collections.abc import Iterator
from typing import Any

from pcielab.errors import InputError

_FIRST = 0x10_0000_0000
"""Above the memory of hosts, which begins at 0."""


def with_addresses(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Described nodes, each BAR with an address; those without one follow the highest given one, in order.

    A BAR is aligned to its size, rounded up to a power of two.

    Raises:
        InputError: They do not fit into 64 bits.
    """
    given = [bar["address"] + bar["size_bytes"] for bar in _bars(nodes) if bar["address"] is not None]
    free = max([_FIRST, *given])
    for bar in _bars(nodes):
        if bar["address"] is None:
            alignment = 1 << (bar["size_bytes"] - 1).bit_length()
            bar["address"] = -(-free // alignment) * alignment
            free = bar["address"] + bar["size_bytes"]
    if free > 1 << 64:
        raise InputError("the BARs of all devices end beyond 2^64: give smaller bar_bytes or bar_addresses")
    return nodes


def _bars(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for node in nodes:
        for memory in node["device"]["memories"] if node["device"] else ():
            if memory["bar"]:
                yield memory["bar"]
