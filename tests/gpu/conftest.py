"""A stand-in for the GPU's driver."""

import pytest

from patience import patient
from pcielab.devices.cuda import bindings, device, opened

from .stand_in import Faults, StandIn


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The driver that `--device cuda` finds, without faults at first."""
    driver = StandIn(Faults())
    monkeypatch.setattr(bindings, "load_driver", lambda: driver)
    # The stand-in identifies a kernel by its file: nothing is compiled.
    monkeypatch.setattr(opened, "compiled", lambda source, _architecture, _read: source.encode())
    # The stand-in computes on a processor of this machine, which may be busy.
    monkeypatch.setattr(device, "DEADLINE_MS", round(patient(device.DEADLINE_MS)))
    for limit in ("LAUNCH_SECONDS", "STOP_SECONDS"):
        monkeypatch.setattr(opened, limit, patient(getattr(opened, limit)))
    return driver
