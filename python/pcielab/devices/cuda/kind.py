"""`cuda` as a kind of device: its constructor and its list of GPUs."""

from pcielab import _core
from pcielab.devices.cuda.driver import DriverError, NoDriverError
from pcielab.devices.cuda.options import CudaOptions, unusable
from pcielab.errors import refusal

TITLE = "An NVIDIA GPU: its processors as the path command, its copy engines as the path dma"


def make(options: CudaOptions, address: str | None) -> _core.Backend:
    """Make the back end; the address is the number of a GPU, as the driver counts them."""
    from pcielab.devices.bridge import bridged
    from pcielab.devices.cuda.backend import CudaBackend

    if address is not None and (not (address.isascii() and address.isdigit()) or len(address) > len("1023")):
        raise refusal(
            "wrong-value",
            f"--device cuda:{address}: give the number of a GPU, for example cuda:0; see devices list",
        )
    return bridged(CudaBackend(options, int(address or 0)))


def present() -> list[tuple[str, str]]:
    """The GPUs here, each with why it cannot be measured, empty if it can."""
    from pcielab.devices.cuda.bindings import load_driver

    try:
        cards = load_driver().cards()
    except (NoDriverError, DriverError) as error:
        return [("an NVIDIA GPU", str(error))]
    if not cards:
        return [("an NVIDIA GPU", "the CUDA driver sees no GPU")]
    return [(f"cuda:{card.number} {card.name} at {card.address}", unusable(card) or "") for card in cards]
