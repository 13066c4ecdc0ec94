"""A stand-in for the GPU's driver."""

import pytest

from patience import HANGS_AFTER_SECONDS
from pcielab.devices.cuda import bindings, device, opened, reach
from pcielab.devices.host import RealHost

from .stand_in import Faults, StandIn


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The driver that `--device cuda` finds, without faults at first."""
    driver = StandIn(Faults())
    monkeypatch.setattr(bindings, "load_driver", lambda: driver)
    # The stand-in identifies a kernel by its file: nothing is compiled.
    monkeypatch.setattr(opened, "compiled", lambda source, _architecture, _read: source.encode())
    # Nothing waits for a real GPU: limits count polls, and only a run that hangs is given up.
    for module in (opened, reach):
        monkeypatch.setattr(module, "time", driver)
    # Cold caches change none of its times, and a thrash writes twice the caches before each test.
    monkeypatch.setattr(RealHost, "thrash", driver.note_thrash)
    monkeypatch.setattr(device, "DEADLINE_MS", round(1000 * HANGS_AFTER_SECONDS))
    return driver
