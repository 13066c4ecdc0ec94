"""Both engines give the same numbers over a suite: a sixth of it here, all of it in `make test-slow`."""

from pathlib import Path

import pandas as pd
import pytest

from pcielab import open_store
from pcielab.devices.running import simulate
from pcielab.library import profiles
from pcielab.library.suites import Suite, load_suite
from pcielab.work.options import Engine

ENGINES: tuple[Engine, ...] = ("fast", "reference")


@pytest.mark.parametrize("one_in", [6, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("system", ["snb", "ib-011-nosp"])
def test_the_choice_of_engine_changes_nothing_but_the_manifest(system: str, one_in: int, tmp_path: Path) -> None:
    whole = load_suite("quick")
    suite = Suite.of(whole.name, whole.title, whole.entries[::one_in])
    assert {test["parameters"]["operation"] for test in suite.tests} >= {"bw-rd", "bw-wr", "bw-rdwr", "lat-rd"}
    for engine in ENGINES:
        simulate(profiles.resolve(system), suite, tmp_path / f"{engine}.db", engine=engine)
    fast, reference = (open_store(tmp_path / f"{engine}.db") for engine in ENGINES)
    pd.testing.assert_frame_equal(fast.scalars, reference.scalars)
    assert [store.manifest["backend"]["engine"] for store in (fast, reference)] == list(ENGINES)
