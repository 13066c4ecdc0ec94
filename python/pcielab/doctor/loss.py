"""What a setting costs: bandwidth by the model, on the link as it is and as it could be.

Large transfers are of 4 KiB, small ones of 64 B, both with 64-bit addresses. What the tree does not say is assumed
to be usual, and the loss says what was assumed.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from pcielab import model
from pcielab.doctor.finding import Loss
from pcielab.doctor.tree import SPEEDS, TAGS_5_BIT, Function, LinkEnd, Speed

Operation = Literal["read", "write", "rdwr"]
LARGE_BYTES, SMALL_BYTES = 4096, 64
ROUND_TRIPS_NS = (500.0, 1000.0)
"""A read of memory on a server, idle and under load: measured ones are mostly between these."""
_USUAL_MPS, _USUAL_MRRS = 256, 512


@dataclass(frozen=True)
class Use:
    """A link and how a function uses it.

    Attributes:
        link: As the model takes it.
        tags: Read requests in flight.
        assumed: What was not read.
    """

    link: model.Link
    tags: int
    assumed: str | None

    def with_link(self, speed_gtps: Speed, lanes: int) -> "Use":
        """The same on another link."""
        return replace(
            self, link=replace(self.link, generation=generation(speed_gtps), lanes=lanes, flit_mode=None)
        )

    def with_mps(self, mps_bytes: int) -> "Use":
        """The same with another maximum payload."""
        return replace(self, link=replace(self.link, mps_bytes=mps_bytes))

    def with_mrrs(self, mrrs_bytes: int) -> "Use":
        """The same with other read requests."""
        return replace(self, link=replace(self.link, mrrs_bytes=mrrs_bytes))

    def with_tags(self, tags: int) -> "Use":
        """The same with more or fewer requests in flight."""
        return replace(self, tags=tags)

    def without_ecrc(self) -> "Use":
        """The same without four bytes on each TLP."""
        return replace(self, link=replace(self.link, ecrc=False))


def use_of(function: Function, end: LinkEnd, payload_bytes: int | None = None) -> Use | None:
    """How a function uses its link; None where the link is not known.

    Args:
        function: The card.
        end: Its end of the link.
        payload_bytes: What the whole path lets it send, if that is less than its own setting.
    """
    if end.speed_gtps is None or not end.lanes:
        return None
    control, errors = function.control, function.errors
    mps = control.mps_bytes if control and control.mps_bytes else None
    mrrs = control.mrrs_bytes if control and control.mrrs_bytes else None
    assumed = [
        f"{name} {usual} B"
        for name, known, usual in (("MPS", mps, _USUAL_MPS), ("MRRS", mrrs, _USUAL_MRRS))
        if not known
    ]
    link = model.Link(
        generation=generation(end.speed_gtps),
        lanes=end.lanes,
        mps_bytes=min(mps or _USUAL_MPS, payload_bytes or 4096),
        mrrs_bytes=mrrs or _USUAL_MRRS,
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
    """What is lost between two uses of a link, with transfers of one size.

    Args:
        now: As it is.
        could: As it could be.
        operation: What the transfers do.
        size_bytes: Their size.
        round_trip_ns: How long a read takes; without it, tags do not bind.
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
