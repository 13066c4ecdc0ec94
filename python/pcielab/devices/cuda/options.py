"""`cuda` as a kind of device: its options, how it is made, and what is present."""

from pydantic import Field

from pcielab import _core
from pcielab.devices.cpu import HostOptions
from pcielab.devices.cuda.compiler import BULK_FROM, ReadForm
from pcielab.devices.cuda.driver import Card, Driver, DriverError, NoDriverError
from pcielab.errors import InputError
from pcielab.profiles.part import Part, Size

TITLE = "An NVIDIA GPU: its processors as the path command, its copy engines as the path dma"


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


def make(options: CudaOptions, address: str | None) -> _core.Backend:
    """The back end; an address is the number of a card, as the driver counts them."""
    from pcielab.devices.bridge import bridged
    from pcielab.devices.cuda.backend import CudaBackend

    if address is not None and (not (address.isascii() and address.isdigit()) or len(address) > len("1023")):
        raise InputError(f"--device cuda:{address}: give the number of a card, such as cuda:0; see devices list")
    return bridged(CudaBackend(options, int(address or 0)))


def present() -> list[tuple[str, str]]:
    """The cards here, and what is missing to measure with them."""
    from pcielab.devices.cuda.bindings import load_driver

    try:
        cards = load_driver().cards()
    except (NoDriverError, DriverError) as error:
        return [("an NVIDIA GPU", str(error))]
    if not cards:
        return [("an NVIDIA GPU", "the CUDA driver sees no card")]
    return [(f"cuda:{card.number} {card.name} at {card.address}", unusable(card) or "") for card in cards]


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
