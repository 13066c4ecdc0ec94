"""Calibration from a folder recovers the values behind the rows, and names rows that are wrong."""

import csv
import re
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from pcielab import open_store, resolve
from pcielab.analysis.calibrate import calibrate, read_measured
from pcielab.library.profiles import load_host
from shell import refuse, succeed
from suite_texts import LSPCI

TRUE_VALUES = {
    "host.root_complex.read_ns": 340.0,
    "host.memory.miss_ns": 92.0,
    "host.root_complex.busy_read_ns": 480.0,
    "host.root_complex.uplink_stretch": 1.09,
}
WITH_ECRC = LSPCI + "\t\tAERCap:\tFirst Error Pointer: 00, GenCap+ CGenEn+ ChkCap+ ChkEn+\n"


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the 81 rows of a pack from a simulated machine, and the facts of that machine."""
    folder = tmp_path_factory.mktemp("rows")
    changes = [word for key, value in TRUE_VALUES.items() for word in ("--set", f"{key}={value}")]
    succeed("run", "--profile", "hsw2620", *changes, "--suite", "quick", "-o", folder / "run.db")
    succeed("export", "pcie-bench", folder / "run.db", "-o", folder / "machine")
    machine = folder / "machine"
    addresses = resolve("hsw2620").system.chunk_addresses
    for name, text in {
        "sys-lspci.txt": WITH_ECRC,
        "sys-nfp-hwinfo.txt": "assembly.partno=AMDA0058-0002\n",
        "sys-cpuinfo.txt": "model name\t: Made Up v3\nphysical id\t: 0\ncache size\t: 15360 KB\n",
        "sys-kernel-cmdline.txt": "ro single\n",
        "sys-buf-sz.txt": "67108864\n",
        "sys-dma-addrs.txt": "".join(f"{address:#x}\n" for address in addresses),
    }.items():
        (machine / name).write_text(text)
    return machine


@pytest.fixture(scope="module")
def whole_profile(rows: Path) -> Path:
    """The profile that is calibrated from all rows."""
    succeed("calibrate", rows, "-o", rows.parent / "whole.toml")
    return rows.parent / "whole.toml"


@pytest.fixture(scope="module")
def profile(rows: Path) -> Path:
    """The profile that is calibrated from the latencies of reads alone."""
    folder = with_rows(rows, rows.parent / "latencies/machine", lambda row: row["Test"] == "LAT_CMD_RD")
    output = rows.parent / "twin.toml"
    done = succeed("calibrate", folder, "-o", output, "--format", "csv")
    table = {line["parameter"]: line for line in csv.DictReader(done.stdout.splitlines())}
    assert table["host.memory.miss_ns"]["identified"] == "True"
    return output


def test_calibration_recovers_the_values_behind_the_rows(whole_profile: Path) -> None:
    twin = tomllib.loads(whole_profile.read_text())
    assert "81 simulated rows" in twin["provenance"]["source"]
    host = twin["host"]
    for key, true in TRUE_VALUES.items():
        table = twin
        *parents, last = key.split(".")
        for step in parents:
            table = table[step]
        assert table[last] == pytest.approx(true, rel=0.02), key
    assert host["name"] == "Made Up v3"
    assert host["llc"]["ddio_ways"] == 2


def test_each_value_has_an_interval_and_rows_or_a_flag(profile: Path) -> None:
    provenance = tomllib.loads(profile.read_text())["provenance"]
    assert "14 simulated rows" in provenance["source"]
    note = provenance["keys"]["host.memory.miss_ns"]
    assert re.search(r"\+-\d.* \(95 %\), mostly from .*LAT_", note), note
    assert provenance["keys"]["host.memory.refresh"].startswith("NOT IDENTIFIED")


def test_a_fit_to_simulated_rows_says_so_wherever_it_is_used(rows: Path, profile: Path, tmp_path: Path) -> None:
    """An export's `ORIGIN.txt` says that the rows are simulated: profile, runs and reports repeat it."""
    system = tomllib.loads(profile.read_text())
    assert system["calibrated"] is False
    assert system["title"] == "UNCALIBRATED: machine, fitted to 14 simulated rows"
    provenance = system["provenance"]
    assert provenance["origin"] == "simulated"
    assert "14 simulated rows" in provenance["source"]
    assert "not measured" in provenance["notes"]
    assert "mostly from simulated LAT_" in provenance["keys"]["host.memory.miss_ns"]
    derived = tmp_path / "derived.toml"
    derived.write_text(f'name = "derived"\ntitle = "Mine"\nbase = "{profile}"\n[provenance]\nsource = "me"\n')
    for name, file in (("run", profile), ("derived", derived)):
        succeed("run", "--profile", file, "--test", "lat-rd", "--size", "64", "-o", tmp_path / f"{name}.db")
        manifest = open_store(tmp_path / f"{name}.db").manifest
        assert (manifest["fitted_to"], manifest["system"]["calibrated"]) == ("simulated rows", False)
    assert "fitted to 14 simulated rows" in open_store(tmp_path / "run.db").title
    nic = ("--nic", "simple-nic", "--frames", "1500", "-o", tmp_path / "nic.db")
    succeed("run", "--profile", profile, *nic)
    assert "(fitted to simulated rows)" in open_store(tmp_path / "nic.db").title
    succeed("report", tmp_path / "run.db", "-o", tmp_path / "report.html")
    assert "simulated rows" in (tmp_path / "report.html").read_text()


def test_rows_without_a_recorded_origin_are_measured(rows: Path, tmp_path: Path) -> None:
    few = with_rows(rows, tmp_path / "few", lambda row: row["Test"] == "LAT_CMD_RD")
    (few / "ORIGIN.txt").unlink()
    done = succeed("calibrate", few, "-o", tmp_path / "twin.toml")
    system = tomllib.loads((tmp_path / "twin.toml").read_text())
    assert system["calibrated"] is True
    assert "origin" not in system["provenance"]
    assert "not measured" not in done.stderr


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("origin", "emulated", "origin 'emulated': calibration needs rows that are measured"),
        ("tick_ns", "4", "device 'nfp6000' is no NFP-6000"),
    ],
)
def test_a_folder_of_unusable_origin_is_refused(
    rows: Path, tmp_path: Path, key: str, value: str, words: str
) -> None:
    few = with_rows(rows, tmp_path / "few", lambda row: row["Test"] == "LAT_CMD_RD")
    origin = few / "ORIGIN.txt"
    changed, count = re.subn(rf"^{key}: .*$", f"{key}: {value}", origin.read_text(), flags=re.MULTILINE)
    assert count == 1
    origin.write_text(changed)
    assert words in refuse("calibrate", few, "-o", tmp_path / "twin.toml").replace("\n", " ")


def test_the_profile_runs_unchanged(profile: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone.toml"
    alone.write_bytes(profile.read_bytes())
    succeed("run", "--profile", alone, "--test", "lat-rd", "--size", "64", "-o", tmp_path / "run.db")


def test_the_same_rows_give_the_same_bytes(rows: Path, tmp_path: Path) -> None:
    few = with_rows(rows, tmp_path / "few", lambda row: row["Test"] == "LAT_CMD_RD")
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        succeed("calibrate", few, "-o", tmp_path / name / "twin.toml")
    assert (tmp_path / "one/twin.toml").read_bytes() == (tmp_path / "two/twin.toml").read_bytes()


def change_rows(path: Path, change: Callable[[dict[str, str]], dict[str, str] | None]) -> None:
    """Change the rows of a CSV file; a row for which `change` returns None is dropped."""
    with path.open(newline="") as file:
        table = csv.DictReader(file)
        changed = [new for row in table if (new := change(row)) is not None]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, table.fieldnames or [])
        writer.writeheader()
        writer.writerows(changed)


def with_rows(rows: Path, folder: Path, keep: Callable[[dict[str, str]], bool]) -> Path:
    """A copy with some of the rows."""
    shutil.copytree(rows, folder)
    for path in folder.glob("*.csv"):
        if not path.stem.endswith("_cdf"):
            change_rows(path, lambda row: row if keep(row) else None)
    return folder


def test_values_that_no_row_determines_are_marked(rows: Path, tmp_path: Path) -> None:
    few = with_rows(rows, tmp_path / "few", lambda row: row["Test"] == "LAT_CMD_RD" and row["Cache"] != "Cold")
    done = succeed("calibrate", few, "-o", tmp_path / "twin.toml")
    assert "not identified" in done.stderr
    twin = tomllib.loads((tmp_path / "twin.toml").read_text())
    keys = twin["provenance"]["keys"]
    assert keys["host.root_complex.read_ns"].startswith("+-")
    for key in ("host.root_complex.busy_read_ns", "host.root_complex.uplink_stretch"):
        assert keys[key].startswith("NOT IDENTIFIED"), key
    base = load_host("generic-e5").root_complex
    assert twin["host"]["root_complex"]["busy_read_ns"] == base.busy_read_ns


def test_contradictory_rows_are_named(rows: Path, tmp_path: Path) -> None:
    folder = with_rows(rows, tmp_path / "odd", lambda row: row["Test"].startswith("LAT_"))

    def faster(row: dict[str, str]) -> dict[str, str]:
        if row["Cache"] != "Cold":
            return row
        return row | {column: str(float(row[column]) * 0.7) for column in ("Avg", "Avg(ns)", "Med", "Med(ns)")}

    change_rows(folder / "lat_cmd_sweep_rd_rnd_08.csv", faster)
    done = succeed("calibrate", folder, "-o", tmp_path / "twin.toml")
    assert "contradictory: LAT_CMD_RD 8 B Cold 256 KiB is" in done.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("sys-lspci.txt", WITH_ECRC.replace("Device 6000", "Device 4000"), "19ee:6000"),
        ("sys-nfp-hwinfo.txt", "assembly.partno=AMDA0081-0001\n", "assembly.partno=AMDA0081-0001"),
    ],
)
def test_rows_of_another_card_are_refused(rows: Path, tmp_path: Path, name: str, text: str, expected: str) -> None:
    folder = shutil.copytree(rows, tmp_path / "other")
    (folder / name).write_text(text)
    assert expected in refuse("calibrate", folder, "-o", tmp_path / "twin.toml")
    assert not (tmp_path / "twin.toml").exists()


def test_an_input_without_usable_rows_is_refused(rows: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    none = with_rows(rows, tmp_path / "none", lambda _row: False)
    foreign = tmp_path / "foreign.csv"
    foreign.write_text("size,window\n64,8192\n")
    output = tmp_path / "twin.toml"
    for arguments, expected in (
        ((tmp_path / "empty",), "has no row"),
        ((none,), "has no row"),
        ((tmp_path / "absent",), "no such file"),
        ((rows, "--pack", foreign), "a pack has 'family,test,cache,window_bytes,size_bytes'"),
    ):
        assert expected in refuse("calibrate", *arguments, "-o", output).replace("\n", " ")
    assert not output.exists()


def test_an_interruption_reaches_the_simulation(rows: Path) -> None:
    calls = 0

    def interrupted(_done: int, _total: int, _what: str) -> None:
        nonlocal calls
        calls += 1
        if calls == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        calibrate(read_measured(rows), "twin", progress=interrupted)
    assert calls == 10


def test_the_twin_runs_as_the_machine_did(rows: Path, whole_profile: Path, tmp_path: Path) -> None:
    succeed("run", "--profile", whole_profile, "--suite", "quick", "-o", tmp_path / "twin.db")
    compared = succeed("compare", rows.parent / "run.db", tmp_path / "twin.db", "--summary", "--format", "csv")
    lines = csv.DictReader(compared.stdout.splitlines())
    means = {(line["name"], line["metric"]): float(line["mean"]) for line in lines}
    assert means["all", "bandwidth"] < 1.0
    assert means["all", "average"] < 2.0
