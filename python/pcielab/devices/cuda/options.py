"""Options of `--device cuda`, and the choice of a GPU.

They are models of pydantic, as of every device (`devices/registry.py`).
"""

from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field

from pcielab import _core
from pcielab.devices.cpu import HostOptions
from pcielab.devices.cuda.compiler import BULK_FROM, ReadForm
from pcielab.devices.cuda.driver import Card, Driver
from pcielab.devices.cuda.link import LinkState
from pcielab.library.profiles.part import Part
from pcielab.library.profiles.quantity_types import Size


def _link(text: str) -> str:
    """Check the words of a link."""
    generation, lanes = _core.read_link(text) or (0, 0)
    if not 1 <= generation <= len(_core.SPEEDS_GTPS) or lanes not in _core.LANES:
        raise ValueError(f'"{text}" is no link: give generation and lanes, for example gen5-x16')
    return text


LinkText: TypeAlias = Annotated[str, AfterValidator(_link)]


class CudaHostOptions(HostOptions):
    """The host's side of a GPU."""

    buffer_bytes: Size = 512 << 20
    """Size of the buffer, in whole pages; larger windows are refused."""


class CardOptions(Part):
    """The GPU's side."""

    read: ReadForm = "load"
    """The instruction that reads host memory: load, mmio, volatile, cv, or bulk (sm_90 and later)."""
    link: LinkText | None = None
    """The link, such as gen5-x16, if kernel and driver do not show it; none: the faster of what they show."""

    def stated_link(self) -> LinkState | None:
        """The stated link."""
        found = None if self.link is None else _core.read_link(self.link)
        return None if found is None else LinkState(_core.SPEEDS_GTPS[found[0] - 1], found[1])


class CudaOptions(Part):
    """Options of `--device cuda`."""

    device: CardOptions = Field(default=CardOptions())
    """The GPU's side."""
    host: CudaHostOptions = Field(default=CudaHostOptions())
    """The host's side."""


def chosen(driver: Driver, number: int) -> Card:
    """Find a GPU by its number.

    Raises:
        UnavailableError: It does not exist, or nobody may use it.
    """
    cards = list(driver.cards())
    found = next((card for card in cards if card.number == number), None)
    if found is None:
        present = ", ".join(f"cuda:{card.number} ({card.name}, {card.address})" for card in cards)
        raise _core.UnavailableError(f"--device cuda:{number}: the CUDA driver sees {present or 'no GPU'}")
    if reason := unusable(found):
        raise _core.UnavailableError(f"--device cuda:{number}: {found.name}: {reason}")
    return found


def unusable(card: Card) -> str | None:
    """Why a GPU cannot be measured; None if it can."""
    if card.compute_mode == "prohibited":
        return "its compute mode prohibits contexts: an administrator can allow them (nvidia-smi -c)"
    return None


def check_read(card: Card, read: ReadForm) -> None:
    """Refuse an instruction that the GPU does not support.

    Raises:
        UnavailableError: It does not.
    """
    if read == "bulk" and card.architecture < BULK_FROM:
        raise _core.UnavailableError(
            f"device.read = bulk: {card.name} is sm_{card.architecture}, and bulk copies need "
            f"sm_{BULK_FROM} or later: give load"
        )
