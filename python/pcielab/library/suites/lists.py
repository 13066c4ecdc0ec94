"""The lists of a group of a suite, one for each parameter that can vary; the group has all combinations.

Written by `make generate` from `crates/pcie-workload/src/test.rs`: change the type there.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from pcielab.library.profiles.part import Part
from pcielab.library.suites.parameters import Cache, Pattern
from pcielab.library.suites.ranges import Sizes

Axis: TypeAlias = Literal["test", "pattern", "cache", "size", "window", "offset", "stride", "outstanding"]
AXES: tuple[Axis, ...] = ("test", "pattern", "cache", "size", "window", "offset", "stride", "outstanding")
"""The parameters that can vary."""


class Lists(Part):
    """The values of a group's tests. Lists of words and sizes are required; others may be empty."""

    patterns: list[Pattern] = Field(min_length=1)
    """Order of the accesses to the window."""
    caches: list[Cache] = Field(min_length=1)
    """State of the caches before it."""
    sizes: Sizes
    """Transfer size, bytes."""
    windows: Sizes
    """Window, bytes."""
    host_offsets: list[Annotated[int, Field(ge=0, le=4_095)]] = Field(default=[])
    """Offset from a cache line on the host, bytes."""
    device_offsets: list[Annotated[int, Field(ge=0, le=4_095)]] = Field(default=[])
    """Offset from an 8 KiB boundary on the device, bytes."""
    strides: list[Annotated[int, Field(ge=1, le=4_294_967_295)]] = Field(default=[])
    """Distance of a strided pattern's accesses, in units (a transfer in whole cache lines); 1 for others."""
    outstanding: list[Annotated[int, Field(ge=1, le=4_294_967_295)]] = Field(default=[])
    """Maximum number of requests in flight; by default (null) the device's own limit."""


LISTS = {
    "pattern": "patterns",
    "cache": "caches",
    "size_bytes": "sizes",
    "window_bytes": "windows",
    "host_offset_bytes": "host_offsets",
    "device_offset_bytes": "device_offsets",
    "stride_units": "strides",
    "outstanding": "outstanding",
}
"""The list of each parameter."""
