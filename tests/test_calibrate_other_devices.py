"""A host is calibrated from rows of any device whose profile is given, here the FPGA core."""

import json
import re
import tomllib
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

import pcielab
from pcielab import open_store, resolve
from pcielab.analysis.calibrate import read_measured
from pcielab.devices import rtl
from pcielab.library import shipped
from pcielab.library.suites import load_suite
from pcielab.store import Store
from shell import refuse, succeed

BUILT = pytest.mark.skipif(rtl.missing() != "", reason=rtl.missing())
PACK = """family,test,cache,window_bytes,size_bytes
lat_dma_sizes,LAT_DMA_RD,HWarm,8192,64
lat_dma_sizes,LAT_DMA_RD,HWarm,8192,256
lat_dma_sizes,LAT_DMA_WRRD,HWarm,8192,64
lat_dma_win_rd,LAT_DMA_RD,Cold,8192,64
lat_dma_win_rd,LAT_DMA_RD,DWarm,8192,64
bw_dma_sizes,BW_DMA_RD,HWarm,8192,64
bw_dma_sizes,BW_DMA_RD,HWarm,8192,300
bw_dma_sizes,BW_DMA_RD,HWarm,8192,2048
bw_dma_sizes,BW_DMA_WR,HWarm,8192,256
bw_dma_win_rd,BW_DMA_RD,Cold,16777216,64
"""
"""Ten of the 34 rows of the suite `rtl-smoke`."""
WITHIN = 0.02
SHOWN = (
    "host.root_complex.read_ns",
    "host.memory.miss_ns",
    "host.memory.host_line_ns",
    "host.root_complex.write_ns",
    "host.root_complex.busy_read_ns",
    "host.memory.busy_miss_ns",
    "host.root_complex.uplink_stretch",
)
"""Keys that the rows of `PACK` determine."""


def value_of(table: dict[str, Any], key: str) -> Any:
    return reduce(lambda part, step: part[step], key.split("."), table)


def assert_inside(profile: Path, system: str) -> dict[str, str]:
    """Each identified key is within its interval of the system's value; returns the notes on all keys."""
    twin, true = tomllib.loads(profile.read_text()), json.loads(resolve(system).to_json())
    notes: dict[str, str] = twin["provenance"]["keys"]
    for key, note in notes.items():
        if interval := re.match(r"\+-([\d.e+-]+) ", note):
            assert value_of(twin, key) == pytest.approx(value_of(true, key), abs=float(interval[1])), key
        elif note.startswith("chosen by trying"):
            assert value_of(twin, key) == value_of(true, key), key
    return notes


def numbers(store: Store) -> dict[tuple[object, ...], float]:
    """The mean latency or the bandwidth of each test."""
    found = {}
    for record in store.records():
        values = {one["metric"]: float(one["value"]) for one in record["scalars"]}
        asked = record["parameters"]
        setting = (asked[word] for word in ("size_bytes", "window_bytes", "cache", "host_offset_bytes"))
        found[record["family"], record["name"], *setting] = values.get("bandwidth", values.get("average", 0.0))
    return found


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of the simulated core on `snb`."""
    run = tmp_path_factory.mktemp("simulated") / "run.db"
    succeed("run", "--profile", "snb", "--set", "device=pcielab-fpga", "--suite", "rtl-smoke", "-o", run)
    return run


def test_all_rows_give_back_the_host(simulated: Path, tmp_path: Path) -> None:
    succeed("calibrate", simulated, "-o", tmp_path / "twin.toml")
    notes = assert_inside(tmp_path / "twin.toml", "snb")
    assert all(notes[key].startswith("+-") for key in SHOWN)
    twin = tomllib.loads((tmp_path / "twin.toml").read_text())
    assert twin["device"] == "pcielab-fpga"
    # A store of a simulated run says so, too.
    assert (twin["calibrated"], twin["provenance"]["origin"]) == (False, "simulated")


def test_keys_that_the_rows_do_not_show_are_not_identified(simulated: Path, tmp_path: Path) -> None:
    (tmp_path / "pack.csv").write_text("\n".join(PACK.splitlines()[:2]))
    done = succeed("calibrate", simulated, "--pack", tmp_path / "pack.csv", "-o", tmp_path / "twin.toml")
    notes = tomllib.loads((tmp_path / "twin.toml").read_text())["provenance"]["keys"]
    assert notes["host.root_complex.read_ns"].startswith("+-")
    for key in ("host.memory.busy_miss_ns", "host.llc.ddio_ways", "host.root_complex.merge_partial_lines"):
        assert notes[key].startswith("NOT IDENTIFIED"), key
        assert key in done.stderr


def test_no_value_of_the_host_in_the_store_is_read(simulated: Path) -> None:
    recorded = read_measured(simulated).recorded
    assert recorded is not None
    true, generic = resolve("snb").host.dump(), pcielab.load_host("generic-e5")
    for part, values in generic.dump().items():
        if part in ("root_complex", "memory", "iommu"):
            assert recorded.system["host"][part] == values != true[part]


def test_constants_of_a_file_stay_in_the_twin(simulated: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'name = "mine"\ntitle = "My core"\nbase = "pcielab-fpga"\n[dma]\nread_overhead_ns = 30.0\n'
        '[provenance]\nsource = "made up"\n'
    )
    succeed("calibrate", simulated, "--device", file, "-o", tmp_path / "twin.toml")
    twin = resolve(str(tmp_path / "twin.toml")).system
    assert (twin.device.name, twin.device.dma.read_overhead_ns) == ("mine", 30.0)
    # What the device takes longer, the host is quicker.
    assert twin.host.root_complex.read_ns == pytest.approx(317 - 20, abs=5)


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ("nfp6000", ("--device nfp6000", "ticks every 13.3333 ns", "every 4 ns", "give the profile")),
        ("pcielab-fgpa", ("'pcielab-fgpa'", "did you mean pcielab-fpga")),
    ],
)
def test_another_device_than_that_of_the_store_is_refused(
    simulated: Path, tmp_path: Path, device: str, words: tuple[str, ...]
) -> None:
    said = refuse("calibrate", simulated, "--device", device, "-o", tmp_path / "twin.toml")
    assert [word for word in words if word not in " ".join(said.split())] == []


def test_a_measured_store_needs_a_profile(tmp_path: Path) -> None:
    asked = ["--test", "lat-chase", "--path", "command", "--window", "64K", "--transactions", "1000"]
    succeed("run", "--device", "cpu", *asked, "-o", tmp_path / "cpu.db")
    said = refuse("calibrate", tmp_path / "cpu.db", "-o", tmp_path / "twin.toml")
    assert "no profile of its device" in " ".join(said.split())
    assert "--device" in said


@BUILT
def test_ten_rows_of_the_core_in_rtl_give_a_twin_that_predicts_the_rest(tmp_path: Path) -> None:
    pack, few, run, profile = (tmp_path / name for name in ("pack.csv", "few.toml", "run.db", "twin.toml"))
    pack.write_text(PACK)
    # An eighth of the transactions: the core's RTL is slow.
    text = shipped.suite_files("transfers")["rtl-smoke"].read_text(encoding="utf-8")
    few.write_text(re.sub(r"transactions = (\d+)000", lambda found: f"transactions = {int(found[1]) * 125}", text))
    succeed("run", "--device", "rtl", "--profile", "snb", "--suite", few, "-o", run)
    succeed("calibrate", run, "--pack", pack, "-o", profile)
    notes = assert_inside(profile, "snb")
    assert all(notes[key].startswith("+-") for key in SHOWN)
    pcielab.simulate(resolve(str(profile)), load_suite(str(few)), tmp_path / "twin.db")
    measured, predicted = numbers(open_store(run)), numbers(open_store(tmp_path / "twin.db"))
    assert measured.keys() == predicted.keys()
    assert len(measured) == 34
    apart = {key: abs(predicted[key] / value - 1) for key, value in measured.items()}
    assert max(apart.values()) <= WITHIN, max(apart, key=lambda key: apart[key])
