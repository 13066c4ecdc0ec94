"""Cost of a setting: modelled bandwidth of a link now and after the fix.

Large transfers have 4 KiB, small ones 64 B, both with 64-bit addresses. Values that the tree lacks are assumed to
be typical; the loss names them.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from pcielab import model
from pcielab.doctor.finding import Loss
from pcielab.doctor.tree import SPEEDS, TAGS_5_BIT, Function, LinkEnd, Speed
from pcielab.library.usual_link import USUAL_MPS_BYTES, USUAL_MRRS_BYTES

Operation = Literal["read", "write", "rdwr"]
LARGE_BYTES, SMALL_BYTES = 4096, 64
ROUND_TRIPS_NS = (500.0, 1000.0)
"""Duration of a memory read on a server, idle and under load; most measured ones lie in between."""


@dataclass(frozen=True)
class Use:
    """A link and how a function uses it.

    Attributes:
        link: The link as the model takes it.
        tags: Read requests in flight.
        assumed: Values that could not be read and were assumed.
    """

    link: model.Link
    tags: int
    assumed: str | None

    def with_link(self, speed_gtps: Speed, lanes: int) -> "Use":
        """The same on another link."""
        return self._with(generation=generation(speed_gtps), lanes=lanes, flit_mode=None)

    def with_mps(self, mps_bytes: int) -> "Use":
        """The same with another maximum payload."""
        return self._with(mps_bytes=mps_bytes)

    def with_mrrs(self, mrrs_bytes: int) -> "Use":
        """The same with another maximum read request."""
        return self._with(mrrs_bytes=mrrs_bytes)

    def with_tags(self, tags: int) -> "Use":
        """The same with another number of tags."""
        return replace(self, tags=tags)

    def without_ecrc(self) -> "Use":
        """The same without the four bytes of ECRC on each TLP."""
        return self._with(ecrc=False)

    def _with(self, **values: Any) -> "Use":
        return replace(self, link=replace(self.link, **values))


def use_of(function: Function, end: LinkEnd, payload_bytes: int | None = None) -> Use | None:
    """How a function uses its link; None if the link is unknown.

    Args:
        function: The device.
        end: Its end of the link.
        payload_bytes: Largest payload of the whole path, if less than the function's own setting.
    """
    if end.speed_gtps is None or not end.lanes:
        return None
    control, errors = function.control, function.errors
    mps = control.mps_bytes if control and control.mps_bytes else None
    mrrs = control.mrrs_bytes if control and control.mrrs_bytes else None
    assumed = [
        f"{name} {usual} B"
        for name, known, usual in (("MPS", mps, USUAL_MPS_BYTES), ("MRRS", mrrs, USUAL_MRRS_BYTES))
        if not known
    ]
    link = model.Link(
        generation=generation(end.speed_gtps),
        lanes=end.lanes,
        mps_bytes=min(mps or USUAL_MPS_BYTES, payload_bytes or 4096),
        mrrs_bytes=mrrs or USUAL_MRRS_BYTES,
        rcb_bytes=end.rcb_bytes or 64,
        ecrc=bool(errors and errors.ecrc_generated),
        flit_mode=end.flit_mode or None,
    )
    tags = (control.tags if control else None) or TAGS_5_BIT
    return Use(link, tags, f"not read, assumed: {', '.join(assumed)}" if assumed else None)


def generation(speed_gtps: Speed) -> int:
    """The PCIe generation of a speed."""
    return SPEEDS.index(speed_gtps) + 1


def loss(
    now: Use, could: Use, operation: Operation, size_bytes: int = LARGE_BYTES, round_trip_ns: float | None = None
) -> Loss:
    """Bandwidth lost between two uses of a link, for transfers of one size.

    Args:
        now: The present use.
        could: The use after the fix.
        operation: Operation of the transfers.
        size_bytes: Size of the transfers.
        round_trip_ns: Duration of a read; without it, tags do not bind.
    """
    is_now, would_be = (_ceiling(use.link, use.tags, operation, size_bytes, round_trip_ns) for use in (now, could))
    return Loss(
        operation=operation,
        size_bytes=size_bytes,
        round_trip_ns=round_trip_ns,
        now_gbps=is_now.gbps,
        now_bound=is_now.bound,
        could_gbps=would_be.gbps,
        could_bound=would_be.bound,
        assumed=now.assumed,
    )


@lru_cache(maxsize=4096)
def _ceiling(
    link: model.Link, tags: int, operation: Operation, size_bytes: int, round_trip_ns: float | None
) -> model.Answer:
    limits = model.Limits(round_trip_ns=round_trip_ns, tags=tags) if round_trip_ns is not None else None
    [row] = model.bandwidth(link, [size_bytes], limits=limits)
    answer: model.Answer = getattr(row, operation)
    return answer
