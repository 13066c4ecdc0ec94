"""A link as its two ends negotiated it, for the closed form and for profiles of messages.

Written by `make generate` from `crates/pcie-wire/src/link.rs`: change the type there.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Link:
    """A negotiated link as profiles and the command line give it; `LinkConfiguration` is the validated form."""

    generation: int
    """PCIe generation, 1 to 7."""
    lanes: int
    """Width: 1, 2, 4, 8, 12, 16 or 32."""
    mps_bytes: int
    """Maximum Payload Size, 128 to 4096."""
    mrrs_bytes: int
    """Maximum Read Request Size, 128 to 4096."""
    rcb_bytes: int = 64
    """Read Completion Boundary, 64 (if left out) or 128."""
    address_bits: int = 64
    """Width of addresses: 32 or 64 (if left out)."""
    ecrc: bool = False
    """Whether requests carry an end-to-end CRC, and completions if nothing else is said of them; no, if left
    out."""
    completion_ecrc: bool | None = None
    """Whether completions carry one: the other end sends them. If left out, as requests do."""
    flit_mode: bool | None = None
    """Whether the link runs in flit mode; if left out, as the generation's own rate needs it."""
    ide_tlps: int | None = None
    """With integrity and data encryption (IDE), TLPs that share a MAC: 1 to 8. If left out, TLPs are not
    encrypted."""
