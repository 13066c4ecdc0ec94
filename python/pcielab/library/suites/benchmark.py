"""The micro-benchmarks: what one test is, by its published name or by operation and path, and its parameters.

The keys of the parameters are those of `docs/reference/store.md`. Which addresses a test visits is the simulator's
business; here is only what can be said to be impossible whatever the machine.
"""

from dataclasses import asdict, dataclass
from typing import Any

from pcielab.library.suites.parameters import Cache, Operation, Parameters, Path, Pattern

__all__ = ["BENCHMARKS", "Cache", "Operation", "Parameters", "Path", "Pattern", "Test", "impossible"]

BENCHMARKS: dict[str, tuple[Operation, Path]] = {
    "LAT_CMD_RD": ("lat-rd", "command"),
    "LAT_CMD_WRRD": ("lat-wrrd", "command"),
    "LAT_DMA_RD": ("lat-rd", "dma"),
    "LAT_DMA_WRRD": ("lat-wrrd", "dma"),
    "BW_CMD_RD": ("bw-rd", "command"),
    "BW_CMD_WR": ("bw-wr", "command"),
    "BW_CMD_RW": ("bw-rdwr", "command"),
    "BW_DMA_RD": ("bw-rd", "dma"),
    "BW_DMA_WR": ("bw-wr", "dma"),
    "BW_DMA_RW": ("bw-rdwr", "dma"),
}
"""Published name of each micro-benchmark: its operation and the path it takes through the card. Those of
bandwidth on
the command path were not published; they are for devices whose processors issue their own loads and stores."""

LATENCY_SAMPLES = 2_097_152
DETAILS_SAMPLES = 16_777_216
BANDWIDTH_TRANSACTIONS = 8_388_608
"""How many transactions the published suite asks for."""

LINE_BYTES = 64
PAGE_BYTES = 4096
MOST_TRANSFER_BYTES = 1 << 30
"""A transfer stays within a page, or is whole pages up to this."""


@dataclass(frozen=True)
class Test:
    """One test of a suite."""

    __test__ = False  # not one of pytest's

    family: str
    name: str
    parameters: Parameters

    def to_dict(self) -> dict[str, Any]:
        """The test as the simulator and the store take it."""
        return {"family": self.family, "name": self.name, "parameters": asdict(self.parameters)}


def published_name(operation: Operation, path: Path) -> str:
    """The published name of an operation on a path."""
    return next(name for name, pair in BENCHMARKS.items() if pair == (operation, path))


def published_transactions(operation: Operation, details: bool = False) -> int:
    """How many transactions the published suite gives a test of this operation."""
    if operation.startswith("bw"):
        return BANDWIDTH_TRANSACTIONS
    return DETAILS_SAMPLES if details else LATENCY_SAMPLES


def impossible(parameters: Parameters) -> tuple[str, object, str] | None:
    """The key and value that make a test impossible, and the remedy; None for a test that can be run.

    Source: the published suite, whose accesses stay inside a page and inside the window. Longer ones are whole
    pages.
    """
    size, window = parameters.size_bytes, parameters.window_bytes
    if size > PAGE_BYTES and (size % PAGE_BYTES or size > MOST_TRANSFER_BYTES):
        return "size_bytes", size, f"give at most {PAGE_BYTES}, or a multiple of it up to {MOST_TRANSFER_BYTES}"
    for key in ("host_offset_bytes", "device_offset_bytes"):
        offset = getattr(parameters, key)
        if offset and size + offset > PAGE_BYTES:
            return key, offset, f"offset + size ({size}) must not exceed {PAGE_BYTES}"
    unit = -(-(size + parameters.host_offset_bytes) // LINE_BYTES) * LINE_BYTES
    if window < unit:
        needed = f"size {size} at host offset {parameters.host_offset_bytes} needs {unit} or more"
        return "window_bytes", window, f"smaller than the transfer: {needed}"
    if parameters.pattern != "strided" and parameters.stride_units != 1:
        return "stride_units", parameters.stride_units, "only a strided pattern has a stride other than 1"
    if parameters.stride_units >= window // unit > 1:
        return (
            "stride_units",
            parameters.stride_units,
            f"the window has {window // unit} units: give a smaller stride",
        )
    if parameters.details and not parameters.operation.startswith("lat"):
        return "details", True, "only latency tests have a distribution"
    return None
