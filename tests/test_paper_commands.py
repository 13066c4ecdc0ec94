"""`pcielab figure` and `pcielab findings`: the paper's figures and its table of findings, for any runs."""

import csv
import io
from pathlib import Path

import pytest

from pcielab.library.profiles import resolve
from pcielab.library.suites import load_suite
from pcielab.paper import FIGURES
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
