"""Devices that are measured in a guest with a real kernel: what it says, and what comes out of it.

`make vm-test` runs it. Nothing here is a number of PCIe: devices and IOMMU are emulated, and every store says so.
"""

import json
import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from pcielab import load_suite, open_store, single_test
from pcielab.library.suites import load_message_suite

from . import guest as made
from . import machine, programs

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / "target" / "vm"
ASKED = "PCIELAB_VM"
AREA = 64 << 10
FAILING_POSITION = 100
"""Where the contract announces tests that are to fail."""

pytestmark = pytest.mark.skipif(
    ASKED not in os.environ or bool(made.missing()),
    reason=f"the guest is for make vm-test{f' ({made.missing()})' if made.missing() else ''}",
)


@dataclass(frozen=True)
class Guest:
    """A guest that has ended, and the folder of what it wrote."""

    ended: machine.Ended
    out: Path


def _small() -> str:
    """A suite of all operations, from a block to more than a page, over all states of the caches."""
    suite = json.loads(load_suite("nvme").to_json())
    suite.update(name="small", tests=[])
    for operation in ("lat-rd", "lat-wrrd", "bw-rd", "bw-wr", "bw-rdwr"):
        for size, offset, cache, count in (
            (512, 0, "cold", 200),
            (512, 60, "host-warm", 200),
            (65536, 0, "device-warm", 64),
        ):
            test = single_test(
                operation, size=size, window="1M", cache=cache, host_offset=offset, transactions=count
            )
            suite["tests"] += json.loads(test.to_json())["tests"]
    return json.dumps(suite)


def _endless() -> str:
    """A suite that nobody sees the end of, and that can be killed anywhere."""
    suite = json.loads(_small())
    suite["tests"] = [
        {**test, "parameters": {**test["parameters"], "transactions": 2000}}
        for test in suite["tests"]
        for _ in range(8)
    ]
    return json.dumps({**suite, "name": "many"})


def _stores() -> str:
    suite = json.loads(load_message_suite("stores").to_json(simulated=False))
    for test in suite["tests"]:
        test["parameters"]["messages"] = 20
    return json.dumps(suite)


def _trial(*, failing: bool) -> str:
    """What the contract is tried with."""
    suite = json.loads(_small())["tests"]
    of = {test["parameters"]["operation"]: test["parameters"] for test in suite}
    refused = [
        {**of["bw-rd"], "path": "command"},
        {**of["bw-rd"], "size_bytes": 64},
        {**of["lat-rd"], "size_bytes": 512, "host_offset_bytes": 2},
    ]
    trial = {"latency": of["lat-wrrd"], "bandwidth": of["bw-rdwr"], "refused": refused}
    return json.dumps({**trial, "failing": [of["lat-rd"], of["bw-wr"]] if failing else []})


@pytest.fixture(scope="module")
def guest() -> Guest:
    """The guest, run to its end."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    files = {"steps": HERE / "steps", **programs.built()}
    for name, content in (
        ("small.json", _small()),
        ("many.json", _endless()),
        ("stores.json", _stores()),
        ("trial.json", _trial(failing=False)),
        ("failing.json", _trial(failing=True)),
        ("faults.json", json.dumps({"from": FAILING_POSITION, "failures": 1.0})),
    ):
        (FOLDER / name).write_text(content)
        files[name] = FOLDER / name
    root = made.kernel(FOLDER)
    archive = made.initramfs(FOLDER, root, files, (HERE / "init").read_text())
    ended = machine.start(FOLDER, made.image(root), archive)
    out = FOLDER / "out"
    out.mkdir(exist_ok=True)
    for old in out.iterdir():
        old.unlink()
    try:
        with tarfile.open(FOLDER / "out.raw") as tar:
            tar.extractall(out, filter="data")
    except tarfile.ReadError:
        pass  # What it said tells more than that it wrote nothing.
    return Guest(ended, out)


def test_the_guest_passes(guest: Guest) -> None:
    said = [line for line in guest.ended.console.splitlines() if line.startswith("guest:") or "panic" in line]
    assert guest.ended.code == machine.PASSED, "\n".join(said)


def stores(guest: Guest) -> list[Path]:
    return sorted(guest.out.glob("*.db"))


def test_every_store_says_that_its_devices_are_emulated(guest: Guest) -> None:
    assert len(stores(guest)) >= 4
    for path in stores(guest):
        store = open_store(path)
        assert store.origin == "emulated", path.name
        assert set(store.tests["status"]) <= {"ok", "not-supported", "not_supported"}, path.name


def run(*arguments: object) -> str:
    ran = subprocess.run(
        [Path(sys.executable).with_name("pcielab"), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_what_came_out_opens_everywhere(guest: Guest, tmp_path: Path) -> None:
    near, far = guest.out / "near.db", guest.out / "far.db"
    page = tmp_path / "report.html"
    run("report", near, "-o", page)
    assert "EMULATED" in page.read_text()
    assert "BW_DMA_RD" in run("explain", near, "--format", "csv")
    assert run("compare", near, far)


def test_the_far_drive_and_its_buffer_were_on_the_other_node(guest: Guest) -> None:
    host = open_store(guest.out / "far.db").manifest["host"]
    assert (host["node"], host["page_bytes"], host["iommu"]) == (1, 2 << 20, "super-pages")


def test_the_bar_holds_what_was_stored(guest: Guest) -> None:
    loops = (guest.out / "stores.txt").read_text().splitlines()
    assert len(loops) >= 10
    with (FOLDER / "bar.raw").open("rb") as bar:
        for number, name in enumerate(loops):
            expected = bytes((place * 7 + place // 256 + number) & 0xFF for place in range(AREA))
            assert bar.read(AREA) == expected, name


def test_every_refusal_names_what_mends_it(guest: Guest) -> None:
    told = (guest.out / "refusals.txt").read_text()
    for text in (
        "swapoff",
        "devices bind",
        "--user",
        "device.range",
        "device.scratch",
        "iommu_page_bytes",
        "ulimit -l",
    ):
        assert text in told, text
