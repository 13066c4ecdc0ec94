"""The parameters of a test: their values, names and defaults.

Written by `make generate` from `crates/pcie-workload/src/test.rs`: change the type there.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pcielab.library.suites.parameter import Parameter

Cache: TypeAlias = Literal["cold", "device-thrash", "device-warm", "host-warm"]
"""Preparation of the caches just before the test."""
Operation: TypeAlias = Literal["lat-rd", "lat-wrrd", "bw-rd", "bw-wr", "bw-rdwr", "lat-chase"]
"""The micro-benchmarks: the five published ones, and one of dependent reads."""
Path: TypeAlias = Literal["dma", "command"]
"""Which of the device's two paths to the host carries the transactions."""
Pattern: TypeAlias = Literal["fixed", "sequential", "strided", "random"]
"""Order in which the units of the window are visited."""


PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        key="operation",
        word="test",
        heading="test",
        axis="test",
        kind="word",
        default=None,
        choices=("lat-rd", "lat-wrrd", "bw-rd", "bw-wr", "bw-rdwr", "lat-chase"),
        least=None,
        most=None,
        meaning="The micro-benchmark.",
    ),
    Parameter(
        key="path",
        word="path",
        heading="path",
        axis="",
        kind="word",
        default="dma",
        choices=("dma", "command"),
        least=None,
        most=None,
        meaning="Path on the device.",
    ),
    Parameter(
        key="pattern",
        word="pattern",
        heading="pattern",
        axis="pattern",
        kind="word",
        default="random",
        choices=("fixed", "sequential", "strided", "random"),
        least=None,
        most=None,
        meaning="Order of the accesses to the window.",
    ),
    Parameter(
        key="cache",
        word="cache",
        heading="cache",
        axis="cache",
        kind="word",
        default="cold",
        choices=("cold", "device-thrash", "device-warm", "host-warm"),
        least=None,
        most=None,
        meaning="State of the caches before it.",
    ),
    Parameter(
        key="size_bytes",
        word="size",
        heading="size (B)",
        axis="size",
        kind="size",
        default=64,
        choices=(),
        least=1,
        most=1073741824,
        meaning="Transfer size, bytes.",
    ),
    Parameter(
        key="window_bytes",
        word="window",
        heading="window",
        axis="window",
        kind="size",
        default=8192,
        choices=(),
        least=1,
        most=9223372036854775807,
        meaning="Window, bytes.",
    ),
    Parameter(
        key="host_offset_bytes",
        word="host_offset",
        heading="host offset (B)",
        axis="offset",
        kind="whole",
        default=0,
        choices=(),
        least=0,
        most=4095,
        meaning="Offset from a cache line on the host, bytes.",
    ),
    Parameter(
        key="device_offset_bytes",
        word="device_offset",
        heading="device offset (B)",
        axis="offset",
        kind="whole",
        default=0,
        choices=(),
        least=0,
        most=4095,
        meaning="Offset from an 8 KiB boundary on the device, bytes.",
    ),
    Parameter(
        key="stride_units",
        word="stride",
        heading="stride (units)",
        axis="stride",
        kind="whole",
        default=1,
        choices=(),
        least=1,
        most=4294967295,
        meaning="Distance of a strided pattern's accesses, in units (a transfer in whole cache lines); 1 for others.",
    ),
    Parameter(
        key="outstanding",
        word="outstanding",
        heading="outstanding",
        axis="outstanding",
        kind="whole",
        default=None,
        choices=(),
        least=1,
        most=4294967295,
        meaning="Maximum number of requests in flight; by default (null) the device's own limit.",
    ),
    Parameter(
        key="transactions",
        word="transactions",
        heading="transactions",
        axis="",
        kind="whole",
        default=2097152,
        choices=(),
        least=1,
        most=4294967295,
        meaning="Number of transactions; by default that of the published suite.",
    ),
    Parameter(
        key="details",
        word="details",
        heading="details",
        axis="",
        kind="switch",
        default=False,
        choices=(),
        least=None,
        most=None,
        meaning="Whether a latency test stores its full distribution, as the `_details` families do, and each sample if there are at most 1,048,576.",
    ),
)
"""All parameters, in the order of columns."""


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """A test: the parameters of one row."""

    operation: Operation
    """The micro-benchmark."""
    path: Path = "dma"
    """Path on the device."""
    pattern: Pattern = "random"
    """Order of the accesses to the window."""
    cache: Cache = "cold"
    """State of the caches before it."""
    size_bytes: int = 64
    """Transfer size, bytes."""
    window_bytes: int = 8192
    """Window, bytes."""
    host_offset_bytes: int = 0
    """Offset from a cache line on the host, bytes."""
    device_offset_bytes: int = 0
    """Offset from an 8 KiB boundary on the device, bytes."""
    stride_units: int = 1
    """Distance of a strided pattern's accesses, in units (a transfer in whole cache lines); 1 for others."""
    outstanding: int | None = None
    """Maximum number of requests in flight; by default (null) the device's own limit."""
    transactions: int = 2097152
    """Number of transactions; by default that of the published suite."""
    details: bool = False
    """Whether a latency test stores its full distribution, as the `_details` families do, and each sample if there
    are at most 1,048,576."""
