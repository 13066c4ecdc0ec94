"""The paper's second device: what its figures 4 and 5 show of it, and what its design can and cannot do."""

from pathlib import Path

import pandas as pd
import pytest

from pcielab import model, open_store, profiles, simulate
from pcielab.calibrate import read_measured
from pcielab.errors import InputError
from pcielab.suites import load_suite

SIZES = [64, 128, 256, 512, 1024, 2048]
SUITE = """\
name = "figures-4-and-5"
title = "Reads of both cards"
[provenance]
source = "test"
[[group]]
family = "reads"
loop = ["test", "size"]
tests = ["BW_DMA_RD", "LAT_DMA_RD"]
sizes = [63, 64, 128, 256, 512, 1024, 2048]
windows = ["8K"]
caches = ["host-warm"]
patterns = ["random"]
"""


@pytest.fixture(scope="module")
def reads(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    folder: Path = tmp_path_factory.mktemp("netfpga")
    (folder / "suite.toml").write_text(SUITE)
    stores = {}
    for name in ("netfpga-hsw", "hsw2620"):
        simulate(profiles.resolve(name), load_suite(str(folder / "suite.toml")), folder / f"{name}.db")
        store = open_store(folder / f"{name}.db")
        stores[name] = store.tests.set_index(["name", "size_bytes"]).join(
            store.scalars.set_index(["name", "size_bytes"])[["bandwidth", "average"]]
        )
    return stores


def test_reads_of_128_bytes_and_more_follow_the_papers_model(reads: dict[str, pd.DataFrame]) -> None:
    link = model.Link(generation=3, lanes=8, mps_bytes=256, mrrs_bytes=512)
    bounds = model.bandwidth(link, SIZES, accounting=model.Accounting.SIGCOMM18)
    found = reads["netfpga-hsw"].loc["BW_DMA_RD", "bandwidth"]
    for bound in bounds:
        share = found[bound.size_bytes] / bound.read.gbps
        if bound.size_bytes >= 128:
            assert 0.95 <= share <= 1.05, bound.size_bytes
        else:
            assert found[bound.size_bytes] < 40, "neither implementation sustains 40 Gb/s with small reads"


def test_the_gap_to_the_card_that_stores_and_forwards_grows_with_size(reads: dict[str, pd.DataFrame]) -> None:
    nfp, netfpga = (reads[name].loc["LAT_DMA_RD", "average"] for name in ("hsw2620", "netfpga-hsw"))
    gaps = [nfp[size] - netfpga[size] for size in SIZES]
    assert gaps == sorted(gaps)
    assert gaps[-1] - gaps[0] > 150


def test_sizes_that_are_no_double_words_are_not_supported(reads: dict[str, pd.DataFrame]) -> None:
    odd = reads["netfpga-hsw"].xs(63, level="size_bytes")
    assert set(odd["status"]) == {"not-supported"}
    assert odd["message"].str.contains("multiples of 4 bytes").all()


def test_a_thousand_latencies_are_all_that_the_card_has_and_nothing_is_unsettled(
    reads: dict[str, pd.DataFrame],
) -> None:
    latencies = reads["netfpga-hsw"].loc["LAT_DMA_RD"].drop(63)
    assert set(latencies["status"]) == {"ok"}
    assert latencies["message"].isna().all()


def test_its_runs_are_not_calibrated_from_as_if_they_were_of_the_nfp(tmp_path: Path) -> None:
    run = tmp_path / "netfpga.db"
    simulate(profiles.resolve("netfpga-hsw"), load_suite("netfpga"), run)
    with pytest.raises(InputError, match=r"netfpga-sume.*NFP-6000"):
        read_measured(run)


def test_its_suite_asks_for_what_it_can_do_and_keeps_to_its_journal(tmp_path: Path) -> None:
    run = tmp_path / "netfpga.db"
    simulate(profiles.resolve("netfpga-hsw"), load_suite("netfpga"), run)
    rows = open_store(run).scalars
    assert set(rows["status"]) == {"ok"}
    assert rows["message"].isna().all(), "a journal that is full is no average that has not settled"
    assert rows["samples"].max() == 1000
