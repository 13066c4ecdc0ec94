"""A NIC as the model and the simulator take it: keys, ranges, defaults and what they mean.

Written by `make generate` from `crates/pcie-model/src/interactions.rs`: change the types there.
"""

from typing import Literal

from pydantic import Field

from pcielab.library.profiles.part import Bytes, Name, Padding, Part, StepBytes


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
    every_packets: int | None = Field(default=None, ge=1, le=1_000_000)
    """It happens once every so many packets; left out: for each, or, if moderated by time, as time goes."""
    batch: int = Field(default=1, ge=1, le=1_000_000)
    """It moves so many pieces of `bytes` at once, one for each packet: 16 bytes in a batch of 40 are one access of
    640 bytes every 40 packets."""
    moderation_ns: int | None = Field(default=None, ge=1, le=10_000_000)
    """Interrupts moderated by time: between two of a queue so many nanoseconds pass, unless `every_packets`
    packets wait before, the first of the two."""


class Queues(Part):
    """Queues and buffers of a NIC, on the card and in host memory."""

    ring_descriptors: int = Field(default=512, ge=1, le=65_536)
    """Descriptors in a ring, one ring for each direction: as many packets are under way at most."""
    descriptors_held: int = Field(default=128, ge=1, le=65_536)
    """Descriptors that the NIC has fetched ahead, at most, for each direction."""
    buffers: int = Field(default=2048, ge=1, le=1_048_576)
    """Packet buffers in host memory, used in turn: how much memory the packets touch."""
    buffer_bytes: Bytes = Field(default=2048, ge=64, le=65_536)
    """Size of each, and so of the largest packet."""
    receive_fifo_bytes: Bytes = Field(default=524288, ge=2048, le=67_108_864)
    """Packets that have come from the line wait here; one that finds it full is dropped."""
    transmit_fifo_bytes: Bytes = Field(default=163840, ge=2048, le=67_108_864)
    """Packets on their way to the line wait here."""
    header_bytes: Padding = 0
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
    step: list[Step] = Field(min_length=1)
    """The steps, in the order in which they happen to a packet."""
    queues: Queues = Queues()
    """Its queues and buffers. Bounds depend on where headers are split off alone; a simulation does on all of
    them."""
