"""`make gpu` finds in stores whether a GPU meets its targets."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pcielab import devices, load_suite, open_store

from .stand_in import StandIn
from .test_run import SMALL

SCRIPT = Path(__file__).parents[2] / "bench" / "gpu_figures.py"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    found = importlib.util.spec_from_file_location("gpu_figures", SCRIPT)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    monkeypatch.setitem(sys.modules, "gpu_figures", module)
    found.loader.exec_module(module)
    return module


def test_figures_are_found_in_stores(stand_in: StandIn, script: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    suite = load_suite(str(tmp_path / "small.toml"))
    stores = []
    for number, round_trip_ns in enumerate((1000.0, 1005.0, 1100.0)):
        stand_in.round_trip_ns = round_trip_ns
        backend = devices.open_kind("cuda", sets={"host.buffer_bytes": 4 << 20})
        devices.run(backend, suite, tmp_path / f"{number}.db")
        stores.append(open_store(tmp_path / f"{number}.db"))
    close, far = (list(script.figures(some)) for some in (stores[:2], stores))
    assert [figure.met for figure in close[:2]] == [True, True]
    assert [figure.met for figure in far[:2]] == [False, False]
    bounds, writes, reads, windows = close[2:]
    assert (bounds.found, bounds.met) == ("the link is not known", None)
    # The stand-in's copy engines and processors share one link.
    assert writes.met
    assert reads.met
    assert "64 B: T 10" in reads.found
    assert windows.met is None
