"""A link as its two ends negotiated it: what the closed form and profiles of messages have of it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Link:
    """A link as its two ends negotiated it."""

    generation: int
    lanes: int
    mps_bytes: int
    mrrs_bytes: int
    rcb_bytes: int = 64
    address_bits: int = 64
    ecrc: bool = False
    flit_mode: bool | None = None
