"""Throttling and other processes give remarks; unreadable sensors are unknown."""

import os
from types import SimpleNamespace
from typing import Any

import pytest

from pcielab.devices.cuda import monitor
from pcielab.devices.cuda.link import UNKNOWN, LinkState


class Library:
    """A stand-in for pynvml, with the functions in use."""

    NVMLError = RuntimeError
    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0

    def __init__(self) -> None:
        self.pids = [7]
        self.reasons = 0x1
        self.generation = 5

    def nvmlInit(self) -> None:  # noqa: N802
        pass

    def nvmlDeviceGetHandleByPciBusId(self, _address: bytes) -> str:  # noqa: N802
        return "card"

    def nvmlSystemGetDriverVersion(self) -> str:  # noqa: N802
        return "580.159.03"

    def nvmlDeviceGetCurrentClocksEventReasons(self, _card: str) -> int:  # noqa: N802
        return self.reasons

    def nvmlDeviceGetComputeRunningProcesses(self, _card: str) -> list[Any]:  # noqa: N802
        return [SimpleNamespace(pid=pid) for pid in self.pids]

    def nvmlDeviceGetClockInfo(self, _card: str, _clock: int) -> int:  # noqa: N802
        return 1980

    def nvmlDeviceGetCurrPcieLinkGeneration(self, _card: str) -> int:  # noqa: N802
        return self.generation

    def nvmlDeviceGetCurrPcieLinkWidth(self, _card: str) -> int:  # noqa: N802
        return 16

    def nvmlDeviceGetPowerUsage(self, _card: str) -> int:  # noqa: N802
        raise self.NVMLError("not supported")


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    found = Library()
    monkeypatch.setattr(monitor, "import_module", lambda _name: found)
    return found


def test_idle_clocks_and_own_processes_give_no_remark(library: Library) -> None:
    watched = monitor.load_monitor("0000:18:00.0")
    # In a container this process may have another id on the host.
    library.pids = [7, 4242]
    watched.opened()
    reading = watched.read()
    assert watched.driver == "580.159.03"
    assert (reading.throttled, reading.other_processes, reading.power_w) == ((), 1, None)
    library.pids = [os.getpid(), 4242]
    assert watched.read().remarks() == []


def test_throttling_and_other_processes_give_remarks(library: Library) -> None:
    watched = monitor.load_monitor("0000:18:00.0")
    library.reasons, library.pids = 0x24, [7, 8]
    assert watched.read().remarks() == [
        "the GPU was throttled: power cap, temperature",
        "2 other processes used the GPU",
    ]
    values = {condition.metric: condition.value for condition in watched.read().conditions()}
    assert values["throttled"] == 1.0
    assert values["processor_clock_now"] == 1980


def test_the_driver_shows_the_link(library: Library) -> None:
    watched = monitor.load_monitor("0000:18:00.0")
    assert watched.link() == LinkState(32.0, 16)
    # What NVML gives for a GPU that is on no PCIe link.
    library.generation = 0xFFFFFFFF
    assert watched.link() == UNKNOWN


def test_sensors_are_unknown_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_name: str) -> Any:
        raise ImportError

    monkeypatch.setattr(monitor, "import_module", missing)
    unknown = monitor.load_monitor("0000:18:00.0")
    assert unknown.driver is None
    assert unknown.link() == UNKNOWN
    assert {condition.value for condition in unknown.read().conditions()} == {None}
