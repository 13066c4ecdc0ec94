"""Options of `--device cuda`, and the choice of a GPU."""

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
    """Size of the buffer, in whole pages; larger windows are refused."""


class CardOptions(Part):
    """The GPU's side."""

    read: ReadForm = "load"
    """The instruction that reads host memory: load, mmio, volatile, cv, or bulk (sm_90 and later)."""


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
