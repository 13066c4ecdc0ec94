"""The part of the CUDA driver that measuring takes, as a protocol; and what it says of a card.

Handles and pointers are plain integers. Everything that is put on a stream returns at once; nothing here waits, so
that whoever calls keeps to a deadline (see `opened`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

HOST_ALIGNMENT_BYTES = 4096
"""Memory is registered in whole pages."""


@dataclass(frozen=True, kw_only=True)
class Card:
    """What the driver says of a GPU.

    Attributes:
        number: As in `cuda:1`.
        name: Its product name.
        address: Its PCI function, `0000:18:00.0`.
        architecture: Compute capability without the dot, such as 90.
        processors: Streaming multiprocessors.
        clock_khz: Highest clock of the processors.
        l2_bytes: Second-level cache.
        memory_bytes: Memory.
        copy_engines: Copies that can be under way at the same time.
        compute_mode: Who may use it: `default`, `exclusive` or `prohibited`.
        coherent: Whether it shares the host's page tables over a link that is not PCIe, as NVLink-C2C.
        integrated: Whether it is part of the host's chip.
    """

    number: int
    name: str
    address: str
    architecture: int
    processors: int
    clock_khz: int
    l2_bytes: int
    memory_bytes: int
    copy_engines: int
    compute_mode: str = "default"
    coherent: bool = False
    integrated: bool = False


class DriverError(Exception):
    """A call of the driver failed.

    Attributes:
        code: The driver's name for it, such as `CUDA_ERROR_OUT_OF_MEMORY`.
    """

    def __init__(self, call: str, code: str, text: str) -> None:
        super().__init__(f"{call}: {text} ({code})")
        self.code = code


class NoDriverError(Exception):
    """There is no driver that could be called, or none that fits; the text says what mends it."""


LOST = frozenset(
    f"CUDA_ERROR_{name}"
    for name in (
        "ASSERT",
        "CONTEXT_IS_DESTROYED",
        "DEVICE_UNAVAILABLE",
        "ECC_UNCORRECTABLE",
        "HARDWARE_STACK_ERROR",
        "ILLEGAL_ADDRESS",
        "ILLEGAL_INSTRUCTION",
        "INVALID_ADDRESS_SPACE",
        "INVALID_PC",
        "LAUNCH_FAILED",
        "LAUNCH_TIMEOUT",
        "MISALIGNED_ADDRESS",
        "NO_DEVICE",
        "SYSTEM_NOT_READY",
        "UNKNOWN",
    )
)
"""Errors after which no call of the same context works again."""


class Driver(Protocol):
    """The calls. Each may raise `DriverError`."""

    def version(self) -> tuple[int, int]:
        """Version of CUDA that the driver knows, such as (13, 0)."""
        ...

    def cards(self) -> Sequence[Card]:
        """The cards that this process may see."""
        ...

    def open(self, number: int) -> None:
        """Makes a card's context the one of this thread; everything below is about it."""
        ...

    def close(self) -> None:
        """Gives the context back, with everything in it."""
        ...

    def register(self, address: int, size_bytes: int) -> int:
        """Lets the card reach memory of this process; where the card sees it."""
        ...

    def unregister(self, address: int) -> None:
        """Takes that back."""
        ...

    def allocate(self, size_bytes: int) -> int:
        """Memory of the card itself."""
        ...

    def free(self, pointer: int) -> None:
        """Gives it back."""
        ...

    def load(self, code: bytes) -> int:
        """A module of compiled kernels."""
        ...

    def stream(self) -> int:
        """A stream: what is put on it is done in order, and nothing waits for other streams."""
        ...

    def launch(
        self, module: int, kernel: str, blocks: int, threads: int, arguments: Sequence[int], stream: int
    ) -> None:
        """A kernel, whose parameters are all unsigned and of 8 bytes."""
        ...

    def copy(self, destination: int, source: int, size_bytes: int, stream: int) -> None:
        """A copy, between any two memories that the card reaches."""
        ...

    def hold(self, stream: int, address: int, value: int) -> None:
        """What comes after on the stream waits until the word of 4 bytes there, as the card sees it, is that."""
        ...

    def event(self) -> int:
        """An event, which notes when the card comes by it."""
        ...

    def record(self, event: int, stream: int) -> None:
        """Puts an event on a stream."""
        ...

    def is_done(self, event: int) -> bool:
        """Whether the card came by."""
        ...

    def elapsed_ns(self, first: int, last: int) -> float:
        """Time between two events that are done."""
        ...
