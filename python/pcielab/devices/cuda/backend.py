"""The back end `cuda`: opens and checks a GPU, and registers the host's buffer with it."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from pcielab import _core
from pcielab.devices.cuda import bindings
from pcielab.devices.cuda.compiler import CompileError
from pcielab.devices.cuda.device import CudaDevice
from pcielab.devices.cuda.driver import Card, Driver, DriverError, NoDriverError
from pcielab.devices.cuda.host import CudaHost, why_not_registered
from pcielab.devices.cuda.link import Link, read_pci_facts
from pcielab.devices.cuda.monitor import load_monitor
from pcielab.devices.cuda.opened import OpenCard
from pcielab.devices.cuda.options import CudaOptions, check_read, chosen
from pcielab.devices.protocols import Backend, Device, Host


class CudaBackend(Backend):
    """One GPU."""

    kind = "cuda"
    origin = "measured"

    def __init__(self, options: CudaOptions, number: int, load_driver: Callable[[], Driver] | None = None) -> None:
        """GPU `number`, through the machine's driver unless another is given."""
        self._options, self._number, self._load_driver = options, number, load_driver

    def options(self) -> Mapping[str, Any]:
        """The options with their defaults."""
        return {"card": self._number, **self._options.model_dump(mode="json")}

    def open(self) -> tuple[Device, Host]:
        """Open the GPU.

        Raises:
            UnavailableError: Driver or GPU is missing, or the GPU does not support the options.
        """
        try:
            driver = (self._load_driver or bindings.load_driver)()
            card = chosen(driver, self._number)
            check_read(card, self._options.device.read)
            return self._opened(driver, card)
        except NoDriverError as error:
            raise _core.UnavailableError(f"--device cuda: {error}") from None
        except CompileError as error:
            raise _core.UnavailableError(f"--device cuda: a kernel does not compile: {error}") from None

    def _opened(self, driver: Driver, card: Card) -> tuple[Device, Host]:
        pci, monitor = read_pci_facts(card.address), load_monitor(card.address)
        # Read before any work for the GPU.
        link = Link(card.address, pci, monitor.link, self._options.device.stated_link())
        host = CudaHost(self._options.host, pci)
        try:
            opened = OpenCard(driver, card.number, card.architecture, self._options.device.read)
        except DriverError as error:
            raise _core.UnavailableError(f"--device cuda:{card.number}: {card.name}: {_why(error)}") from None
        try:
            try:
                buffer = opened.register(host.address, host.buffer.size)
            except DriverError as error:
                raise _core.UnavailableError(why_not_registered(str(error), self._options.host)) from None
            monitor.opened()
            try:
                return CudaDevice(opened, card, host, buffer, link, monitor, self._options.device.read), host
            except (DriverError, RuntimeError) as error:
                raise RuntimeError(f"--device cuda:{card.number}: {card.name}: {error}") from error
        except BaseException:
            with suppress(DriverError):
                opened.close()
            raise


def _why(error: DriverError) -> str:
    if error.code == "CUDA_ERROR_DEVICE_UNAVAILABLE":
        return f"another process uses it exclusively: {error}"
    if error.code == "CUDA_ERROR_OUT_OF_MEMORY":
        return f"its memory is full: nvidia-smi shows who uses it: {error}"
    return str(error)
