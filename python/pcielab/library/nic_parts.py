"""A NIC as the model and the simulator take it: keys, ranges, defaults, meanings.

Written by `make generate` from `crates/pcie-model/src/interactions.rs`: change the types there.
"""

from typing import Annotated, Literal

from pcielab.library.profiles.part import Bytes, Fits, Name, Part, StepBytes


class Step(Part):
    """One access over PCIe."""

    what: str
    """Description of the access, for readers."""
    path: Literal["tx", "rx"]
    """Whether it belongs to sending or to receiving."""
    actor: Literal["host", "device"]
    """Who starts it."""
    kind: Literal["mmio-read", "mmio-write", "dma-read", "dma-write", "msi"]
    """Which access it is."""
    bytes: StepBytes
    """How many bytes."""
    every_packets: Annotated[int, Fits(type="integer", minimum=1, maximum=1_000_000)] | None = None
    """Packets for each access; left out: one, or as many as come in `moderation_ns`."""
    batch: Annotated[int, Fits(type="integer", minimum=1, maximum=1_000_000)] = 1
    """Pieces of `bytes` in one access, one for each packet: 16 bytes in a batch of 40 are one access of 640 bytes
    every 40 packets."""
    moderation_ns: Annotated[int, Fits(type="integer", minimum=1, maximum=10_000_000)] | None = None
    """Interrupts moderated by time: nanoseconds between two interrupts of a queue; sooner if `every_packets`
    packets wait."""


class Queues(Part):
    """Queues and buffers of a NIC, on the device and in host memory."""

    ring_descriptors: Annotated[int, Fits(type="integer", minimum=1, maximum=65_536)] = 512
    """Descriptors in a ring, one ring for each direction: the most packets in flight."""
    descriptors_held: Annotated[int, Fits(type="integer", minimum=1, maximum=65_536)] = 128
    """Most descriptors that the NIC prefetches, for each direction."""
    buffers: Annotated[int, Fits(type="integer", minimum=1, maximum=1_048_576)] = 2048
    """Packet buffers in host memory, used in turn: they determine how much memory the packets touch."""
    buffer_bytes: Annotated[Bytes, Fits(type="integer", minimum=64, maximum=65_536)] = 2048
    """Size of each, and so of the largest packet."""
    receive_fifo_bytes: Annotated[Bytes, Fits(type="integer", minimum=2_048, maximum=67_108_864)] = 524288
    """Queue of packets from the line; a packet that finds it full is dropped."""
    transmit_fifo_bytes: Annotated[Bytes, Fits(type="integer", minimum=2_048, maximum=67_108_864)] = 163840
    """Queue of packets to the line."""
    header_bytes: Annotated[Bytes, Fits(type="integer", minimum=0, maximum=4_096)] = 0
    """Header split: bytes of a longer packet that go to a buffer of their own. 0: packets stay whole."""
    pairs: Annotated[int, Fits(type="integer", minimum=1, maximum=1_024)] = 1
    """Queue pairs, each with rings of its own, over which packets are spread at random."""
    packets_per_page: Annotated[int, Fits(type="integer", minimum=1, maximum=64)] = 1
    """Packets that share a page of 4 KiB, one after the other, where a driver takes pages from a pool
    (`host.iommu.page_life`)."""


class Interactions(Part):
    """The PCIe accesses of sending and receiving packets, in order."""

    name: Name
    """Name of the device."""
    description: str
    """Description for readers."""
    provenance: str
    """Where the steps come from."""
    step: Annotated[list[Step], Fits(type="array", minItems=1)]
    """The steps, in the order in which they happen to a packet."""
    queues: Queues = Queues()
    """Its queues and buffers. Bounds depend on header split alone, simulations on all of them."""
