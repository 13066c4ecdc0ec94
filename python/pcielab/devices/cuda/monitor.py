"""Sensors of a GPU: clocks, temperature, power, throttling, other processes.

They come from NVIDIA's management library through nvidia-ml-py, which the extras install. pcielab never
changes a clock, power limit or mode.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from pcielab._core import SPEEDS_GTPS
from pcielab.devices.cuda.link import UNKNOWN, LinkState
from pcielab.devices.facts import Condition

_THROTTLED = {
    0x0004: "power cap",
    0x0008: "hardware slowdown",
    0x0020: "temperature",
    0x0040: "temperature (hardware)",
    0x0080: "power brake",
}
"""Bits of the reasons for lower clocks that mean throttling; idle and configured clocks do not count."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Sensors of a GPU at one moment; None: unknown."""

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
        """Remarks on influences that may have changed the numbers."""
        found = []
        if self.throttled:
            found.append(f"the GPU was throttled: {', '.join(self.throttled)}")
        if self.other_processes:
            found.append(f"{self.other_processes} other processes used the GPU")
        return found


class Monitor(Protocol):
    """Reads the sensors of a GPU."""

    driver: str | None
    """Version of the driver, for example 580.159.03."""

    def opened(self) -> None:
        """Note that this process has just opened the GPU: processes that appeared on it are its own."""

    def read(self) -> Reading:
        """Read the sensors."""

    def link(self) -> LinkState:
        """Read the state of the GPU's link, as its driver shows it."""


class Unknown:
    """A monitor without the library: every value is unknown."""

    driver: str | None = None

    def opened(self) -> None:
        """Nothing to note."""

    def read(self) -> Reading:
        """A reading without values."""
        return Reading()

    def link(self) -> LinkState:
        """An unknown state."""
        return UNKNOWN


def load_monitor(address: str) -> Monitor:
    """Make the monitor of the GPU at a bus address; `Unknown` without the library."""
    try:
        return _Library(import_module("pynvml"), address)
    except Exception:
        # A missing or broken library makes sensors unknown; the GPU can still be measured.
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
        # In a container the process ids may be the host's, which this process does not know.
        self._own |= (self._processes() or frozenset()) - self._before

    def link(self) -> LinkState:
        generation = self._known("nvmlDeviceGetCurrPcieLinkGeneration")
        lanes = self._known("nvmlDeviceGetCurrPcieLinkWidth")
        if generation not in range(1, len(SPEEDS_GTPS) + 1) or not lanes:
            return UNKNOWN
        return LinkState(SPEEDS_GTPS[generation - 1], lanes)

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
