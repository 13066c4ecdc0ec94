"""Tests of messages: their words, and their parameters as in the simulator and the store.

Written by `make generate` from `crates/pcie-workload/src/messages.rs`: change the types there.
"""

from typing import Literal, TypeAlias, TypedDict

Way: TypeAlias = Literal["uncached", "write-combined", "write-combined-fenced", "descriptors", "mux"]
"""How a message goes to the device."""
QueueSharing: TypeAlias = Literal["own-queues", "one-queue"]
"""How several cores use the device."""
Pace: TypeAlias = Literal["alone", "stream"]
"""When a core sends its next message."""
Eviction: TypeAlias = Literal["in-order", "random"]
"""Order in which full write-combining buffers leave."""
StoreKind: TypeAlias = Literal["plain", "non-temporal", "direct"]
"""Instruction with which a core stores."""


class MessageConnection(TypedDict):
    """A connection, with a core to itself."""

    name: str
    """Unique name."""
    pace: Pace
    """Time between its messages."""
    sizes: list[int]
    """Payloads of its messages, sent in a cycle."""
    stores_up_to_bytes: int | None
    """The longest payload that goes by stores: 0 for none; null for the test's."""


class MessageParameters(TypedDict):
    """A test of messages.

    As JSON it is canonical: these keys, in this order, each of them present. `eviction` and `pressure` are for the
    simulator only, and null for a real device.
    """

    connections: str | None
    """Messages of each core, where the way is a mux, as JSON text; null if all cores send the same."""
    cores: int
    """Cores that send."""
    eviction: Eviction | None
    """Order of eviction; null for the core's own."""
    generation: int | None
    """Generation of the link; null for the system's own link."""
    lanes: int | None
    """Lanes of the link; null for the system's own."""
    messages: int
    """Messages of each core; at least, where the way is a mux."""
    pace: Pace
    """Time between messages."""
    pressure: float | None
    """Share of the stores after which another use evicts the buffer; null for the machine's own."""
    sharing: QueueSharing
    """Queues."""
    size_bytes: int
    """Payload of a message; the longest, where the way is a mux."""
    store_bytes: int | None
    """Width of a store: 4, 8, 16, 32 or 64; null for the device's own, and where messages go by descriptors."""
    store_kind: StoreKind | None
    """The instruction that stores; null likewise."""
    stores_up_to_bytes: int | None
    """The longest payload that goes by stores, of connections that do not say; null where the way is no mux."""
    way: Way
    """The way."""
