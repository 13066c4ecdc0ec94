"""`pcielab paper`: figures, findings and numbers."""

import csv
import json
import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

from generate.paper_pages import PAGES, pcie_bench_page
from pcielab import model, open_store
from pcielab.devices.running import simulate
from pcielab.kinds.published import PublishedValue, compare, published_values
from pcielab.library.profiles import resolve
from pcielab.library.suites import load_suite, single_test
from pcielab.model.link import Accounting
from pcielab.paper import FIGURES, MACHINES, compare_numbers, numbers, systems
from pcielab.paper.figures import run_of
from pcielab.paper.measures import LINK
from shell import pcielab, refuse, succeed
from suite_texts import suite_text, transfers

_SWEPT = {"windows": ["256K", "64M"], "caches": ["cold", "host-warm"]}
SMALL = suite_text(
    transfers("lat_dma_sweep_rd_rnd_64", "LAT_DMA_RD", 64, **_SWEPT),
    transfers("bw_dma_win_sweep_rd_rnd_{size}", "BW_DMA_RD", 64, 512, **_SWEPT),
)
"""A few rows of the suite fig8-fig9."""


@dataclass(frozen=True)
class Ours:
    """The same number for everything."""

    value: float

    def simulated(self, _one: PublishedValue) -> float:
        return self.value

    def estimated(self, _one: PublishedValue) -> float:
        return self.value


@pytest.mark.parametrize("number", [1, 2, 3])
def test_figures_without_machines_need_no_run(number: int, tmp_path: Path) -> None:
    path = tmp_path / "figure.svg"
    succeed("paper", "figure", str(number), "-o", path)
    assert f"Figure {number}" in path.read_text()


def test_figure_1_depends_on_the_accounting(tmp_path: Path) -> None:
    pictures = []
    for accounting in ("spec", "sigcomm18"):
        path = tmp_path / f"{accounting}.svg"
        succeed("paper", "figure", "1", "--accounting", accounting, "-o", path)
        pictures.append(path.read_text())
    assert pictures[0] != pictures[1]


def test_a_figure_keeps_its_runs_and_uses_existing_ones(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for name in ("one.svg", "two.svg"):
        said = succeed("paper", "figure", "6", "--runs", runs, "-o", tmp_path / name).stderr
        assert re.search(r"simulated on hsw2637, e3 in \d+ s\n", said)
    assert sorted(path.name for path in runs.glob("*.db")) == ["e3-fig6.db", "hsw2637-fig6.db"]
    assert (tmp_path / "one.svg").read_text() == (tmp_path / "two.svg").read_text()


def test_a_figure_with_parts_has_a_file_for_each(tmp_path: Path) -> None:
    succeed("paper", "figure", "7", "-o", tmp_path / "seven.svg")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sevena.svg", "sevenb.svg"]


def test_the_caution_of_figure_9_is_needed(tmp_path: Path) -> None:
    suite = single_test("bw-wr", size=512, window="8K", cache="host-warm", transactions=1 << 18)
    bandwidths = []
    for system in FIGURES[9].systems:
        simulate(resolve(system), suite, tmp_path / f"{system}.db")
        bandwidths.append(open_store(tmp_path / f"{system}.db").scalars["bandwidth"].item())
    assert "512 B writes" in FIGURES[9].caution
    assert 1.015 < bandwidths[1] / bandwidths[0] < 1.035


def test_unknown_figures_and_existing_outputs_are_refused(tmp_path: Path) -> None:
    refuse("paper", "figure", "10")
    existing = tmp_path / "existing.svg"
    existing.write_text("mine")
    refuse("paper", "figure", "1", "-o", existing)
    assert existing.read_text() == "mine"


def test_the_machines_and_suites_of_every_figure_exist() -> None:
    for figure in FIGURES.values():
        for system, suite in figure.runs:
            assert resolve(system).system.name == system
            assert load_suite(suite).name == suite


def test_findings_give_the_cost_of_numa_and_the_iommu_with_a_fix(tmp_path: Path) -> None:
    suite = tmp_path / "small.toml"
    suite.write_text(SMALL)
    runs = []
    for system in ("bdw-000", "bdw-011", "bdw-000-nosp"):
        runs.append(tmp_path / f"{system}.db")
        succeed("run", "--profile", system, "--suite", suite, "-o", runs[-1])
    rows = list(csv.DictReader(succeed("paper", "findings", *runs, "--format", "csv").stdout.splitlines()))
    said = {(row["area"], row["observation"]): row for row in rows}
    assert {row["area"] for row in rows} == {"IOMMU", "DDIO", "NUMA"}
    assert {row["origin"] for row in rows} == {"simulated"}
    assert ("NUMA", "small reads of remote memory are slower") in said
    assert ("NUMA", "reads of 512 B from remote memory are not slower") in said
    fallen = said["IOMMU", "reads fall off with windows above 256 KiB"]
    assert "super-pages" in fallen["recommendation"]
    assert "64 MiB window" in fallen["numbers"]


def test_runs_without_findings_are_refused_with_the_suite_to_run(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    succeed("run", "--test", "bw-wr", "-o", path)
    assert "fig8-fig9" in refuse("paper", "findings", path)


def test_the_page_of_the_paper_is_current() -> None:
    written = (PAGES / "paper.md").read_text(encoding="utf-8")
    assert written == pcie_bench_page(compare_numbers(numbers())), "run make paper-numbers"


def test_a_test_alone_has_the_number_that_it_has_in_a_whole_run(tmp_path: Path) -> None:
    wanted = numbers("6.3")
    alone = compare_numbers(wanted, runs=tmp_path)
    assert len(open_store(tmp_path / "snb-fig7.db").tests) < len(load_suite("fig7").tests)
    run_of("snb", "fig7", tmp_path)
    assert len(open_store(tmp_path / "snb-fig7.db").tests) == len(load_suite("fig7").tests)
    (whole := tmp_path / "whole").mkdir()
    run_of("snb", "fig7", whole)
    again = compare_numbers(wanted, runs=whole)
    pd.testing.assert_frame_equal(alone, again)


def test_the_simple_nic_holds_line_rate_at_512_b_and_misses_it_beyond() -> None:
    """The page's reason says so."""
    nic, accounting = model.load_nic("simple-nic"), Accounting.SIGCOMM18
    held, missed = model.nic(nic, LINK, [512, 576], ethernet=model.Ethernet(), accounting=accounting)
    assert held.bi.gbps >= held.line_gbps
    assert missed.bi.gbps < missed.line_gbps


def test_claims_that_hold_or_not_have_no_allowance() -> None:
    for known in (numbers(), published_values("rpciebench"), published_values("kpio")):
        assert known is not None
        for bound in (one for one in known.value if one.is_bound):
            off = (1 if bound.at_least else -1) * (bound.last_digit + 0.01)
            within, beyond = (
                compare(known.model_copy(update={"value": [bound]}), Ours(ours))["verdict"].item()
                for ours in (bound.published + off, bound.published - off)
            )
            assert within in ("within", "input")
            assert beyond in ("off", "explained"), bound.what


def test_numbers_about_machines_come_from_the_papers_machines() -> None:
    known = {system for profiles in MACHINES.values() for system in profiles}
    for name, profiles in MACHINES.items():
        assert resolve(name).system.name in profiles
    for number in numbers().value:
        assert systems(number) <= known, number.what


def test_a_row_about_several_machines_holds_for_each_of_them() -> None:
    rows = [(number, number.ours or {}) for number in numbers().value]
    rows = [(number, ours) for number, ours in rows if ours["measure"] == "smallest_llc_mib"]
    assert rows
    for row, ours in rows:
        sizes = {resolve(name).system.host.llc.llc_bytes >> 20 for name in ours["systems"]}
        assert len(sizes) == 1, f"{row.what}: the smallest is that of some of {ours['systems']}"


def test_numbers_of_a_section_have_a_tolerance_and_a_reason_if_off(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    done = pcielab("paper", "numbers", "--section", "6.1", "--runs", runs, "--format", "json")
    rows = {row["what"]: row for row in json.loads(done.stdout)}
    slower = rows["latency of the NFP's 64 B DMA reads above the NetFPGA's"]
    assert (slower["published"], slower["allowed"]) == (100, 25)
    assert slower["error"] == slower["simulated"] - 100
    commands = rows["latency of the NFP's 64 B command reads above the NetFPGA's DMA"]
    assert (commands["published"], round(commands["simulated"])) == (0, 48)
    assert all(row["reason"] for row in rows.values() if row["verdict"] == "explained")
    assert all(abs(row["error"]) <= row["allowed"] for row in rows.values() if row["verdict"] == "within")
    assert not [row for row in rows.values() if row["verdict"] == "off"]
    table = pcielab("paper", "numbers", "--section", "6.1", "--runs", runs).stdout
    assert "allowed" in table
    assert "1 of 5 predictions are met" in table


def test_inputs_of_a_profile_do_not_count_as_predictions() -> None:
    done = pcielab("paper", "numbers", "--section", "2")
    assert "1 are inputs of the profile or the suite" in done.stdout
    rows = json.loads(pcielab("paper", "numbers", "--section", "2", "--format", "json").stdout)
    [given] = [row["what"] for row in rows if row["verdict"] == "input"]
    assert given == "latency of a looped 128 B packet"
    counted = [row for row in rows if row["verdict"] != "input"]
    within = [row for row in counted if row["verdict"] == "within"]
    assert f"{len(within)} of {len(counted)} predictions" in done.stdout


def test_a_section_without_numbers_is_refused() -> None:
    assert "give one of 2, 3" in refuse("paper", "numbers", "--section", "9")


def test_former_names_work_and_are_hidden(tmp_path: Path) -> None:
    assert "wrote" in succeed("figure", "1", "-o", tmp_path / "one.svg").stderr
    path = tmp_path / "one.db"
    succeed("run", "--test", "bw-wr", "-o", path)
    assert "fig8-fig9" in refuse("findings", path)
    for group in ("suites", "fabric"):
        assert "pcielab run --suite kpio" in refuse(group, "validate", path)
        assert "validate" not in succeed(group, "-h").stdout
    listed = succeed("-h").stdout
    assert "paper" in listed
    assert not re.search(r"│ (figure|findings) ", listed)
