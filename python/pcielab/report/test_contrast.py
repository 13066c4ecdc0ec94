"""Why two runs differ: every difference is named, and its own effect simulated."""

import json
from pathlib import Path

import pytest

from pcielab import open_store
from pcielab.analysis.compare import compare
from pcielab.analysis.explain.contrast import contrast
from pcielab.devices.running import simulate
from pcielab.library import profiles
from pcielab.library.suites import load_suite
from pcielab.report.figures.contrast import draw_both, draw_contrast
from pcielab.store import Store
from shell import pcielab

BUSY_READ_NS = profiles.resolve("hsw2620").system.host.root_complex.busy_read_ns


SUITE = load_suite("quick").only(["bw_dma_sz_sweep", "bw_dma_win_sweep_rd_rnd_64"])
"""Transfers of every size, and small reads in windows of several sizes."""


def simulated(path: Path, *sets: str) -> Store:
    simulate(profiles.resolve("hsw2620", sets), SUITE, path)
    return open_store(path)


def read_of_64_bytes(window_bytes: int, cache: str) -> str:
    """The number of a read of 64 B in `SUITE`, as `--test` takes it."""
    wanted = {"operation": "bw-rd", "size_bytes": 64, "window_bytes": window_bytes, "cache": cache}
    [number] = [number for number, test in enumerate(SUITE.tests) if wanted.items() <= test["parameters"].items()]
    return str(number)


NEAR, FAR = read_of_64_bytes(8192, "host-warm"), read_of_64_bytes(64 << 20, "cold")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Store]:
    folder = tmp_path_factory.mktemp("contrast")
    changed = simulated(folder / "b.db", "iommu=four-kib-pages", "host.root_complex.busy_read_ns=600")
    return simulated(folder / "a.db"), changed


def test_each_change_has_its_effect(runs: tuple[Store, Store]) -> None:
    found = contrast(*runs, tests=[NEAR, FAR])
    [slower, translated] = [change[0] for change in found.changes]
    assert (slower.key, slower.b) == ("host.root_complex.busy_read_ns", 600)
    assert (translated.key, translated.a, translated.b) == ("iommu", "off", "four-kib-pages")
    [near, far] = found.rows
    assert near.effects_percent[0] < -20
    assert abs(near.effects_percent[1]) < 1
    assert far.effects_percent[1] < -50
    # Both together cost less than the sum of each: one hides behind the other.
    assert far.rest_percent > 10
    assert far.change_percent == pytest.approx(sum(far.effects_percent) + far.rest_percent)
    [drawn] = draw_contrast(found, "a", "b").to_dict()["datasets"].values()
    assert {row["change"] for row in drawn} == {
        "all together",
        f"host.root_complex.busy_read_ns {BUSY_READ_NS} -> 600.0",
        "iommu off -> four-kib-pages",
    }


def test_the_same_system_has_no_difference(runs: tuple[Store, Store], tmp_path: Path) -> None:
    again = simulated(tmp_path / "again.db")
    found = contrast(runs[0], again)
    assert (found.changes, found.moved) == ([], [])
    assert found.notes == ["one system, value by value: what differs comes from seed, suite, sampling or version"]
    # Equal systems are distinguished by their files.
    assert [name.rpartition(", ")[2] for name in compare(runs[0], again).names] == ["a.db", "again.db"]


def test_names_of_changed_systems_show_the_changes(runs: tuple[Store, Store]) -> None:
    changed = runs[1]
    changes = "iommu=four-kib-pages, host.root_complex.busy_read_ns=600"
    assert changed.title.startswith(f"Haswell E5-2620v3, no IOMMU, with {changes}")
    names = compare(*runs).names
    assert names[0] != names[1]
    assert [str(one) for one in compare(*runs).system_differences] == [
        f"host.root_complex.busy_read_ns {BUSY_READ_NS} -> 600.0",
        "iommu off -> four-kib-pages",
    ]


def test_changes_dependent_values_together(tmp_path: Path) -> None:
    """A cache with fewer ways than DDIO is invalid: DDIO gets more ways only together with the cache."""
    smaller = simulated(tmp_path / "smaller.db", "host.llc.ways=2", "host.llc.ddio_ways=2", "link.tags=8")
    larger = simulated(tmp_path / "larger.db", "host.llc.ddio_ways=4")
    found = contrast(smaller, larger, tests=[NEAR])
    assert [{one.key for one in change} for change in found.changes] == [
        {"link.tags"},
        {"host.llc.ways", "host.llc.ddio_ways"},
    ]


def test_a_single_change_is_drawn_over_size_with_bounds(tmp_path: Path, runs: tuple[Store, Store]) -> None:
    found = contrast(runs[0], simulated(tmp_path / "tags.db", "link.tags=8"), tests=["BW_DMA_RD"])
    drawn = draw_both(found, "a", "b").to_dict()
    [rows] = drawn["datasets"].values() if "datasets" in drawn else [drawn["data"]["values"]]
    assert {row["panel"] for row in rows} == {"reads (Gb/s)"}
    assert {(row["run"], row["curve"]) for row in rows} == {
        *(("A", "value"), ("A", "bound"), ("B", "value"), ("B", "bound"))
    }
    smallest = min(row["size_bytes"] for row in rows)
    at = {(row["run"], row["curve"]): row["measure"] for row in rows if row["size_bytes"] == smallest}
    assert at["B", "value"] <= 1.01 * at["B", "bound"] < at["A", "bound"]
    assert any("link.tags 32 -> 8: reads" in line for line in drawn["title"]["subtitle"])


def test_json_has_a_row_for_each_test_and_change(tmp_path: Path, runs: tuple[Store, Store]) -> None:
    done = pcielab("explain", *(run.path for run in runs), "--test", NEAR, "--format", "json")
    assert done.exit_code == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["key"] for row in rows] == ["host.root_complex.busy_read_ns", "iommu"]
    assert {row["size_bytes"] for row in rows} == {64}


def test_the_command_prints_both_tables_and_draws(runs: tuple[Store, Store], tmp_path: Path) -> None:
    paths = [run.path for run in runs]
    picture = tmp_path / "why.svg"
    done = pcielab("explain", *paths, "--test", NEAR, "--picture", picture)
    assert done.exit_code == 0, done.stderr
    assert "Values in which the systems differ" in done.stdout
    assert picture.read_text().startswith("<svg")
    assert "busy_read_ns" in picture.read_text()
    refused = pcielab("explain", paths[0], "--picture", picture)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "pass RUN_B" in refused.stderr
