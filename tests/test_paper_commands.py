"""`pcielab figure`, `findings` and `paper numbers`: the paper's figures, table of findings, and numbers."""

import csv
import io
import json
from pathlib import Path

import pytest

from pcielab import open_store
from pcielab.devices.running import simulate
from pcielab.library.profiles import resolve
from pcielab.library.suites import load_suite, single_test
from pcielab.paper import FIGURES, MACHINES, numbers
from test_model_command import pcielab

SMALL = """
name = "small"
title = "A few rows of the suite fig8-fig9"

[provenance]
source = "test"

[[group]]
family = "lat_dma_sweep_rd_rnd_64"
loop = ["cache", "window"]
tests = ["LAT_DMA_RD"]
sizes = [64]
windows = ["256K", "64M"]
caches = ["cold", "host-warm"]
patterns = ["random"]

[[group]]
family = "bw_dma_win_sweep_rd_rnd_{size}"
loop = ["size", "cache", "window"]
tests = ["BW_DMA_RD"]
sizes = [64, 512]
windows = ["256K", "64M"]
caches = ["cold", "host-warm"]
patterns = ["random"]
"""


@pytest.mark.parametrize("number", [1, 2, 3])
def test_figures_without_machines_are_made_without_any_run(number: int, tmp_path: Path) -> None:
    path = tmp_path / "figure.svg"
    done = pcielab("figure", str(number), "-o", str(path))
    assert done.exit_code == 0, done.stderr
    assert f"Figure {number}" in path.read_text()


def test_figure_1_counts_as_it_is_told(tmp_path: Path) -> None:
    pictures = []
    for accounting in ("spec", "sigcomm18"):
        path = tmp_path / f"{accounting}.svg"
        assert pcielab("figure", "1", "--accounting", accounting, "-o", str(path)).exit_code == 0
        pictures.append(path.read_text())
    assert pictures[0] != pictures[1]


def test_a_figure_keeps_its_runs_and_uses_those_that_are_there(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for name in ("one.svg", "two.svg"):
        assert pcielab("figure", "6", "--runs", str(runs), "-o", str(tmp_path / name)).exit_code == 0
    assert sorted(path.name for path in runs.glob("*.db")) == ["e3-fig6.db", "hsw2637-fig6.db"]
    assert (tmp_path / "one.svg").read_text() == (tmp_path / "two.svg").read_text()


def test_a_figure_with_parts_has_a_file_for_each(tmp_path: Path) -> None:
    assert pcielab("figure", "7", "-o", str(tmp_path / "seven.svg")).exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sevena.svg", "sevenb.svg"]


def test_the_caution_of_figure_9_is_needed(tmp_path: Path) -> None:
    suite = single_test("bw-wr", size=512, window="8K", cache="host-warm", transactions=1 << 18)
    bandwidths = []
    for system in FIGURES[9].systems:
        simulate(resolve(system), suite, tmp_path / f"{system}.db")
        bandwidths.append(open_store(tmp_path / f"{system}.db").scalars["bandwidth"].item())
    assert "512 B writes" in FIGURES[9].caution
    assert 1.015 < bandwidths[1] / bandwidths[0] < 1.035


def test_what_is_no_figure_is_refused(tmp_path: Path) -> None:
    assert pcielab("figure", "10").exit_code == 2
    there = tmp_path / "there.svg"
    there.write_text("mine")
    done = pcielab("figure", "1", "-o", str(there))
    assert (done.exit_code, there.read_text()) == (2, "mine")


def test_every_figure_names_machines_and_suites_that_there_are() -> None:
    for figure in FIGURES.values():
        for system, suite in figure.runs:
            assert resolve(system).system.name == system
            assert load_suite(suite).name == suite


def test_findings_say_what_numa_and_the_iommu_cost_and_what_to_do(tmp_path: Path) -> None:
    suite = tmp_path / "small.toml"
    suite.write_text(SMALL)
    runs = []
    for system in ("bdw-000", "bdw-011", "bdw-000-nosp"):
        runs.append(str(tmp_path / f"{system}.db"))
        assert pcielab("run", "--profile", system, "--suite", str(suite), "-o", runs[-1]).exit_code == 0
    done = pcielab("findings", *runs, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    said = {(row["area"], row["observation"]): row for row in rows}
    assert {row["area"] for row in rows} == {"IOMMU", "DDIO", "NUMA"}
    assert {row["origin"] for row in rows} == {"simulated"}
    assert ("NUMA", "small reads of remote memory are slower") in said
    assert ("NUMA", "reads of 512 B from remote memory are not slower") in said
    fallen = said["IOMMU", "reads fall off with windows above 256 KiB"]
    assert "super-pages" in fallen["recommendation"]
    assert "64 MiB window" in fallen["numbers"]


def test_runs_that_show_nothing_are_refused_with_what_would(tmp_path: Path) -> None:
    path = tmp_path / "one.db"
    assert pcielab("run", "--test", "bw-wr", "-o", str(path)).exit_code == 0
    done = pcielab("findings", str(path))
    assert (done.exit_code, "fig8-fig9" in done.stderr) == (2, True)


def test_numbers_about_machines_are_taken_of_the_papers_machines() -> None:
    known = {system for systems in MACHINES.values() for system in systems}
    for name, systems in MACHINES.items():
        assert resolve(name).system.name in systems
    for number in numbers():
        assert number.systems <= known, number.says


def test_a_row_about_several_machines_holds_for_each_of_them() -> None:
    rows = [number for number in numbers() if number.ours["measure"] == "smallest_llc_mib"]
    assert rows
    for row in rows:
        sizes = {resolve(name).system.host.llc.llc_bytes >> 20 for name in row.ours["systems"]}
        assert len(sizes) == 1, f"{row.says}: the smallest is that of some of {row.ours['systems']}"


def test_numbers_of_a_section_say_what_they_allow_and_why_they_are_off(tmp_path: Path) -> None:
    runs = str(tmp_path / "runs")
    done = pcielab("paper", "numbers", "--section", "6.1", "--runs", runs, "--format", "json")
    rows = {row["says"]: row for row in json.loads(done.stdout)}
    slower = rows["how far the NFP's DMA is slower than the NetFPGA's at 64 B"]
    assert (slower["published_low"], slower["allowed"]) == (100, 25)
    assert slower["off_by"] == slower["ours"] - 100
    commands = rows["how far its command path is slower than the NetFPGA's DMA at 64 B"]
    assert (commands["published_low"], round(commands["ours"])) == (0, 48)
    assert all(row["why"] for row in rows.values() if row["verdict"] == "explained")
    assert all(abs(row["off_by"]) <= row["allowed"] for row in rows.values() if row["verdict"] == "within")
    assert not [row for row in rows.values() if row["verdict"] == "off"]
    table = pcielab("paper", "numbers", "--section", "6.1", "--runs", runs).stdout
    assert "allowed" in table
    assert "predictions are as close as their rows allow" in table


def test_a_number_that_a_profile_was_given_is_no_prediction() -> None:
    done = pcielab("paper", "numbers", "--section", "2")
    assert "a looped packet of 128 B takes" in done.stdout
    assert "1 numbers are inputs of a profile" in done.stdout
    rows = json.loads(pcielab("paper", "numbers", "--section", "2", "--format", "json").stdout)
    counted = [row for row in rows if row["verdict"] != "input"]
    within = [row for row in counted if row["verdict"] == "within"]
    assert f"{len(within)} of {len(counted)} predictions" in done.stdout


def test_a_section_without_numbers_is_refused_with_those_that_have_some() -> None:
    done = pcielab("paper", "numbers", "--section", "9")
    assert (done.exit_code, "give one of 2, 3" in done.stderr) == (2, True)
