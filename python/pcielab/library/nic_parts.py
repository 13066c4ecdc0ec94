"""A NIC and its features: keys and meanings.

Written by `make generate` from `crates/pcie-model/src/interactions.rs` and `features.rs`: change the types there.
"""

from typing import Literal

from pcielab import _core
from pcielab.library.profiles.values import InFile, Values


class Step(Values):
    """One access over PCIe."""

    what: str
    """Description of the access, for readers."""
    path: Literal["tx", "rx"]
    """Whether it belongs to sending or to receiving."""
    actor: Literal["host", "device"]
    """Who starts it."""
    kind: Literal["mmio-read", "mmio-write", "dma-read", "dma-write", "msi"]
    """Which access it is."""
    bytes: int | Literal["packet"]
    """How many bytes."""
    every_packets: int | None
    """Packets for each access; left out: one, or as many as come in `moderation_ns`."""
    batch: int
    """Pieces of `bytes` in one access, one for each packet: 16 bytes in a batch of 40 are one access of 640 bytes
    every 40 packets."""
    moderation_ns: int | None
    """Interrupts moderated by time: nanoseconds between two interrupts of a queue; sooner if `every_packets`
    packets wait."""


class Queues(Values):
    """Queues and buffers of a NIC, on the device and in host memory."""

    ring_descriptors: int
    """Descriptors in a ring, one ring for each direction: the most packets in flight."""
    descriptors_held: int
    """Most descriptors that the NIC prefetches, for each direction."""
    buffers: int
    """Packet buffers in host memory, used in turn: they determine how much memory the packets touch."""
    buffer_bytes: int
    """Size of each, and so of the largest packet."""
    receive_fifo_bytes: int
    """Queue of packets from the line; a packet that finds it full is dropped."""
    transmit_fifo_bytes: int
    """Queue of packets to the line."""
    header_bytes: int
    """Header split: bytes of a longer packet that go to a buffer of their own. 0: packets stay whole."""
    pairs: int
    """Queue pairs, each with rings of its own, over which packets are spread at random."""
    packets_per_page: int
    """Packets that share a page of 4 KiB, one after the other, where a driver takes pages from a pool
    (`host.iommu.page_life`)."""


class Interval(Values):
    """The interval of a value that no document gives: the value of its key is a choice within it."""

    least: int
    """Least value."""
    most: int
    """Greatest value."""
    source: str
    """Why the value lies between them."""


class StepChange(Values):
    """New values of one step; keys that are left out keep theirs."""

    what: str | None
    """New description of the access."""
    kind: Literal["mmio-read", "mmio-write", "dma-read", "dma-write", "msi"] | None
    """Another access, by the same actor."""
    bytes: int | Literal["packet"] | None
    """How many bytes."""
    every_packets: int | None
    """Packets for each access."""
    batch: int | None
    """Pieces of `bytes` in one access."""


class Switch(Values):
    """A feature that is on or off."""

    what: str
    """What it does, in one sentence."""
    source: str
    """Where its values come from, and which are assumed."""
    frame_bytes_most: int | None
    """Largest frame, FCS included, that it acts on; left out: it acts on every frame."""
    leave_out: list[str]
    """Steps that do not happen, by their `what`."""
    change: dict[str, StepChange]
    """New values of steps, by their `what`."""


class Nic(InFile[_core.Nic]):
    """A NIC and the features that it may have."""

    name: str
    """Name of the device."""
    description: str
    """Description for readers."""
    provenance: str
    """Where the steps come from."""
    step: list[Step]
    """The steps, in the order in which they happen to a packet."""
    queues: Queues
    """Its queues and buffers. Bounds depend on header split alone, simulations on all of them."""
    assumed: dict[str, Interval]
    """Intervals of keys that no document gives, by dotted key: `queues.descriptors_held`."""
    switch: dict[str, Switch]
    """Features that change steps, by name."""
    on: list[str]
    """Switches that are on; `NAME+SWITCH` turns on more."""
