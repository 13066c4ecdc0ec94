"""A machine under test: host, card, the link between them, and where everything is placed."""

from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from pcielab.profiles.card import Card
from pcielab.profiles.host import Host
from pcielab.profiles.link import Link
from pcielab.profiles.part import Name, Part, Size, Title

PAGE_BYTES = 4096

Socket = Annotated[int, Field(ge=0, le=63)]
Address = Annotated[int, Field(ge=0, le=2**63 - 1, multiple_of=PAGE_BYTES)]


class Placement(Part):
    """What a system says itself, besides the link, host and device that it names."""

    name: Name
    """Short name, such as `ib-011-nosp`."""
    title: Title
    """One line for people."""
    calibrated: bool
    """Whether the parameters were estimated from measurements of this machine."""
    device_socket: Socket = 0
    """Socket that the card is attached to."""
    memory_socket: Socket = 0
    """Socket whose memory holds the host buffer."""
    program_socket: Socket = 0
    """Socket that the control program runs on: the one whose caches it thrashes and warms."""
    iommu: Literal["off", "super-pages", "four-kib-pages"] = "off"
    """How the IOMMU translates: not at all, with the largest pages that fit, or with 4 KiB pages only."""
    chunk_bytes: Size
    """Size of one physically contiguous piece of the host buffer: a power of two, at least one page."""
    chunk_addresses: list[Address] = Field(min_length=1)
    """Bus address of each piece, in buffer order; their number times `chunk_bytes` is the size of the buffer."""

    @model_validator(mode="after")
    def _chunks_are_possible(self) -> Self:
        if self.chunk_bytes < PAGE_BYTES or self.chunk_bytes & (self.chunk_bytes - 1):
            raise ValueError(f"chunk_bytes = {self.chunk_bytes}: a power of two, {PAGE_BYTES} or more")
        ordered = sorted(self.chunk_addresses)
        for low, high in pairwise(ordered):
            if high - low < self.chunk_bytes:
                raise ValueError(
                    f"chunk_addresses: {low:#x} and {high:#x} overlap (chunk_bytes = {self.chunk_bytes})"
                )
        return self


class System(Placement):
    """A resolved system: the JSON that the simulator takes has exactly these keys."""

    link: Link
    """The negotiated link."""
    host: Host
    """The host."""
    device: Card
    """The card."""

    @model_validator(mode="after")
    def _sockets_exist(self) -> Self:
        for key in ("device_socket", "memory_socket", "program_socket"):
            socket = getattr(self, key)
            if socket >= self.host.sockets:
                raise ValueError(f"{key} = {socket}: {self.host.name} has sockets 0 to {self.host.sockets - 1}")
        return self
