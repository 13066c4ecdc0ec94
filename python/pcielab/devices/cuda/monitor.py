"""What changes about a card while it is used: clocks, temperature, what throttles it, who else is on it.

From NVIDIA's management library, by the package nvidia-ml-py that the extras bring along. It is only read: no
clock, power limit or mode is ever set.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from pcielab.devices.facts import Condition

_THROTTLED = {
    0x0004: "power cap",
    0x0008: "hardware slowdown",
    0x0020: "temperature",
    0x0040: "temperature (hardware)",
    0x0080: "power brake",
}
"""Bits of the reasons for lower clocks that mean a card at work is held back; idle and set clocks are none."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A card at one moment; None is not known."""

    processor_clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    throttled: tuple[str, ...] | None = None
    other_processes: int | None = None

    def conditions(self) -> list[Condition]:
        """As conditions."""
        others = None if self.other_processes is None else float(self.other_processes)
        throttled = None if self.throttled is None else float(bool(self.throttled))
        return [
            Condition("processor_clock_now", "MHz", self.processor_clock_mhz),
            Condition("card_memory_clock", "MHz", self.memory_clock_mhz),
            Condition("card_temperature", "C", self.temperature_c),
            Condition("card_power", "W", self.power_w),
            Condition("throttled", "1", throttled),
            Condition("other_processes", "1", others),
        ]

    def remarks(self) -> list[str]:
        """What of it may have moved numbers."""
        found = []
        if self.throttled:
            found.append(f"the card was held back: {', '.join(self.throttled)}")
        if self.other_processes:
            found.append(f"{self.other_processes} other processes were on the card")
        return found


class Monitor(Protocol):
    """What reads a card."""

    driver: str | None
    """Version of the driver, such as 580.159.03."""

    def opened(self) -> None:
        """This process has just opened the card: what has appeared on it is its own."""
        ...

    def read(self) -> Reading:
        """The card, now."""
        ...


class Unknown:
    """Where there is nothing to read a card with."""

    driver: str | None = None

    def opened(self) -> None:
        """Nothing is known."""

    def read(self) -> Reading:
        """Nothing is known."""
        return Reading()


def load_monitor(address: str) -> Monitor:
    """What reads the card at a bus address; one that knows nothing where the library is not there."""
    try:
        library = import_module("pynvml")
        return _Library(library, address)
    except Exception:
        # Whatever is wrong with the library: what it would tell is unknown, and the card can be measured.
        return Unknown()


class _Library:
    def __init__(self, library: Any, address: str) -> None:
        self._library = library
        library.nvmlInit()
        self._card = library.nvmlDeviceGetHandleByPciBusId(address.encode())
        version = library.nvmlSystemGetDriverVersion()
        self.driver: str | None = version.decode() if isinstance(version, bytes) else str(version)
        self._before = self._processes() or frozenset()
        self._own = frozenset({os.getpid()})

    def _known(self, name: str, *arguments: Any) -> Any:
        call: Callable[..., Any] | None = getattr(self._library, name, None)
        try:
            return None if call is None else call(self._card, *arguments)
        except self._library.NVMLError:
            return None

    def _processes(self) -> frozenset[int] | None:
        found = self._known("nvmlDeviceGetComputeRunningProcesses")
        return None if found is None else frozenset(process.pid for process in found)

    def opened(self) -> None:
        # In a container the numbers of processes may be those of the host, of which this process knows nothing.
        self._own |= (self._processes() or frozenset()) - self._before

    def read(self) -> Reading:
        library, known = self._library, self._known
        reasons = known("nvmlDeviceGetCurrentClocksEventReasons")
        if reasons is None:
            reasons = known("nvmlDeviceGetCurrentClocksThrottleReasons")
        processes = self._processes()
        power = known("nvmlDeviceGetPowerUsage")
        return Reading(
            processor_clock_mhz=known("nvmlDeviceGetClockInfo", library.NVML_CLOCK_SM),
            memory_clock_mhz=known("nvmlDeviceGetClockInfo", library.NVML_CLOCK_MEM),
            temperature_c=known("nvmlDeviceGetTemperature", library.NVML_TEMPERATURE_GPU),
            power_w=None if power is None else power / 1e3,
            throttled=None
            if reasons is None
            else tuple(name for bit, name in _THROTTLED.items() if reasons & bit),
            other_processes=None if processes is None else len(processes - self._own),
        )
