"""The negotiated link, as `lspci -vvv` shows it."""

from typing import Literal, Self

from pydantic import Field, model_validator

from pcielab.profiles.part import Part


class Link(Part):
    """What the two ends agreed on, and what the card's configuration registers say."""

    generation: Literal[1, 2, 3, 4, 5, 6, 7]
    """PCIe generation."""
    lanes: Literal[1, 2, 4, 8, 12, 16, 32]
    """Lanes in use."""
    mps_bytes: Literal[128, 256, 512, 1024, 2048, 4096]
    """Maximum payload size (MPS)."""
    mrrs_bytes: Literal[128, 256, 512, 1024, 2048, 4096]
    """Maximum read request size (MRRS)."""
    rcb_bytes: Literal[64, 128] = 64
    """Read completion boundary of the root port."""
    ecrc: bool = False
    """Whether the card appends an ECRC to what it sends (`CGenEn+` in its AER capability)."""
    tags: int = Field(ge=1, le=16_384)
    """Read requests the card may have in flight: 32 without extended tags, 256 with, 768 with 10-bit tags."""
    flit: bool = False
    """Flit mode: always in generations 6 and 7, optional at lower rates."""

    @model_validator(mode="after")
    def _flit_mode(self) -> Self:
        if self.generation >= 6 and not self.flit:
            raise ValueError(f"flit = false: generation {self.generation} runs in flit mode, set flit = true")
        return self
