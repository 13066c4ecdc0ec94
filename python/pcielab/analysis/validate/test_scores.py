"""Scores: pairing of rows, sign and unit of errors, and regimes."""

from pathlib import Path

import pandas as pd
import pytest

from pcielab import InputError, Store, load_suite, open_store, resolve, simulate
from pcielab.analysis.validate import Score, score
from pcielab.analysis.validate.scores import AVERAGE, BANDWIDTH, DISTRIBUTION, MEDIAN

SUITE = """\
name = "small"
title = "Small"
[provenance]
source = "me"
[[group]]
family = "bw_dma_win_sweep_rd_rnd_64"
loop = ["window"]
tests = ["BW_DMA_RD"]
sizes = [64]
windows = ["16K", "16M"]
caches = ["host-warm"]
patterns = ["random"]
transactions = 20000
[[group]]
family = "bw_dma_off_wr"
loop = ["offset"]
tests = ["BW_DMA_WR"]
sizes = [64]
windows = ["8K"]
caches = ["cold"]
patterns = ["sequential"]
host_offsets = [0, 1]
transactions = 20000
[[group]]
family = "lat_dma_details"
loop = ["window"]
tests = ["LAT_DMA_RD"]
sizes = [64]
windows = ["8K", "64M"]
caches = ["cold"]
patterns = ["random"]
details = true
transactions = 5000
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Store]:
    """A machine with remote memory and program, and the same with slower memory."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "small.toml").write_text(SUITE)
    suite = load_suite(str(folder / "small.toml"))
    stores = []
    for name, miss_ns in (("one", 75.0), ("other", 110.0)):
        simulate(resolve("ib-011-nosp", {"host.memory.miss_ns": miss_ns}), suite, folder / f"{name}.db")
        stores.append(open_store(folder / f"{name}.db"))
    return stores[0], stores[1]


@pytest.fixture(scope="module")
def result(runs: tuple[Store, Store]) -> Score:
    return score(*runs)


def errors(result: Score, metric: str) -> pd.DataFrame:
    return result.rows[result.rows["metric"] == metric]


def test_errors_have_sign_and_unit(result: Score) -> None:
    assert len(errors(result, BANDWIDTH)) == 4
    assert errors(result, BANDWIDTH)["error"].max() < 1
    # In the small cold window, lines that earlier writes left on the device's socket still hit.
    for metric, low, high in ((AVERAGE, 33, 37), (MEDIAN, 26, 41), (DISTRIBUTION, 32, 38)):
        small, large = errors(result, metric)["difference"]
        assert small == 0
        assert low < large < high, metric
    assert result.medians_within_a_tick < 1
    assert (result.missing, result.excluded) == (0, 0)


def test_run_has_no_error_against_itself(runs: tuple[Store, Store]) -> None:
    assert score(runs[0], runs[0]).rows["error"].max() == 0


def test_rows_have_their_regimes(result: Score) -> None:
    regimes = {
        (row["name"], row["window_bytes"], row["host_offset_bytes"]): set(row["regimes"])
        for row in result.rows.to_dict("records")
        if row["metric"] in (BANDWIDTH, MEDIAN)
    }
    assert regimes["BW_DMA_RD", 16 << 10, 0] == {"tag-limited", "NUMA"}
    assert regimes["BW_DMA_RD", 16 << 20, 0] == {"tag-limited", "NUMA", "cache edge", "IOMMU beyond the TLB"}
    assert regimes["BW_DMA_WR", 8 << 10, 0] == {"card-limited"}
    assert regimes["BW_DMA_WR", 8 << 10, 1] == {"unaligned"}
    assert regimes["LAT_DMA_RD", 64 << 20, 0] == {"NUMA", "IOMMU beyond the TLB"}


def test_excludes_rows_of_the_calibration(runs: tuple[Store, Store]) -> None:
    pack = {
        ("bw_dma_off_wr", "BW_DMA_WR", "Cold", 8192, 64),
        ("lat_dma_details", "LAT_DMA_RD", "Cold", 8192, 64),
    }
    found = score(*runs, exclude=pack)
    assert found.excluded == 2
    bandwidths = errors(found, BANDWIDTH)
    assert bandwidths["host_offset_bytes"].tolist() == [0, 0, 1]
    assert errors(found, DISTRIBUTION)["window_bytes"].tolist() == [64 << 20]


def test_runs_without_a_common_test_are_refused(runs: tuple[Store, Store], tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(SUITE.replace("sizes = [64]", "sizes = [128]"))
    simulate(resolve("snb"), load_suite(str(tmp_path / "other.toml")), tmp_path / "other.db")
    with pytest.raises(InputError, match="no finished test in common"):
        score(runs[0], open_store(tmp_path / "other.db"))
