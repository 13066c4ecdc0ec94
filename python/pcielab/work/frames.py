"""Frames through a NIC as work: a test for each frame size.

The NIC is a TOML file as `pcielab model nic` takes; its `[queues]` limit the packets in flight.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

from pcielab._core import COUNTED_PACKETS
from pcielab.errors import refusal
from pcielab.library.alike import suggestion
from pcielab.library.nics import NicProfile
from pcielab.model.link import Ethernet
from pcielab.wording import shown
from pcielab.work.nic_test import Direction, NicTest

_NICS_MOST = 16


@dataclass(frozen=True)
class Frames:
    """Ethernet frames of some sizes, arriving at line rate.

    Attributes:
        nic: The NIC; see `pcielab.model.load_nic`.
        frames_bytes: Sizes, FCS included: a test each.
        ethernet: The line.
        direction: `tx` sends, `rx` receives, `both` receives packets and sends them on.
        packets: Counted packets, after those that fill queues and caches.
        nics: NICs of this kind below one root complex, 1 to 16, each with a line of its own. Rates are of one.
        source: Name of the NIC in messages: a name or a file.

    Raises:
        InputError: The direction is unknown, or a switch of the NIC acts on some sizes only.
    """

    kind: ClassVar[Literal["frames"]] = "frames"

    nic: NicProfile
    frames_bytes: Sequence[int]
    ethernet: Ethernet = Ethernet()  # noqa: RUF009 - it is frozen
    direction: Direction = "both"
    packets: int = COUNTED_PACKETS
    nics: int = 1
    source: str | None = None

    def __post_init__(self) -> None:
        known = get_args(Direction)
        if self.direction not in known:
            raise refusal(
                "not-found", f"--direction: {shown(self.direction)}: {suggestion(self.direction, known)}"
            )
        if not 1 <= self.nics <= _NICS_MOST:
            raise refusal("out-of-range", f"--nics: {self.nics}: give 1 to {_NICS_MOST}")
        limits, sizes = self.nic.limits(), self.frames_bytes
        if any(min(sizes, default=0) <= limit < max(sizes, default=0) for limit in limits.values()):
            acting = ", ".join(f"{name} acts on frames of at most {limit} B" for name, limit in limits.items())
            raise refusal("conflict", f"{self.source or self.name}: {acting}: run the sizes below and above apart")

    @property
    def name(self) -> str:
        """Short name."""
        return self.nic.name

    def with_nic(self, changes: Mapping[str, object]) -> "Frames":
        """These frames through the NIC with changes by dotted key, as `--set nic.KEY=VALUE` gives them.

        Raises:
            InputError: A key is unknown, or a value wrong.
        """
        return replace(self, nic=self.nic.with_(changes, "--set")) if changes else self

    @property
    def frame_bytes_least(self) -> int | None:
        """The smallest size, on which the switches of the NIC depend."""
        return min(self.frames_bytes, default=None)

    def as_question(self) -> dict[str, Any]:
        """The NIC as runs record it, with the switches that act on these frames."""
        return self.nic.as_question(self.frame_bytes_least)

    def to_json(self) -> str:
        """The tests as the compiled half takes them."""
        return json.dumps([self._test(size) for size in self.frames_bytes])

    def _test(self, size: int) -> NicTest:
        """A test, with enough warm-up packets to fill every queue."""
        line = self.ethernet
        return {
            "ethernet": {"line_gbps": line.line_gbps, "vlan": line.vlan, "gap": line.gap},
            "frame_bytes": size,
            "direction": self.direction,
            "warm_up_packets": self.nic.handle.warm_up_packets(size),
            "packets": self.packets,
            "nics": self.nics,
        }
