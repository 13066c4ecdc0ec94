"""`pcielab run --device cpu`: measures this machine, along the path of every real device."""

import json
import os
import random
import re
import signal
import sys
from pathlib import Path

import jsonschema
import pytest

from pcielab import load_suite, open_store
from shell import ended, pcielab, refuse, started, stop_after, stored, succeed
from suite_texts import suite_text, transfers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the real host needs Linux")

CHASE_TESTS = ("LAT_CMD_CHASE", "BW_CMD_RD")
CACHES = ["cold", "host-warm", "device-warm", "device-thrash"]
SMALL = suite_text(
    transfers(
        *("lat_cmd_win_{direction}", "LAT_CMD_RD LAT_CMD_WRRD", 8),
        windows=["64K", "1M"], caches=CACHES, transactions=512,
    ),
    transfers(
        *("bw_cmd_{direction}", "BW_CMD_RD BW_CMD_WR BW_CMD_RW", 64, 4096, "1M"),
        windows=["4M"], caches=["host-warm"], transactions=2000,
    ),
)  # fmt: skip
TESTS = 25


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("suite") / "small.toml"
    path.write_text(SMALL)
    return path


FLUSH = ("--set", "host.cold=flush")
"""Instead of writing twice the caches before each test, which takes most of the time of these runs."""


def run(suite: Path, output: Path, *options: str, cold: tuple[str, ...] = FLUSH) -> tuple[str | Path, ...]:
    buffer = ("--set", "host.buffer_bytes=8M")
    return ("run", "--device", "cpu", "--suite", suite, "-o", output, *buffer, *cold, *options)


@pytest.fixture(scope="module")
def measured(suite: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a run that thrashes the caches, as runs do by default."""
    output = tmp_path_factory.mktemp("measured") / "cpu.db"
    done = succeed(*run(suite, output, cold=()))
    assert done.stderr == f"{TESTS} tests measured on cpu: {output}\n"
    return output


def test_the_store_has_results_conditions_device_and_host(measured: Path) -> None:
    store = open_store(measured)
    assert store.origin == "measured"
    assert set(store.tests["status"]) == {"ok"}
    device, host = store.manifest["device"], store.manifest["host"]
    assert device["latency_includes"] == ["timer"]
    assert (host["buffer_bytes"], host["page_bytes"], host["cold"]) == (8 << 20, 4096, "thrash")
    assert store.manifest["backend"]["host"]["buffer_bytes"] == 8 << 20
    scalars = store.scalar_rows
    of_conditions = scalars[(scalars["subject"] == "condition") & (scalars["metric"] == "timer_resolution")]
    assert len(of_conditions) == TESTS
    assert {"conditions_before", "conditions_after"} <= store.manifest.keys()


def test_commands_that_read_stores_take_it(suite: Path, measured: Path, tmp_path: Path) -> None:
    simulated = tmp_path / "sim.db"
    succeed("run", "--profile", "snb", "--suite", suite, "-o", simulated)
    explained = succeed("explain", measured)
    assert "no PCIe link" in explained.stderr
    assert "A latency of A includes: timer" in succeed("compare", measured, simulated).stdout
    succeed("report", measured, "-o", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "MEASURED" in page
    assert "SIMULATED" not in page
    assert "IOMMU off" not in page  # its mode is unknown
    assert "timer resolution" in page
    assert "a latency includes: timer" in page
    for drawn in ("bandwidth-by-size-command", "fig7a-latency-by-window"):
        assert f'id="{drawn}"' in page
    for kind in ("csv", "json", "parquet", "pcie-bench"):
        succeed("export", kind, measured, "-o", tmp_path / f"out-{kind}")


def test_a_single_row_says_that_it_was_measured(tmp_path: Path) -> None:
    options = ("--test", "lat-rd", "--path", "command", "--size", "8", "--transactions", "600")
    done = succeed("run", "--device", "cpu", *options, "-o", tmp_path / "one.db", "--format", "json")
    assert json.loads(done.stdout)[0]["origin"] == "measured"
    assert "simulated" not in done.stdout + done.stderr
    for cold, expected in (
        ("flush", "window flushed from the host's caches"),
        ("thrash", "host thrashed its caches"),
    ):
        table = ("-o", tmp_path / f"{cold}.db", "--set", f"host.cold={cold}")
        said = succeed("run", "--device", "cpu", *options, *table).stderr
        assert expected in said
        assert "includes: timer" in said


def test_an_operation_that_a_core_lacks_is_not_supported(tmp_path: Path) -> None:
    done = pcielab("run", "--device", "cpu", "--test", "bw-rd", "-o", tmp_path / "dma.db")
    assert done.exit_code == 1
    assert "not-supported: path is dma: a core has no DMA engine" in done.stderr


def test_a_chase_resolves_loads_shorter_than_a_reading_of_the_clock(tmp_path: Path) -> None:
    windows = ("--window", "4K", "--cache", "host-warm", "--transactions", "262144")
    single = ("--path", "command", "--size", "8", *windows, *FLUSH)
    medians = {}
    for test in ("lat-rd", "lat-chase"):
        output = tmp_path / f"{test}.db"
        succeed("run", "--device", "cpu", "--test", test, *single, "-o", output)
        row = open_store(output).scalars.iloc[0]
        assert row["status"] == "ok"
        medians[test] = row["median"]
    assert 0 < medians["lat-chase"] < medians["lat-rd"]
    store = open_store(tmp_path / "lat-chase.db")
    assert store.scalars["name"].tolist() == ["LAT_CMD_CHASE"]
    conditions = store.scalar_rows.query("subject == 'condition'").set_index("metric")["value"]
    assert conditions["preempted_slices_dropped"] >= 0
    assert conditions["preempted_slices_kept"] == 0 or "preempted" in str(store.tests["message"].iloc[0])


@pytest.mark.parametrize("cache", CACHES)
def test_a_chase_survives_every_preparation_of_the_caches(tmp_path: Path, cache: str) -> None:
    options = ("--test", "lat-chase", "--path", "command", "--size", "8", "--window", "256K", "--cache", cache)
    for pattern in ("random", "sequential", "fixed"):
        output = tmp_path / f"{pattern}.db"
        few = ("--pattern", pattern, "--transactions", "9000", *FLUSH)
        succeed("run", "--device", "cpu", *options, *few, "-o", output)
        assert open_store(output).scalars["samples"].tolist() == [9000]


def test_devices_without_dependent_reads_refuse_a_chase(tmp_path: Path) -> None:
    chase = ("--test", "lat-chase", "--path", "command", "--size", "8", "-o", tmp_path / "sim.db")
    done = pcielab("run", "--profile", "snb", *chase)
    assert done.exit_code == 1
    assert "not-supported: lat-chase: " in done.stderr
    assert "has no dependent reads: give --device cpu" in done.stderr
    dma = refuse("run", "--device", "cpu", "--test", "lat-chase", "-o", tmp_path / "dma.db")
    assert "--path dma: a DMA engine does not read its next address from the data: give command" in dma
    short = refuse("run", "--device", "cpu", *chase, "--size", "4")
    assert "--size 4: each read returns an address: give 8 or more" in short


def test_the_chase_suite_has_dependent_reads_beside_independent_ones() -> None:
    tests = load_suite("chase").entries
    windows = {name: [one.parameters.window_bytes for one in tests if one.name == name] for name in CHASE_TESTS}
    assert windows["LAT_CMD_CHASE"] == windows["BW_CMD_RD"] == [4096 << power for power in range(15)]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--engine", "fast"), "--engine fast: is for transfers on --device sim: leave it out"),
        (("--jobs", "4"), "--jobs 4: give 1: cpu does one test at a time"),
        (("--profile", "snb"), "--profile snb: names a system for --device sim"),
        (("--set", "host.page_bytes=1G"), "host.buffer_bytes is 8388608: give a multiple of the page size"),
        (("--set", "host.node=900"), "host.node is 900: this machine has"),
        (("--set", "host.core=60000"), "host.core is 60000: this program may run on"),
        (("--set", "host.llc.ddio_ways=4"), "host.llc"),
    ],
)
def test_options_that_do_not_fit_are_refused_by_name(
    suite: Path, tmp_path: Path, options: tuple[str, ...], expected: str
) -> None:
    assert expected in refuse(*run(suite, tmp_path / "cpu.db", *options))
    assert not (tmp_path / "cpu.db").exists()


def test_the_manifest_has_the_resolved_options_of_a_file(suite: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[host]\nbuffer_bytes = "4M"\ncold = "flush"\n')
    options = ("--test", "lat-rd", "--path", "command", "--transactions", "600")
    profile = ("--profile", tmp_path / "mine.toml", "--set", "host.buffer_bytes=2M")
    succeed("run", "--device", "cpu", *options, *profile, "-o", tmp_path / "one.db")
    host = open_store(tmp_path / "one.db").manifest["backend"]["host"]
    assert (host["buffer_bytes"], host["cold"], host["page_bytes"]) == (2 << 20, "flush", 4096)


def test_devices_are_listed_and_shown() -> None:
    rows = json.loads(succeed("devices", "list", "--format", "json").stdout)
    assert {"device": "cpu", "missing": ""}.items() <= next(row for row in rows if row["device"] == "cpu").items()
    shown = json.loads(succeed("devices", "show", "cpu", "--format", "json").stdout)
    assert [row["key"] for row in shown][:2] == ["host.page_bytes", "host.buffer_bytes"]
    assert "host.iommu.walk_ns" in succeed("devices", "show", "sim", "--format", "csv").stdout


def test_the_schema_of_options_accepts_those_of_a_run() -> None:
    schema = json.loads(succeed("devices", "schema", "cpu").stdout)
    jsonschema.validate({"host": {"page_bytes": "2M", "core": 1, "cold": "flush"}}, schema)
    for wrong in ({"host": {"page_bytes": 5000}}, {"host": {"pages": 1}}, {"device": {}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)
    assert json.loads(succeed("devices", "schema", "sim").stdout)["properties"]["link"]["$ref"] == "#/$defs/Link"
    assert "gpu: unknown kind of device" in refuse("devices", "schema", "gpu")


KILLS = int(os.environ.get("PCIELAB_KILLS", "3"))


def test_runs_that_are_killed_after_any_test_can_be_resumed(suite: Path, tmp_path: Path) -> None:
    """By three signals, at seeded tests. `make kill-loop` tries a hundred of them."""
    draws = random.Random(1)
    for number in range(KILLS):
        output = tmp_path / f"{number}.db"
        kill = draws.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
        tests = draws.randrange(TESTS)
        killed = stop_after(tests, kill, *run(suite, output))
        about = f"{number}: {kill.name} after {tests} tests: exit {killed.exit_code}: {killed.stderr}"
        assert "Traceback" not in about, about
        assert "internal error" not in about, about
        done = stored(output)
        again = pcielab(*run(suite, output, *(["--resume"] if output.exists() else [])))
        assert again.exit_code == 0, f"{about}; then {again.stderr}"
        assert stored(output) == TESTS >= done
        assert set(open_store(output).tests["status"]) == {"ok"}, about
    assert {path.name for path in tmp_path.iterdir()} == {f"{number}.db" for number in range(KILLS)}


def test_a_device_that_never_answers_ends_the_command(suite: Path, tmp_path: Path) -> None:
    """A package provides the device; no signal interrupts its wait. It answers nothing: no answer can be late."""
    package = tmp_path / "silent-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: silent\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[pcielab.devices]\nsilent = silent:KIND\n")
    (tmp_path / "silent.py").write_text(SILENT)
    output = tmp_path / "silent.db"
    command = ("run", "--device", "silent", "--set", "device.answers=0", "--suite", suite, "-o", output)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = ended(started(*command, env=environment))
    assert done.exit_code == 1, done.stderr
    silence = r"a mute device did not answer for \d+\.\d s in lat_cmd_win_rd LAT_CMD_RD"
    assert re.search(silence, done.stderr), done.stderr
    assert open_store(output).done == 0
    again = ended(started(*command, "--resume", "--set", "device.answers=99", env=environment))
    assert (again.exit_code, "device.answers" in again.stderr) == (2, True), again.stderr


SILENT = """
import time

import numpy as np

from pcielab import devices
from pcielab.library.profiles.part import Part


class DeviceOptions(Part):
    answers: int = 0
    \"\"\"Tests that it answers before it falls silent.\"\"\"


class Options(Part):
    device: DeviceOptions = DeviceOptions()
    \"\"\"The device's side.\"\"\"


class Mute(devices.Device):
    def __init__(self, answers):
        self.answers = answers

    def facts(self):
        return devices.DeviceFacts(name="a mute device", timer=devices.Timer(1), deadline_ms=1000)

    def latency(self, test):
        while self.answers == 0:
            try:
                time.sleep(3600)
            except BaseException:
                pass
        self.answers -= 1
        yield np.full(test.transactions, 100, dtype=np.uint32), 200.0 * test.transactions


class Host(devices.Host):
    def facts(self):
        return devices.HostFacts(name="here", buffer_bytes=8 << 20)

    def thrash(self):
        pass

    def warm(self, window_bytes):
        pass


class Backend(devices.Backend):
    kind = "silent"
    origin = "emulated"

    def __init__(self, options):
        self.asked = options

    def options(self):
        return self.asked.model_dump()

    def open(self):
        return Mute(self.asked.device.answers), Host()


def make(options, address):
    return devices.bridged(Backend(options))


KIND = devices.Kind("silent", "A device that falls silent", Options, make, lambda: [])
"""
