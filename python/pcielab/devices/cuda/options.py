"""What `--device cuda` can be told, and the card that is meant."""

from pydantic import Field

from pcielab import _core
from pcielab.devices.cpu import HostOptions
from pcielab.devices.cuda.compiler import BULK_FROM, ReadForm
from pcielab.devices.cuda.driver import Card, Driver
from pcielab.library.profiles.part import Part
from pcielab.library.profiles.quantity_types import Size


class CudaHostOptions(HostOptions):
    """The host's side of a GPU."""

    buffer_bytes: Size = 512 << 20
    """Size of the buffer, in whole pages; windows that are larger than it are refused."""


class CardOptions(Part):
    """The card's side."""

    read: ReadForm = "load"
    """The instruction that reads host memory: load, mmio, volatile, cv, or bulk (sm_90 and later)."""


class CudaOptions(Part):
    """Everything that `--device cuda` can be told."""

    device: CardOptions = Field(default=CardOptions())
    """The card's side."""
    host: CudaHostOptions = Field(default=CudaHostOptions())
    """The host's side."""


def chosen(driver: Driver, number: int) -> Card:
    """The card of a number.

    Raises:
        UnavailableError: There is none, or nobody may use it.
    """
    cards = list(driver.cards())
    found = next((card for card in cards if card.number == number), None)
    if found is None:
        there = ", ".join(f"cuda:{card.number} ({card.name}, {card.address})" for card in cards)
        raise _core.UnavailableError(
            f"--device cuda:{number}: there is {there or 'no card that the CUDA driver sees'}"
        )
    if reason := unusable(found):
        raise _core.UnavailableError(f"--device cuda:{number}: {found.name}: {reason}")
    return found


def unusable(card: Card) -> str | None:
    """Why a card cannot be measured with; None where it can."""
    if card.compute_mode == "prohibited":
        return "its compute mode prohibits contexts: an administrator can allow them (nvidia-smi -c)"
    return None


def check_read(card: Card, read: ReadForm) -> None:
    """Refuse an instruction that the card has not.

    Raises:
        UnavailableError: It has not.
    """
    if read == "bulk" and card.architecture < BULK_FROM:
        raise _core.UnavailableError(
            f"device.read = bulk: {card.name} is sm_{card.architecture}, and bulk copies are there from "
            f"sm_{BULK_FROM} on: give load"
        )
