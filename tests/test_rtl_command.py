"""`pcielab run --device rtl`: the FPGA core on a simulated host, as users run it."""

import json
import os
import signal
from pathlib import Path

import pytest

import pcielab as pcielab_api
from moments import wait_for_work, wait_until
from pcielab.devices import rtl
from pcielab.devices.running import open_work
from shell import ended, pcielab, started, stop_after, stored
from suite_texts import suite_text, transfers

BUILT = pytest.mark.skipif(rtl.missing() != "", reason=rtl.missing())


def suite(directory: Path, transactions: int = 500) -> Path:
    path, tests = directory / "few.toml", "BW_DMA_RD BW_DMA_WR LAT_DMA_RD LAT_DMA_WRRD"
    path.write_text(
        suite_text(transfers("few_{direction}", tests, 64, 300, windows=["64K"], transactions=transactions))
    )
    return path


@BUILT
def test_a_run_has_origin_rtl_and_does_not_depend_on_jobs(tmp_path: Path) -> None:
    exports = []
    for jobs in ("1", "2"):
        store, export = tmp_path / f"{jobs}.db", tmp_path / f"{jobs}.json"
        done = pcielab("run", "--device", "rtl", "--suite", suite(tmp_path), "--jobs", jobs, "-o", store)
        assert done.exit_code == 0, done.stderr
        assert "8 tests rtl on the FPGA core on hsw2620" in done.stderr
        assert pcielab("export", "json", store, "-o", export).exit_code == 0
        exports.append(export.read_bytes())
    assert exports[0] == exports[1]
    manifest = json.loads(exports[0])["manifest"]
    assert manifest["origin"] == "rtl"
    assert manifest["device"]["name"] == "pcielab core, 256 bit, 32 tags"


@BUILT
def test_a_killed_run_can_be_resumed(tmp_path: Path) -> None:
    tests = suite(tmp_path, transactions=1_000)
    arguments = ["run", "--device", "rtl", "--suite", str(tests), "--samples", "full", "--jobs", "1", "-o"]
    killed, whole = tmp_path / "killed.db", tmp_path / "whole.db"
    assert stop_after(2, signal.SIGKILL, *arguments, killed).exit_code == -signal.SIGKILL
    assert stored(killed) >= 2
    done = pcielab(*arguments, killed, "--resume")
    assert done.exit_code == 0, done.stderr
    assert pcielab(*arguments, whole).exit_code == 0
    for store in (killed, whole):
        assert pcielab("export", "json", store, "-o", store.with_suffix(".json")).exit_code == 0
    assert killed.with_suffix(".json").read_bytes() == whole.with_suffix(".json").read_bytes()


@BUILT
def test_a_killed_core_ends_the_run_as_lost(tmp_path: Path) -> None:
    pid, program = tmp_path / "pid", tmp_path / "pcielab-rtl"
    program.write_text(f"#!/bin/sh\necho $$ > {pid}\nexec {rtl.program()}\n")
    program.chmod(0o755)
    options = ("--samples", "full", "--jobs", "1")
    arguments = ["run", "--device", "rtl", "--suite", suite(tmp_path, 1_000_000), *options]
    store = tmp_path / "killed.db"
    process = started(*arguments, "-o", store, env={**os.environ, "PCIELAB_RTL": str(program)})
    wait_until(lambda: process.poll() is not None or (pid.exists() and store.exists()))
    core = int(pid.read_text())
    wait_for_work(core, 0.2)
    os.kill(core, signal.SIGKILL)
    pid.unlink()
    done = ended(process)
    assert done.exit_code == 1, done.stderr
    assert "pcielab-rtl has ended" in done.stderr
    assert not pid.exists(), "the core was restarted silently"
    again = pcielab(*arguments[:4], suite(tmp_path), *options, "-o", tmp_path / "other.db")
    assert again.exit_code == 0, again.stderr


def test_boards_and_addresses_are_refused_with_the_reason(tmp_path: Path) -> None:
    for device, reason in (("fpga:ffff:ff:1f.7", "no PCI function has this address"), ("rtl:1", "--device rtl")):
        done = pcielab("run", "--device", device, "-o", tmp_path / "x.db")
        assert done.exit_code == 2
        assert device.partition(":")[2] in done.stderr
        assert reason in done.stderr


def test_a_missing_core_is_reported_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PCIELAB_RTL", "/nowhere/pcielab-rtl")
    done = pcielab("run", "--device", "rtl", "-o", tmp_path / "x.db")
    assert done.exit_code == 2
    assert "/nowhere/pcielab-rtl" in done.stderr
    assert "make rtl" in done.stderr


@BUILT
def test_limits_of_the_core_are_named(tmp_path: Path) -> None:
    single = ["--test", "bw-rd", "--size", "64", "--window", "8K", "--outstanding", "65", "--transactions", "1000"]
    done = pcielab("run", "--device", "rtl", *single, "-o", tmp_path / "x.db")
    assert "32 tags on this link" in done.stderr
    done = pcielab("run", "--device", "rtl", "--set", "link.tags=256", *single, "-o", tmp_path / "z.db")
    assert "64 tags on this link" in done.stderr
    refused = pcielab("run", "--device", "rtl", "--engine", "fast", "-o", tmp_path / "y.db")
    assert refused.exit_code == 2
    assert "--engine" in refused.stderr


@BUILT
@pytest.mark.parametrize("tags", [32, 64])
def test_the_core_agrees_with_the_simulated_device_on_the_same_link(tmp_path: Path, tags: int) -> None:
    found = []
    for device in (["--device", "rtl"], ["--set", "device=pcielab-fpga"]):
        store = tmp_path / "run.db"
        asked = ["--profile", "snb", "--test", "bw-rd", "--size", "64", "--window", "1M", "--cache", "host-warm"]
        if tags != 32:
            asked += ["--set", f"link.tags={tags}"]
        done = pcielab("run", *device, *asked, "--transactions", "20000", "--overwrite", "-o", store)
        assert done.exit_code == 0, done.stderr
        found.append(float(pcielab_api.open_store(store).scalars["bandwidth"].iloc[0]))
    core, device = found
    assert core == pytest.approx(device, rel=0.01)


def test_keys_that_the_rtl_fixes_are_refused_and_keys_of_the_link_accepted(tmp_path: Path) -> None:
    for change in ("device=nfp6000", "device.dma.tags=8", "device.timer.cycles=2"):
        done = pcielab("run", "--device", "rtl", "--set", change, "-o", tmp_path / "x.db")
        assert done.exit_code == 2
        assert f"--set {change.partition('=')[0]}" in done.stderr, done.stderr
        assert "given twice" not in done.stderr
    for change in ("link.tags=64", "device.uplink_gap_bytes=8"):
        opened = open_work("quick", "rtl", pcielab_api.RunOptions(), profile="snb", sets=[change])
        assert change.partition("=")[0] in opened.described["overrides"]
