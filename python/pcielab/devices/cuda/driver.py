"""The calls of the CUDA driver that measurements use, as a protocol, and its description of a GPU.

Handles and pointers are plain integers. Calls that take a stream return at once. No call waits: callers keep a
deadline (see `opened`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class Card:
    """A GPU, as the driver describes it.

    Attributes:
        number: As in `cuda:1`.
        name: Its product name.
        address: Its PCI function, `0000:18:00.0`.
        architecture: Compute capability without the dot, for example 90.
        processors: Streaming multiprocessors.
        clock_khz: Highest clock of the processors.
        l2_bytes: Size of the second-level cache.
        memory_bytes: Size of its memory.
        copy_engines: Copies that can run at the same time.
        compute_mode: Who may use it: `default`, `exclusive` or `prohibited`.
        coherent: Whether it shares the host's page tables over a link that is not PCIe, for example NVLink-C2C.
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
        code: The driver's name for it, for example `CUDA_ERROR_OUT_OF_MEMORY`.
    """

    def __init__(self, call: str, code: str, text: str) -> None:
        super().__init__(f"{call}: {text} ({code})")
        self.code = code


class NoDriverError(Exception):
    """The driver is missing or unsuitable; the text has the remedy."""


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
"""Errors after which no call of the context works again."""


class Driver(Protocol):
    """The calls. Each may raise `DriverError`."""

    def version(self) -> tuple[int, int]:
        """Version of CUDA that the driver supports, for example (13, 0)."""

    def cards(self) -> Sequence[Card]:
        """The GPUs that this process may see."""

    def open(self, number: int) -> None:
        """Make a GPU's context current in this thread; the calls below use it."""

    def close(self) -> None:
        """Release the context and everything in it."""

    def register(self, address: int, size_bytes: int) -> int:
        """Map memory of this process for the GPU; the GPU's address of it."""

    def unregister(self, address: int) -> None:
        """Unmap registered memory."""

    def allocate(self, size_bytes: int) -> int:
        """Allocate memory of the GPU."""

    def free(self, pointer: int) -> None:
        """Free allocated memory."""

    def load(self, code: bytes) -> int:
        """Load a module of compiled kernels."""

    def stream(self) -> int:
        """Create a stream: in order within itself, independent of other streams."""

    def function(self, module: int, kernel: str) -> int:
        """Find a kernel in a module. Its code may be loaded only by its first launch."""

    def launch(self, function: int, blocks: int, threads: int, arguments: Sequence[int], stream: int) -> None:
        """Launch a kernel, whose parameters are all unsigned and of 8 bytes."""

    def copy(self, destination: int, source: int, size_bytes: int, stream: int) -> None:
        """Copy between any two memories that the GPU reaches."""

    def hold(self, stream: int, address: int, value: int) -> None:
        """Hold the stream until the 4-byte word at the GPU's address `address` equals `value`."""

    def event(self) -> int:
        """Create an event, which notes when the GPU reaches it."""

    def record(self, event: int, stream: int) -> None:
        """Put an event on a stream."""

    def is_done(self, event: int) -> bool:
        """Whether the GPU has reached an event."""

    def elapsed_ns(self, first: int, last: int) -> float:
        """Time between two events that are done."""
