"""A NIC as the model and the simulator take it: keys, ranges, defaults and what they mean.

Written by `make generate` from `crates/pcie-model/src/interactions.rs`: change the types there.
"""

from typing import Annotated, Literal

from pcielab.library.profiles.part import Bytes, Fits, Name, Part, StepBytes


class Step(Part):
    """One access over PCIe."""

    what: str
    """What it does, for people."""
    path: Literal["tx", "rx"]
    """Whether it belongs to sending or to receiving."""
    actor: Literal["host", "device"]
    """Who starts it."""
    kind: Literal["mmio-read", "mmio-write", "dma-read", "dma-write", "msi"]
    """Which access it is."""
    bytes: StepBytes
    """How many bytes."""
    every_packets: Annotated[int, Fits(type="integer", minimum=1, maximum=1_000_000)] | None = None
    """It happens once every so many packets; left out: for each, or, if moderated by time, as time goes."""
    batch: Annotated[int, Fits(type="integer", minimum=1, maximum=1_000_000)] = 1
    """It moves so many pieces of `bytes` at once, one for each packet: 16 bytes in a batch of 40 are one access of
    640 bytes every 40 packets."""
    moderation_ns: Annotated[int, Fits(type="integer", minimum=1, maximum=10_000_000)] | None = None
    """Interrupts moderated by time: between two of a queue so many nanoseconds pass, unless `every_packets`
    packets wait before, the first of the two."""


class Queues(Part):
    """Queues and buffers of a NIC, on the card and in host memory."""

    ring_descriptors: Annotated[int, Fits(type="integer", minimum=1, maximum=65_536)] = 512
    """Descriptors in a ring, one ring for each direction: as many packets are under way at most."""
    descriptors_held: Annotated[int, Fits(type="integer", minimum=1, maximum=65_536)] = 128
    """Descriptors that the NIC has fetched ahead, at most, for each direction."""
    buffers: Annotated[int, Fits(type="integer", minimum=1, maximum=1_048_576)] = 2048
    """Packet buffers in host memory, used in turn: how much memory the packets touch."""
    buffer_bytes: Annotated[Bytes, Fits(type="integer", minimum=64, maximum=65_536)] = 2048
    """Size of each, and so of the largest packet."""
    receive_fifo_bytes: Annotated[Bytes, Fits(type="integer", minimum=2_048, maximum=67_108_864)] = 524288
    """Packets that have come from the line wait here; one that finds it full is dropped."""
    transmit_fifo_bytes: Annotated[Bytes, Fits(type="integer", minimum=2_048, maximum=67_108_864)] = 163840
    """Packets on their way to the line wait here."""
    header_bytes: Annotated[Bytes, Fits(type="integer", minimum=0, maximum=4_096)] = 0
    """Header split: of longer packets, so many bytes are received into a buffer of their own. 0: packets stay
    whole."""


class Interactions(Part):
    """Everything that happens over PCIe in sending and receiving packets, in order."""

    name: Name
    """What the device is called."""
    description: str
    """What it is, for people."""
    provenance: str
    """Where the steps come from."""
    step: Annotated[list[Step], Fits(type="array", minItems=1)]
    """The steps, in the order in which they happen to a packet."""
    queues: Queues = Queues()
    """Its queues and buffers. Bounds depend on where headers are split off alone; a simulation does on all of
    them."""
