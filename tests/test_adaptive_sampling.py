"""Adaptive sampling gives the full run's results from fewer transactions, and reports their number."""

import csv
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pcielab import open_store
from pcielab.devices.running import simulate
from pcielab.formats.exporters import export
from pcielab.library import profiles
from pcielab.library.suites import Suite, load_suite, single_test
from pcielab.work.options import Samples

BANDWIDTH_TRANSACTIONS = 1 << 21
LATENCY_TRANSACTIONS = 1 << 16
TICK_NS = 40 / 3
TESTS: list[dict[str, Any]] = [
    {"operation": "bw-rd", "size": 64, "window": "8K", "cache": "host-warm"},
    {"operation": "bw-rd", "size": 64, "window": "64M", "cache": "cold"},
    {"operation": "bw-rd", "size": 512, "window": "1M", "cache": "host-warm", "pattern": "sequential"},
    {"operation": "bw-rd", "size": 257, "window": "4M", "cache": "cold", "host_offset": 3},
    {"operation": "bw-wr", "size": 64, "window": "64M", "cache": "cold"},
    {"operation": "bw-wr", "size": 1024, "window": "256K", "cache": "device-warm"},
    {"operation": "bw-rdwr", "size": 128, "window": "16M", "cache": "host-warm"},
    {"operation": "bw-rd", "size": 64, "window": "8K", "cache": "cold", "outstanding": 4},
    {"operation": "lat-rd", "size": 64, "window": "8K", "cache": "cold"},
    {"operation": "lat-rd", "size": 64, "window": "64M", "cache": "cold"},
    {"operation": "lat-rd", "size": 8, "window": "4M", "cache": "device-warm", "path": "command"},
    {"operation": "lat-wrrd", "size": 512, "window": "1M", "cache": "host-warm"},
    {"operation": "lat-wrrd", "size": 64, "window": "256K", "cache": "device-thrash", "pattern": "sequential"},
]


def varied() -> Suite:
    suites = [
        single_test(
            **test,
            transactions=LATENCY_TRANSACTIONS if test["operation"].startswith("lat") else BANDWIDTH_TRANSACTIONS,
        )
        for test in TESTS
    ]
    return Suite.of("varied", "Varied", (suite.entries[0] for suite in suites))


def run(system: str, suite: Suite, output: Path, samples: Samples) -> pd.DataFrame:
    simulate(profiles.resolve(system), suite, output, samples=samples)
    return open_store(output).scalars


def full_and_adaptive(system: str, suite: Suite, folder: Path) -> tuple[pd.DataFrame, pd.DataFrame, pd.Series]:
    """Check that both runs agree; return their results and the relative differences of bandwidths."""
    full = run(system, suite, folder / "full.db", "full")
    adaptive = run(system, suite, folder / "adaptive.db", "adaptive")
    bandwidth = full["operation"].str.startswith("bw")
    apart = (adaptive["bandwidth"] / full["bandwidth"] - 1).abs()[bandwidth]
    assert apart.max() <= 0.005, apart
    apart_ns = (adaptive["median"] - full["median"]).abs()[~bandwidth]
    assert apart_ns.max() <= TICK_NS + 0.01, apart_ns
    return full, adaptive, apart


@pytest.mark.parametrize("system", ["hsw2620", "ib-011-nosp", "e3"])
def test_adaptive_results_are_those_of_full_runs(system: str, tmp_path: Path) -> None:
    full, adaptive, _ = full_and_adaptive(system, varied(), tmp_path)
    for column in ("transactions", "samples"):
        assert (adaptive[column].dropna() <= full[column].dropna()).all()
    assert adaptive["transactions"].sum() < full["transactions"].sum() / 4


@pytest.mark.slow
@pytest.mark.parametrize("system", ["snb", "ib-000-nosp"])
def test_adaptive_results_over_the_published_suite_are_those_of_full_counts(system: str, tmp_path: Path) -> None:
    # Larger differences come from adaptive tests that end unsettled, with a message, and from chance in thousands.
    assert full_and_adaptive(system, load_suite("paper"), tmp_path)[2].quantile(0.95) <= 0.0025


def rows(folder: Path, family: str) -> list[dict[str, str]]:
    with (folder / f"{family}.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


def test_an_export_has_the_simulated_counts_not_those_asked_for(tmp_path: Path) -> None:
    simulate(profiles.resolve("snb"), load_suite("quick"), tmp_path / "run.db")
    store = open_store(tmp_path / "run.db")
    export(store, "pcie-bench", tmp_path / "out")
    asked = store.scalars.groupby("family")["transactions_asked"].max()
    for family in ("bw_dma_sz_sweep", "bw_dma_win_sweep_rd_rnd_64"):
        for row in rows(tmp_path / "out", family):
            transactions, size = int(row["Trans"]), int(row["SZ"])
            assert 0 < transactions < asked[family] / 2, row
            assert int(row["Bytes"]) == transactions * size
            gbps = transactions * size * 8 / float(row["Time"])
            assert float(row["BW (GB/s)"]) == pytest.approx(gbps, rel=1e-9)
            assert float(row["Trans/s"]) == pytest.approx(transactions * 1e9 / float(row["Time"]), rel=1e-9)
    latencies = store.scalars[store.scalars["family"] == "lat_dma_sweep_rd_rnd_64"]
    written = rows(tmp_path / "out", "lat_dma_sweep_rd_rnd_64")
    for row, test in zip(written, latencies["id"], strict=True):
        simulated = int(store.distribution(test)["count"].sum())
        assert int(row["#samples"]) == simulated < asked["lat_dma_sweep_rd_rnd_64"]
