"""A test of a NIC as the simulator takes it.

Written by `make generate` from `crates/pcie-sim/src/nic.rs`: change the types there.
"""

from typing import Any, Literal, TypeAlias, TypedDict

Direction: TypeAlias = Literal["both", "tx", "rx"]
"""Direction of a NIC's traffic."""


class NicTest(TypedDict):
    """Packets on the line."""

    ethernet: dict[str, Any]
    """The line."""
    frame_bytes: int
    """Bytes of a frame, FCS included."""
    direction: Direction
    """Direction of the traffic."""
    warm_up_packets: int
    """Packets before the counted ones."""
    packets: int
    """Counted packets."""
    nics: int
    """NICs of this kind below one root complex, each with a line of its own; they share pools, IOMMU and
    memory."""
