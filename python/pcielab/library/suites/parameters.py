"""A test: its parameters and their words.

Written by `make generate` from `crates/pcie-workload/src/test.rs`: change the type there.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Cache: TypeAlias = Literal["cold", "device-thrash", "device-warm", "host-warm"]
"""Preparation of the caches just before the test."""
Operation: TypeAlias = Literal["lat-rd", "lat-wrrd", "bw-rd", "bw-wr", "bw-rdwr", "lat-chase"]
"""The micro-benchmarks: the five published ones, and one of dependent reads."""
Path: TypeAlias = Literal["dma", "command"]
"""Which of the device's two paths to the host carries the transactions."""
Pattern: TypeAlias = Literal["fixed", "sequential", "strided", "random"]
"""Order in which the units of the window are visited."""


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
