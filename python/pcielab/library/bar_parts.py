"""A device's memory behind a BAR: keys and meanings.

Written by `make generate` from `crates/pcie-model/src/mmio/profile.rs`: change the types there.
"""

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


class BarStores(Values):
    """Stores that arrive at a BAR."""

    drain_gbytes_per_s: Between
    """The rate at which the device takes stores, GB/s."""
    posted_bytes: Between
    """Stores that it holds before it has taken them: its posted credits, bytes."""
    poll_ns: Between
    """From a store's arrival until a loop on the device that waits for it has sent a store back, ns."""


class BarReads(Values):
    """Loads that a BAR answers."""

    answer_ns: Between
    """From a request's arrival to its completion's start, ns."""


class BarValues(InFile[_core.Bar]):
    """A device's memory behind a BAR."""

    name: str
    """Short name."""
    devices: list[str]
    """Texts that show it in the name of a device, in lower case; `*` stands for any letters."""
    stores: BarStores
    """Stores that arrive."""
    reads: BarReads
    """Loads that it answers."""
