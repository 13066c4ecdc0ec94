"""A stand-in for the card, wherever a test asks for one."""

import pytest

from patience import patient
from pcielab.devices.cuda import bindings, device, opened

from .stand_in import Faults, StandIn


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """What `--device cuda` finds as its driver, with nothing wrong at first."""
    driver = StandIn(Faults())
    monkeypatch.setattr(bindings, "load_driver", lambda: driver)
    # The stand-in knows a kernel by the file that it is in: nothing is compiled for it.
    monkeypatch.setattr(opened, "compiled", lambda source, _architecture, _read: source.encode())
    # What a card computes by itself, the stand-in has a processor of this machine for, which others want too.
    monkeypatch.setattr(device, "DEADLINE_MS", round(patient(device.DEADLINE_MS)))
    for limit in ("LAUNCH_SECONDS", "STOP_SECONDS"):
        monkeypatch.setattr(opened, limit, patient(getattr(opened, limit)))
    return driver
