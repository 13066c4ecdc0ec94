"""Results that a machine cannot count are reported as unsupported or failed, never as a number."""

from pathlib import Path

import pandas as pd
import pytest

from pcielab import open_store, simulate
from pcielab.errors import InputError
from pcielab.library import profiles
from pcielab.library.suites import load_suite
from suite_texts import suite_text, transfers

ROWS = suite_text(transfers("rows", "LAT_DMA_RD BW_DMA_RD BW_DMA_RW", 64, transactions=2000))


def run_on_e3(folder: Path, changes: dict[str, object]) -> pd.DataFrame:
    (folder / "rows.toml").write_text(ROWS)
    store = folder / "run.db"
    simulate(profiles.resolve("e3", changes), load_suite(str(folder / "rows.toml")), store)
    return open_store(store).tests.set_index("name")


def test_reading_and_writing_takes_two_transactions(tmp_path: Path) -> None:
    tests = run_on_e3(tmp_path, {"device.transactions_most": 1})
    assert tests.loc["BW_DMA_RD", "status"] == "ok"
    assert tests.loc["BW_DMA_RW", "status"] == "not-supported"
    assert "needs one of each" in tests.loc["BW_DMA_RW", "message"]


def test_a_latency_of_more_ticks_than_are_counted_fails(tmp_path: Path) -> None:
    # A transaction in a thousand waits for a second, in ticks of a picosecond.
    changes: dict[str, object] = {
        "device.timer.numerator_ns": 1,
        "device.timer.denominator": 1000,
        "host.idle.stalls.interval_ns": 1e6,
        "host.idle.stalls.duration_ns": 1e9,
    }
    tests = run_on_e3(tmp_path, changes)
    assert tests.loc["LAT_DMA_RD", "status"] == "failed"
    assert "2^32 ticks of the timer" in tests.loc["LAT_DMA_RD", "message"]


@pytest.mark.parametrize(
    ("key", "value", "remedy"),
    [
        ("device.timer.denominator", 2**32 - 1, "a tick of 1 ps"),
        ("host.root_complex.request_interval_ns", 1e8, "100000"),
        ("device.dma.engine.segment_ns", 1e6, "100000"),
    ],
)
def test_times_out_of_range_are_refused(key: str, value: object, remedy: str) -> None:
    with pytest.raises(InputError) as refusal:
        profiles.resolve("snb", {key: value})
    assert key.rpartition(".")[0] in str(refusal.value)
    assert remedy in str(refusal.value)
