"""A core, with its host up to the link: keys and meanings.

Written by `make generate` from `crates/pcie-model/src/mmio/profile.rs`: change the types there.
"""

from typing import Literal

from pcielab import _core
from pcielab.library.profiles.values import InFile, Values


class Between(Values):
    """A value, with the interval that sources and machines leave."""

    least: float
    """The least."""
    usual: float
    """The usual one."""
    most: float
    """The most."""


class CoreStores(Values):
    """The stores of a core."""

    buffers: Between
    """Write-combining buffers: fill buffers that stores to write-combining memory can hold."""
    merged_bytes: Literal[8, 16, 32, 64]
    """Bytes that a buffer merges into one TLP; root ports merge nothing."""
    release_ns: Between
    """From the eviction of a full buffer until it can be filled again, ns."""
    fill_ns: Between
    """Filling 64 B with the widest streaming stores, ns."""
    narrow_ns: Between
    """From one store of at most 8 B to the next in a loop, ns."""
    uncached_ns: Between
    """From one uncached store to the next, whatever its width, ns."""
    fence_ns: Between
    """A copy's call and the fence behind it, ns."""
    direct_ns: Between | None
    """From one store of 64 B in one piece (MOVDIR64B, ST64B) to the next, ns; absent: the core has none."""
    page_fault_ns: Between
    """The first store to a page that is not mapped yet, ns."""
    evicted: Literal["in-order", "any"]
    """The order in which full buffers leave."""


class CoreLoads(Values):
    """The loads of a core."""

    host_ns: Between
    """From the core to the root port and back, without link and device, ns."""
    streaming_lines: Between
    """Lines that streaming loads from write-combining memory have in flight."""
    widest_bytes: Literal[8, 16, 32, 64]
    """The widest load."""
    enqueues: bool
    """Whether it has non-posted stores of 64 B (ENQCMD, ST64BV)."""


class CoreRoot(Values):
    """The host of a core, up to the link."""

    queue_bytes: Between
    """Stores that wait between core and link, bytes."""
    quantum_bytes: Literal[4, 8, 16, 32, 64]
    """Unit in which the root port sends TLPs."""
    link_ns: Between
    """One way across the link's transmitter and receiver, ns."""
    switch_ns: Between
    """One way through a switch, ns."""
    remote_ns: Between
    """A round trip to a device of the other socket takes this much longer, ns."""


class CoreValues(InFile[_core.Core]):
    """A core, and the part of its host between core and link."""

    name: str
    """Short name."""
    year: int
    """The first year in which it shipped."""
    generation: int
    """The newest PCIe generation of its hosts."""
    processors: list[str]
    """Texts that show this core in the name of a processor, in lower case; `*` stands for any letters."""
    stores: CoreStores
    """Its stores."""
    loads: CoreLoads
    """Its loads."""
    root: CoreRoot
    """Its host, up to the link."""
