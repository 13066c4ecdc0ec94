"""A test of a NIC as the simulator takes it.

Written by `make generate` from `crates/pcie-sim/src/nic.rs`: change the types there.
"""

from typing import Any, Literal, TypeAlias, TypedDict

Direction: TypeAlias = Literal["both", "tx", "rx"]
"""What the NIC does."""


class NicTest(TypedDict):
    """Packets on the line."""

    ethernet: dict[str, Any]
    """The line."""
    frame_bytes: int
    """Bytes of a frame, FCS included."""
    direction: Direction
    """What the NIC does with packets."""
    warm_up_packets: int
    """Packets that come before those that count."""
    packets: int
    """Packets that count."""
