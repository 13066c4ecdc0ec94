"""NICs described as data: TOML files, the shipped ones found by name.

The crate pcie-model owns what steps mean and which are possible; this module owns the files.
"""

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from pcielab import _core
from pcielab.errors import found_in
from pcielab.library import shipped
from pcielab.library.finding import profile_file
from pcielab.library.input_files import read_toml
from pcielab.library.validation import explain
from pcielab.wording import shown

_Count = Annotated[int, Field(ge=1, le=1_000_000)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Step(_Table):
    """One access over PCIe; see `docs/guides/model-a-nic.md`."""

    what: str
    path: Literal["tx", "rx"]
    actor: Literal["host", "device"]
    kind: Literal["mmio-read", "mmio-write", "dma-read", "dma-write", "msi"]
    bytes: int | Literal["packet"]
    every_packets: _Count | None = None
    """It happens once every so many packets; left out: for each, or, if moderated by time, as time goes."""
    batch: _Count = 1
    """It moves so many pieces of `bytes` at once, one for each packet."""
    moderation_ns: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    """So long passes between two interrupts of a queue, unless `every_packets` packets wait before."""

    @field_validator("bytes", mode="before")
    @classmethod
    def _number_or_packet(cls, given: object) -> object:
        if given == "packet" or (type(given) is int and given > 0):
            return given
        raise ValueError(f'{shown(given)} is no size: give a number above 0, or "packet"')


class Queues(_Table):
    """Queues and buffers of a NIC: what a simulation needs of it besides its steps."""

    ring_descriptors: int = Field(default=512, ge=1, le=65_536)
    """Descriptors in a ring, one for each direction: as many packets are under way at most."""
    descriptors_held: int = Field(default=128, ge=1, le=65_536)
    """Descriptors that the NIC has fetched ahead, at most, for each direction."""
    buffers: int = Field(default=2048, ge=1, le=1_048_576)
    """Packet buffers in host memory, used in turn: how much memory the packets touch."""
    buffer_bytes: int = Field(default=2048, ge=64, le=65_536)
    """Size of each, and so of the largest packet."""
    receive_fifo_bytes: int = Field(default=512 << 10, ge=2048, le=64 << 20)
    """Packets that have come from the line wait here; one that finds it full is dropped."""
    transmit_fifo_bytes: int = Field(default=160 << 10, ge=2048, le=64 << 20)
    """Packets on their way to the line wait here."""
    header_bytes: int = Field(default=0, ge=0, le=4096)
    """Header split: so many bytes of a longer packet are received into a buffer of their own; 0: none."""


class NicProfile(_Table):
    """A NIC: what it and its driver do over PCIe for each packet."""

    name: str
    description: str
    provenance: str
    step: list[Step] = Field(min_length=1)
    queues: Queues = Queues()

    def as_question(self) -> dict[str, Any]:
        """The profile as the compiled half takes it."""
        return self.model_dump(mode="json", exclude_none=True)


def shipped_nics() -> list[str]:
    """Names that `load_nic` knows."""
    return list(shipped.profile_files("nic"))


def load_nic(name_or_file: str | Path) -> NicProfile:
    """Read a shipped NIC by name, or any by its file.

    Raises:
        InputError: no such NIC, or a file that is not one; names the file and the key.
    """
    path = profile_file("nic", name_or_file)
    content = read_toml(path)
    try:
        profile = NicProfile.model_validate(content)
    except ValidationError as error:
        raise explain(error, NicProfile, str(path)) from error
    with found_in(path):
        _core.model_check_nic(json.dumps(profile.as_question()))
    return profile
