"""The shipped profiles and suites equal the records of the measured systems and of their runs."""

import csv
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from measured_data import DATA, PACK, needs_measurements
from pcielab.doctor import Tree, read_lspci
from pcielab.doctor.devices import find, link_of, root_port
from pcielab.doctor.skeleton import skeleton
from pcielab.library.profiles import resolve
from pcielab.library.suites import load_suite

pytestmark = needs_measurements

FOLDERS = {
    "snb": "snb-Xeon-E5-2630_dell-t620",
    "snb-iommu": "snb-Xeon-E5-2630_dell-t620-iommu",
    "ib-000": "ib-Xeon-E5-2620v2_dell-t620-s0-s0-s0",
    "ib-000-iommu": "ib-Xeon-E5-2620v2_dell-t620-s0-s0-s0-iommu",
    "ib-000-nosp": "ib-Xeon-E5-2620v2_dell-t620-s0-s0-s0-iommu-nosp",
    "ib-011": "ib-Xeon-E5-2620v2_dell-t620-s0-s1-s1",
    "ib-011-iommu": "ib-Xeon-E5-2620v2_dell-t620-s0-s1-s1-iommu",
    "ib-011-nosp": "ib-Xeon-E5-2620v2_dell-t620-s0-s1-s1-iommu-nosp",
    "hsw2620": "hsw-Xeon-E5-2620v3_dell-t630",
    "hsw2620-iommu": "hsw-Xeon-E5-2620v3_dell-t630-iommu",
    "hsw2620-nosp": "hsw-Xeon-E5-2620v3_dell-t630-iommu-nosp",
    "e3": "hsw-Xeon-E3-1226v3_fujitsu-tx1310",
}
COMPLETE = ("snb", "snb-iommu", "hsw2620", "e3")
PATTERNS = {"Seq": "sequential", "Rand": "random"}
CACHES = {"Cold": "cold", "DThrash": "device-thrash", "DWarm": "device-warm", "HWarm": "host-warm"}


def folder(name: str) -> Path:
    return DATA / f"nfp6000-1.2GHz_{FOLDERS[name]}"


def recorded(name: str, fact: str) -> str:
    return (folder(name) / f"sys-{fact}.txt").read_text(encoding="utf-8", errors="replace")


def measured_rows(name: str) -> dict[str, list[tuple[Any, ...]]]:
    """The parameters of each row of each family, in file order."""
    families = {}
    for path in folder(name).glob("*.csv"):
        if path.stem.endswith("_cdf"):
            continue
        with path.open(newline="", encoding="utf-8") as file:
            families[path.stem] = [_asked(row) for row in csv.DictReader(file)]
    return families


def _asked(row: dict[str, str]) -> tuple[Any, ...]:
    one_direction = 2 if row["Test"] == "BW_DMA_RW" else 1
    count = int(row.get("Trans") or row["#samples"]) * one_direction
    offsets = (int(row["HO"]), int(row["DO"]))
    window = int(float(row["WinSZ"]))
    return (row["Test"], PATTERNS[row["PAT"]], CACHES[row["Cache"]], *offsets, window, int(row["SZ"]), count)


def suite_rows(name: str) -> dict[str, list[tuple[Any, ...]]]:
    families: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for test in load_suite(name).entries:
        p = test.parameters
        offsets = (p.host_offset_bytes, p.device_offset_bytes)
        row = (test.name, p.pattern, p.cache, *offsets, p.window_bytes, p.size_bytes, p.transactions)
        families[test.family].append(row)
    return dict(families)


@pytest.mark.parametrize("name", COMPLETE)
def test_paper_is_the_suite_of_the_complete_systems(name: str) -> None:
    measured = measured_rows(name)
    assert sum(len(rows) for rows in measured.values()) == 2472
    assert suite_rows("paper") == measured


@pytest.mark.parametrize("name", sorted(set(FOLDERS) - set(COMPLETE)))
def test_paper_without_cold_offsets_is_the_suite_of_the_other_systems(name: str) -> None:
    paper = {family: rows for family, rows in suite_rows("paper").items() if not family.endswith("_cold")}
    assert paper == measured_rows(name)


def test_quick_is_the_calibration_pack() -> None:
    if not PACK.exists():
        pytest.skip(f"needs {PACK}")
    with PACK.open(newline="", encoding="utf-8") as file:
        wanted = [
            (row["family"], row["test"], CACHES[row["cache"]], int(row["window_bytes"]), int(row["size_bytes"]))
            for row in csv.DictReader(file)
        ]
    quick = [
        (test.family, test.name, test.parameters.cache, test.parameters.window_bytes, test.parameters.size_bytes)
        for test in load_suite("quick").entries
    ]
    assert sorted(quick) == sorted(wanted)


def machine(name: str) -> Tree:
    """The machine of a published folder."""
    return read_lspci(recorded(name, "lspci"), name)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_system_has_the_recorded_link(name: str) -> None:
    tree = machine(name)
    card = find(tree, "19ee:6000")
    assert resolve(name).system.link == link_of(card, root_port(tree, card))


@pytest.mark.parametrize("name", FOLDERS)
def test_a_system_has_the_recorded_chunks(name: str) -> None:
    system = resolve(name).system
    assert system.chunk_addresses == [int(text, 16) for text in recorded(name, "dma-addrs").split()]
    assert system.chunk_bytes * len(system.chunk_addresses) == int(recorded(name, "buf-sz"))


@pytest.mark.parametrize("name", FOLDERS)
def test_a_system_has_the_recorded_cache_board_and_iommu(name: str) -> None:
    system = resolve(name).system
    kib = next(line for line in recorded(name, "cpuinfo").splitlines() if line.startswith("cache size"))
    assert system.host.llc.llc_bytes == int(kib.split(":")[1].split()[0]) << 10
    command = system.device.command
    assert command is not None
    assert (command.bar_window is not None) == ("AMDA0058-0001" in recorded(name, "nfp-hwinfo"))
    assert (system.iommu != "off") == ("intel_iommu=on" in recorded(name, "kernel-cmdline"))


@pytest.mark.parametrize("name", FOLDERS)
def test_lspci_gives_a_skeleton_that_resolves(name: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(skeleton(machine(name), "mine", "19ee:6000").text, encoding="utf-8")
    resolved = resolve(str(path)).system
    assert resolved.link == resolve(name).system.link
    assert resolved.device.name == "nfp6000"
