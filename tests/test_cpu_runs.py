"""`pcielab run --device cpu`: measured on this machine, through everything that a real device goes through."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from patience import HANGS_AFTER_SECONDS
from pcielab import open_store
from shell import PCIELAB, pcielab, stored, succeed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the real host is there on Linux only")

SMALL = """
name = "small"
title = "A few accesses of a core"

[provenance]
source = "test"

[[group]]
family = "lat_cmd_win_{direction}"
loop = ["test", "cache", "window"]
tests = ["LAT_CMD_RD", "LAT_CMD_WRRD"]
sizes = [8]
windows = ["64K", "1M"]
caches = ["cold", "host-warm", "device-warm", "device-thrash"]
patterns = ["random"]
transactions = 512

[[group]]
family = "bw_cmd_{direction}"
loop = ["test", "size"]
tests = ["BW_CMD_RD", "BW_CMD_WR", "BW_CMD_RW"]
sizes = [64, 4096, "1M"]
windows = ["4M"]
caches = ["host-warm"]
patterns = ["random"]
transactions = 2000
"""
TESTS = 25


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("suite") / "small.toml"
    path.write_text(SMALL)
    return path


def run(suite: Path, output: Path, *options: str) -> tuple[str | Path, ...]:
    buffer = ("--set", "host.buffer_bytes=8M")
    return ("run", "--device", "cpu", "--suite", suite, "-o", output, *buffer, *options)


@pytest.fixture(scope="module")
def measured(suite: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a run."""
    output = tmp_path_factory.mktemp("measured") / "cpu.db"
    done = succeed(*run(suite, output))
    assert done.stderr == f"{TESTS} tests measured on cpu: {output}\n"
    return output


def test_every_test_has_its_numbers_its_conditions_and_what_it_ran_on(measured: Path) -> None:
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


def test_cold_caches_are_slower_than_warm_ones(measured: Path) -> None:
    rows = open_store(measured).scalars.query("name == 'LAT_CMD_RD' and window_bytes == 65536").set_index("cache")
    assert rows.loc["cold", "median"] > rows.loc["host-warm", "median"]


def test_what_looks_at_stores_takes_it(suite: Path, measured: Path, tmp_path: Path) -> None:
    simulated = tmp_path / "sim.db"
    succeed("run", "--profile", "snb", "--suite", suite, "-o", simulated)
    explained = succeed("explain", measured)
    assert "no PCIe link" in explained.stderr
    assert "A latency of A includes: timer" in succeed("compare", measured, simulated).stdout
    succeed("report", measured, "-o", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "MEASURED" in page
    assert "SIMULATED" not in page
    assert "IOMMU off" not in page  # nothing says which mode it is in
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
    for cold, told in (("flush", "window flushed from the host's caches"), ("thrash", "host thrashed its caches")):
        table = ("-o", tmp_path / f"{cold}.db", "--set", f"host.cold={cold}")
        said = succeed("run", "--device", "cpu", *options, *table).stderr
        assert told in said
        assert "includes: timer" in said


def test_what_a_core_cannot_do_is_refused_by_its_limit(tmp_path: Path) -> None:
    done = pcielab("run", "--device", "cpu", "--test", "bw-rd", "-o", tmp_path / "dma.db")
    assert done.exit_code == 1
    assert "not-supported: path is dma: a core has no DMA engine" in done.stderr


@pytest.mark.parametrize(
    ("options", "told"),
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
def test_options_of_others_and_what_is_not_there_are_refused_by_name(
    suite: Path, tmp_path: Path, options: tuple[str, ...], told: str
) -> None:
    refused = pcielab(*run(suite, tmp_path / "cpu.db", *options))
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert told in refused.stderr
    assert not (tmp_path / "cpu.db").exists()


def test_a_file_of_options_stands_resolved_in_the_manifest(suite: Path, tmp_path: Path) -> None:
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


def test_the_schema_of_a_kinds_options_takes_what_a_run_takes() -> None:
    schema = json.loads(succeed("devices", "schema", "cpu").stdout)
    jsonschema.validate({"host": {"page_bytes": "2M", "core": 1, "cold": "flush"}}, schema)
    for wrong in ({"host": {"page_bytes": 5000}}, {"host": {"pages": 1}}, {"device": {}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)
    assert json.loads(succeed("devices", "schema", "sim").stdout)["title"] == "System"
    refused = pcielab("devices", "schema", "gpu")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "gpu: no such kind of device" in refused.stderr


PLACES = int(os.environ.get("PCIELAB_KILLS", "3"))


def huge_pages_in_use() -> int:
    """What a run of a core could leave on a machine."""
    info = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return int(info["HugePages_Total"]) - int(info["HugePages_Free"]) if "HugePages_Total" in info else 0


def test_runs_that_are_ended_anywhere_are_gone_on_with(suite: Path, tmp_path: Path) -> None:
    """By three signals, at seeded places: before, in and after tests. `make kill-loop` tries a hundred of them."""
    draws, before = random.Random(1), huge_pages_in_use()
    for number in range(PLACES):
        output, log = tmp_path / f"{number}.db", tmp_path / f"{number}.log"
        kill = draws.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
        with log.open("w") as stderr:
            process = subprocess.Popen(
                [PCIELAB, *map(str, run(suite, output))],
                stderr=stderr,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            )
            place, until = draws.randrange(TESTS + 1), time.monotonic() + HANGS_AFTER_SECONDS
            while process.poll() is None and stored(output) < place and time.monotonic() < until:
                time.sleep(0.002)
            time.sleep(draws.uniform(0, 0.03))
            process.send_signal(kill)
            code = process.wait(HANGS_AFTER_SECONDS)
        told = f"{number}: {kill.name} after {place} tests: exit {code}: {log.read_text()}"
        assert "Traceback" not in told, told
        assert "a defect of pcielab" not in told, told
        done = stored(output)
        again = pcielab(*run(suite, output, *(["--resume"] if output.exists() else [])))
        assert again.exit_code == 0, f"{told}; then {again.stderr}"
        assert stored(output) == TESTS >= done
        assert set(open_store(output).tests["status"]) == {"ok"}, told
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        f"{number}.{kind}" for number in range(PLACES) for kind in ("db", "log")
    )
    # Fewer where others have given some back meanwhile.
    assert huge_pages_in_use() <= before


def test_a_device_that_never_answers_ends_the_command(suite: Path, tmp_path: Path) -> None:
    """A package brings the device, as it would for anybody; its wait is one that no signal interrupts."""
    package = tmp_path / "silent-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: silent\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[pcielab.devices]\nsilent = silent:KIND\n")
    (tmp_path / "silent.py").write_text(SILENT)
    output = tmp_path / "silent.db"
    command = ["run", "--device", "silent", "--set", "device.answers=2", "--suite", str(suite), "-o", str(output)]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    process = subprocess.Popen([PCIELAB, *command], env=environment, stderr=subprocess.PIPE, text=True)
    while stored(output) < 2 and process.poll() is None:
        time.sleep(0.002)
    _, stderr = process.communicate(timeout=HANGS_AFTER_SECONDS)
    assert process.returncode == 1, stderr
    assert re.search(r"a mute card did not answer for \d+\.\d s in lat_cmd_win_rd LAT_CMD_RD", stderr), stderr
    assert open_store(output).done == 2
    again = subprocess.run(
        [PCIELAB, *command, "--resume", "--set", "device.answers=99"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert (again.returncode, "device.answers" in again.stderr) == (2, True), again.stderr


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
        return devices.DeviceFacts(name="a mute card", timer=devices.Timer(1), deadline_ms=1000)

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


KIND = devices.Kind("silent", "A card that falls silent", Options, make, lambda: [])
"""
