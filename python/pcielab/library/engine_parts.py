"""An engine that works on commands: keys and meanings.

Written by `make generate` from `crates/pcie-model/src/engine.rs`: change the types there.
"""

from typing import Literal

from pcielab import _core
from pcielab.library.profiles.values import InFile, Values


class EngineLink(Values):
    """The link that it usually has."""

    generation: int
    """PCIe generation."""
    lanes: Literal[1, 2, 4, 8, 12, 16, 32]
    """Width."""
    mps_bytes: int
    """Maximum Payload Size."""
    mrrs_bytes: int
    """Maximum Read Request Size."""


class EngineQueue(Values):
    """Its queues: commands in flight."""

    depth: int
    """Commands in flight, all queues together, where nothing else is asked for."""
    depth_most: int
    """Most commands in flight that it supports."""


class EnginePace(Values):
    """The engine's own limits. One that is left out does not bind."""

    command_ns: float
    """Time of a command without its data, from the doorbell to the completion: software, engine, medium."""
    to_device_command_ns: float | None
    """The same of commands that read host memory; left out: `command_ns`."""
    million_commands_per_s: float | None
    """Commands that it finishes, in millions a second."""
    to_device_gbytes_per_s: float | None
    """Data that it takes from the host, in GB/s: its memory, its flash."""
    to_host_gbytes_per_s: float | None
    """Data that it gives to the host, in GB/s."""


class EngineStep(Values):
    """One access over PCIe."""

    what: str
    """Description of the access, for readers."""
    path: Literal["to-device", "to-host", "both"]
    """Whether it belongs to commands that read host memory, that write it, or to both."""
    kind: Literal["mmio-read", "mmio-write", "dma-read", "dma-write", "msi"]
    """Which access it is; the host starts mmio-read and mmio-write, the engine all others."""
    bytes: int | Literal["data"]
    """How many bytes; `data` is the data of the command."""
    every_commands: int
    """Commands for each access."""
    batch: int
    """Pieces of `bytes` in one access: of consecutive commands or, with `every_bytes`, of one command."""
    every_bytes: int | None
    """One piece of `bytes` for each of these bytes of data, as in lists of pages; left out: one for a command."""
    above_bytes: int
    """Only for commands with more data than this."""


class Engine(InFile[_core.Engine]):
    """An engine that works on commands."""

    name: str
    """Short name."""
    link: EngineLink
    """The link that it usually has."""
    queue: EngineQueue
    """Its queues."""
    pace: EnginePace
    """Its own limits."""
    step: list[EngineStep]
    """The accesses of a command, in their order."""
