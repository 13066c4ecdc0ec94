"""Devices that are measured in a guest with a real kernel: what it says, and what comes out of it.

`make vm-test` runs it. Nothing here is a number of PCIe: devices and IOMMU are emulated, and every store says so.
"""

import json
import os
import random
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
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
KILLS, SEED = "PCIELAB_VM_KILLS", "PCIELAB_VM_SEED"
NOT_OF_DEVICES = (
    ("bw-rd", {"path": "command"}),
    ("bw-rd", {"size_bytes": 32}),
    ("lat-rd", {"device_offset_bytes": 4}),
)
NOT_OF_CORES = (("bw-rd", {"path": "dma"}), ("lat-rd", {"window_bytes": 1 << 30}))
"""What has to be refused: changes of a test of an operation."""
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


def _frames(*, within_pages: bool) -> str:
    """A suite for a NIC: QEMU drops frames that it would have to fetch from two of the IOMMU's pages."""
    suite = json.loads(load_suite("e1000e").to_json())
    suite.update(name="frames", tests=[])
    for operation in ("lat-rd", "lat-wrrd", "bw-rd", "bw-wr", "bw-rdwr"):
        for size, cache in ((64, "cold"), (1024, "host-warm"), (4096 if within_pages else 1500, "device-warm")):
            test = single_test(operation, size=size, window="256K", cache=cache, transactions=300)
            suite["tests"] += json.loads(test.to_json())["tests"]
    return json.dumps(suite)


def _many() -> str:
    """A suite that takes long enough to be killed in many places."""
    suite = json.loads(_small())
    return json.dumps({**suite, "name": "many", "tests": suite["tests"] * 6})


def _endless() -> str:
    """A suite that nobody sees the end of."""
    suite = single_test("bw-wr", size=4096, window="1M", transactions=(1 << 32) - 1)
    return json.dumps({**json.loads(suite.to_json()), "name": "endless"})


def _kills() -> str:
    """How long each run has before it is killed: places are the seed's."""
    places = random.Random(int(os.environ.get(SEED, "1")))
    return "".join(f"{places.randrange(60)}\n" for _ in range(int(os.environ.get(KILLS, "20"))))


def _stores() -> str:
    suite = json.loads(load_message_suite("stores").to_json(simulated=False))
    for test in suite["tests"]:
        test["parameters"]["messages"] = 20
    return json.dumps(suite)


def _core() -> str:
    """A suite for a core, whose transactions are commands."""
    suite = json.loads(_small())
    tests = [
        {**test, "parameters": {**test["parameters"], "path": "command", "size_bytes": 8, "host_offset_bytes": 0}}
        for test in suite["tests"]
    ]
    return json.dumps({**suite, "tests": tests})


def _stores_trial() -> str:
    """The same for stores that every processor has: one alone, one in a stream, and what a BAR refuses."""
    asked = [test["parameters"] for test in json.loads(_stores())["tests"]]
    plain = [one for one in asked if (one["store_kind"], one["store_bytes"]) == ("plain", 8)]
    possible = list({one["pace"]: one for one in plain}.values())
    refused = [{**possible[0], "cores": 2}, {**possible[0], "size_bytes": 1 << 20}, {**possible[0], "lanes": 4}]
    return json.dumps({"possible": possible, "refused": refused, "failing": possible})


def _trial(tests: str, refused: Sequence[tuple[str, Mapping[str, object]]]) -> str:
    """What the contract is tried with: tests of a suite by operation, and changes that have to be refused."""
    of = {test["parameters"]["operation"]: test["parameters"] for test in json.loads(tests)["tests"]}
    trial = {
        "latency": of["lat-wrrd"],
        "bandwidth": of["bw-rdwr"],
        "refused": [{**of[operation], **changes} for operation, changes in refused],
    }
    return json.dumps({**trial, "failing": [of["lat-rd"], of["bw-wr"]]})


@pytest.fixture(scope="module")
def guest() -> Guest:
    """The guest, run to its end."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    files = {"steps": HERE / "steps", **programs.built()}
    for name, content in (
        ("small.json", _small()),
        ("many.json", _many()),
        ("endless.json", _endless()),
        ("kills", _kills()),
        ("core-failing.json", _trial(_core(), NOT_OF_CORES)),
        ("stores-failing.json", _stores_trial()),
        ("stores.json", _stores()),
        ("frames.json", _frames(within_pages=True)),
        ("long-frames.json", _frames(within_pages=False)),
        ("failing.json", _trial(_small(), NOT_OF_DEVICES)),
        ("frames-failing.json", _trial(_frames(within_pages=True), NOT_OF_DEVICES)),
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


def test_what_came_out_opens_everywhere_and_passes_nowhere_for_a_measurement(guest: Guest, tmp_path: Path) -> None:
    near, far = guest.out / "near.db", guest.out / "far.db"
    page = tmp_path / "report.html"
    run("report", near, "-o", page)
    shown = page.read_text()
    assert "EMULATED: what was exercised, not how fast" in shown
    assert 'data-figure="' not in shown.partition("<script")[0]
    assert "EMULATED" in run("explain", near)
    assert "BW_DMA_RD" in run("explain", near, "--format", "csv")
    assert "EMULATED: what was exercised" in run("compare", near, far)
    rows = json.loads(run("export", "json", near, "-o", "-"))
    assert rows["manifest"]["origin"] == "emulated"


def test_the_far_drive_and_its_buffer_were_on_the_other_node(guest: Guest) -> None:
    host = open_store(guest.out / "far.db").manifest["host"]
    assert (host["node"], host["page_bytes"], host["iommu"]) == (1, 2 << 20, "super-pages")


def test_a_run_that_was_killed_again_and_again_is_whole_in_the_end(guest: Guest) -> None:
    many = open_store(guest.out / "many.db")
    assert not many.incomplete
    assert list(many.tests["status"]) == ["ok"] * len(json.loads(_many())["tests"])


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
        "something has claimed",
        "is busy, and was for 10 s",
        "--unbound --user $USER` gives it to you",
    ):
        assert text in told, text
