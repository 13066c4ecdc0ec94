"""Profiles of DMA engines that work on commands: drives, copy engines of GPUs, FPGA shells. TOML files.

A profile lists the PCIe accesses of a command in the language of NICs: doorbell, descriptors, data, completion.
`pcielab.model.engine` computes rates from it.
"""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from pcielab.argument_types import refuses_wrong_types
from pcielab.library import shipped
from pcielab.library.link import Link
from pcielab.library.lookup import profile_file
from pcielab.library.profiles.part import SIZE, Fits, Name, Part, Title
from pcielab.library.profiles.provenance import Provenance
from pcielab.library.validation import read_as

_MOST_ACCESS_BYTES = 1 << 20
_ACTORS = {"mmio-read": "host", "mmio-write": "host"}
_Count = Annotated[int, Fits(type="integer", minimum=1, maximum=1_000_000)]
_Rate = Annotated[float, Fits(type="number", exclusiveMinimum=0, maximum=1e6)]


class EngineStep(Part):
    """One access over PCIe."""

    what: str
    """Description of the access, for readers."""
    path: Literal["to-device", "to-host", "both"]
    """Whether it belongs to commands that read host memory, that write it, or to both."""
    kind: Literal["mmio-read", "mmio-write", "dma-read", "dma-write", "msi"]
    """Which access it is; the host starts mmio-read and mmio-write, the engine all others."""
    bytes: Annotated[int, Fits(type="integer", minimum=1, maximum=65_536)] | Literal["data"]
    """How many bytes; `data` is the data of the command."""
    every_commands: _Count = 1
    """Commands for each access."""
    batch: _Count = 1
    """Pieces of `bytes` in one access: of consecutive commands or, with `every_bytes`, of one command."""
    every_bytes: (
        Annotated[int, SIZE, Fits(type="integer", minimum=4096, maximum=1 << 30, multipleOf=4096)] | None
    ) = None
    """One piece of `bytes` for each of these bytes of data, as in lists of pages; left out: one for a command."""
    above_bytes: Annotated[int, SIZE, Fits(type="integer", minimum=0, maximum=1 << 30)] = 0
    """Only for commands with more data than this."""

    @property
    def actor(self) -> str:
        """Who starts it."""
        return _ACTORS.get(self.kind, "device")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.every_commands > 1 and (self.batch > 1 or self.every_bytes is not None):
            raise PydanticCustomError("step", "give every_commands alone, or batch and every_bytes")
        others = (self.every_commands, self.batch, self.every_bytes, self.above_bytes)
        if self.bytes == "data" and others != (1, 1, None, 0):
            raise PydanticCustomError("step", "data moves with every command: leave the other numbers out")
        if self.bytes != "data" and self.bytes * self.batch > _MOST_ACCESS_BYTES:
            raise PydanticCustomError("step", "give bytes * batch of at most 1 MiB")
        if self.bytes == "data" and self.kind not in ("dma-read", "dma-write"):
            raise PydanticCustomError("step", "data moves by dma-read or dma-write")
        return self


class EngineLink(Part):
    """The link that it usually has."""

    generation: Annotated[int, Fits(type="integer", minimum=1, maximum=7)]
    """PCIe generation."""
    lanes: Literal[1, 2, 4, 8, 12, 16, 32]
    """Width."""
    mps_bytes: Annotated[int, SIZE, Fits(type="integer", minimum=128, maximum=4096)] = 256
    """Maximum Payload Size."""
    mrrs_bytes: Annotated[int, SIZE, Fits(type="integer", minimum=128, maximum=4096)] = 512
    """Maximum Read Request Size."""


class EngineQueue(Part):
    """Its queues: commands in flight."""

    depth: _Count
    """Commands in flight, all queues together, where nothing else is asked for."""
    depth_most: _Count
    """Most commands in flight that it supports."""


class EnginePace(Part):
    """The engine's own limits. One that is left out does not bind."""

    command_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1e9)]
    """Time of a command without its data, from the doorbell to the completion: software, engine, medium."""
    to_device_command_ns: Annotated[float, Fits(type="number", minimum=0, maximum=1e9)] | None = None
    """The same of commands that read host memory; left out: `command_ns`."""
    million_commands_per_s: _Rate | None = None
    """Commands that it finishes, in millions a second."""
    to_device_gbytes_per_s: _Rate | None = None
    """Data that it takes from the host, in GB/s: its memory, its flash."""
    to_host_gbytes_per_s: _Rate | None = None
    """Data that it gives to the host, in GB/s."""


class EngineProfile(Part):
    """A file under `profiles/engines`: an engine that works on commands."""

    name: Name
    """Short name."""
    title: Title
    """One line for people."""
    link: EngineLink
    queue: EngineQueue
    pace: EnginePace
    step: Annotated[list[EngineStep], Fits(type="array", minItems=1)]
    """The accesses of a command, in their order."""
    provenance: Provenance

    @model_validator(mode="after")
    def _moves_data(self) -> Self:
        for path, kind in (("to-device", "dma-read"), ("to-host", "dma-write")):
            moving = [step for step in self.step if step.bytes == "data" and step.path == path]
            if [step.kind for step in moving] != [kind]:
                remedy = f'give one step with bytes = "data", path = "{path}" and kind = "{kind}"'
                raise PydanticCustomError("engine", "{remedy}", {"remedy": remedy})
        if self.queue.depth > self.queue.depth_most:
            raise PydanticCustomError("engine", "give a queue.depth of at most queue.depth_most")
        return self

    @property
    def usual_link(self) -> Link:
        """The link that it usually has."""
        link = self.link
        return Link(
            generation=link.generation, lanes=link.lanes, mps_bytes=link.mps_bytes, mrrs_bytes=link.mrrs_bytes
        )


def shipped_engines() -> list[str]:
    """Names of the shipped engines."""
    return list(shipped.profile_files("engine"))


@refuses_wrong_types
def load_engine(name_or_file: str | Path) -> EngineProfile:
    """Read an engine by name or file.

    Raises:
        InputError: The engine is missing or wrong; the message names the file and the key.
    """
    return read_as(EngineProfile, profile_file("engine", name_or_file))
