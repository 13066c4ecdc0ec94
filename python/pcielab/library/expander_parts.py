"""A memory expander: keys and meanings.

Written by `make generate` from `crates/pcie-model/src/expander.rs`: change the types there.
"""

from typing import Literal

from pcielab import _core
from pcielab.library.profiles.values import InFile, Values


class ExpanderLink(Values):
    """Its link."""

    generation: int
    """PCIe generation whose rate it has; CXL begins at 8 GT/s."""
    lanes: Literal[1, 2, 4, 8, 16]
    """Width."""
    flit_bytes: Literal[68, 256]
    """Size of a flit: 68 of CXL 1.1 and 2.0, 256 of CXL 3."""
    sync_headers: bool
    """Whether sync headers take 2 of 130 bits, which CXL can bypass; generations 6 and 7 have none."""
    ide_flits: int
    """Flits that share a MAC of CXL IDE, which takes one of their slots; 0 without IDE."""


class ExpanderController(Values):
    """Its controller."""

    unloaded_ns: float
    """Time of a read that meets no other, from the host's port to the memory and back."""


class ExpanderMemory(Values):
    """Its memory."""

    channels: int
    """Channels of 64 data bits."""
    megatransfers_per_s: int
    """Transfers of a channel, MT/s: the number of `DDR5-5600`."""
    data_share: float
    """Share of the time of a channel that moves data: the rest is changes of direction, and refresh unless
    `refresh_ns` gives it."""
    refresh_ns: float
    """Time of a refresh, which stops all banks of a channel; 0 leaves refresh to `data_share`."""
    refresh_interval_ns: float
    """Time from one refresh of a channel to the next."""
    banks: int
    """Banks of a channel, those of all its ranks and halves."""
    read_bank_ns: float
    """Time that a read keeps its bank from the next."""
    write_bank_ns: float
    """Time that a write keeps its bank from the next: longer by the write recovery."""


class ExpanderArrivals(Values):
    """How requests arrive."""

    unevenness: float
    """Waits for link and bus, as a share of those of requests that arrive at random: 0 at equal distances, 1 at
    random."""


class Expander(InFile[_core.Expander]):
    """A memory expander."""

    name: str
    """Short name."""
    link: ExpanderLink
    """Its link."""
    controller: ExpanderController
    """Its controller."""
    memory: ExpanderMemory
    """Its memory."""
    arrivals: ExpanderArrivals
    """How requests arrive."""
