"""Measures emulated devices in a guest with a real kernel, and checks its console and its stores.

`make vm-test` runs it. No number here says anything about PCIe, and every store is marked as emulated.
"""

import json
import os
import random
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pcielab import load_suite, open_store, single_test
from pcielab.library.suites import load_message_suite
from shell import succeed

from . import guest as made, machine, programs

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
"""Tests that must be refused: an operation, and changes of its parameters."""
USES = (
    "is mounted at", "is swap", "has claimed", "is behind loop0", "is part of dm-", "is part of md7",
    "is exported by /sys/kernel/config/nvmet", "is exported by /sys/kernel/config/target",
    "has 1 virtual functions", "n1 open", "n1p1 open", "/resource0 open", "/config open", "vfio/",
    " is up; `sudo ip link set", "the SSH session from", "a TCP connection with", "is part of inner",
    "is part of whole", "whole, which ", "with a packet socket", "in another network namespace",
)  # fmt: skip
"""Uses of drives and interfaces, each refused in a binding."""
LISTED = ("by process ", "is behind zram0", "the route to", "the default route", "is part of bonded")
"""Uses that a survey lists beside the one that the refusal names."""
AREA = 64 << 10
FAILING_POSITION = 100
"""First position of the tests that the contract makes fail."""

pytestmark = pytest.mark.skipif(
    ASKED not in os.environ or bool(made.missing()),
    reason=f"the guest is for make vm-test{f' ({made.missing()})' if made.missing() else ''}",
)


@dataclass(frozen=True)
class Guest:
    """A guest that has ended, and the folder of its output."""

    ended: machine.Ended
    out: Path


def _of_all_operations(shipped: str, name: str, tests: Iterable[dict[str, Any]]) -> str:
    """A suite like a shipped one with these tests of each operation."""
    suite = json.loads(load_suite(shipped).to_json())
    suite.update(name=name, tests=[])
    for operation, test in product(("lat-rd", "lat-wrrd", "bw-rd", "bw-wr", "bw-rdwr"), tests):
        suite["tests"] += json.loads(single_test(operation, **test).to_json())["tests"]
    return json.dumps(suite)


def _small() -> str:
    """A suite of sizes from a block to more than a page, and three cache states."""
    keys = ("size", "host_offset", "cache", "transactions")
    rows = ((512, 0, "cold", 200), (512, 60, "host-warm", 200), (65536, 0, "device-warm", 64))
    return _of_all_operations(
        "nvme", "small", [dict(zip(keys, row, strict=True)) | {"window": "1M"} for row in rows]
    )


def _frames(*, within_pages: bool) -> str:
    """A suite for a NIC: QEMU drops frames that span two of the IOMMU's pages."""
    rows = ((64, "cold"), (1024, "host-warm"), (4096 if within_pages else 1500, "device-warm"))
    common = {"window": "256K", "transactions": 300}
    return _of_all_operations(
        "e1000e", "frames", [common | {"size": size, "cache": cache} for size, cache in rows]
    )


def _many() -> str:
    """A suite that is long enough to be killed many times."""
    suite = json.loads(_small())
    return json.dumps({**suite, "name": "many", "tests": suite["tests"] * 6})


def _endless() -> str:
    """A suite that does not end within the time limit."""
    suite = single_test("bw-wr", size=4096, window="1M", transactions=(1 << 32) - 1)
    return json.dumps({**json.loads(suite.to_json()), "name": "endless"})


def _kills() -> str:
    """The time of each run before it is killed, in hundredths of a second, drawn from the seed."""
    draws = random.Random(int(os.environ.get(SEED, "1")))
    return "".join(f"{draws.randrange(60)}\n" for _ in range(int(os.environ.get(KILLS, "20"))))


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
    """The tests of the contract for stores of every processor: one alone, one in a stream, and refused ones."""
    asked = [test["parameters"] for test in json.loads(_stores())["tests"]]
    plain = [one for one in asked if (one["store_kind"], one["store_bytes"]) == ("plain", 8)]
    possible = list({one["pace"]: one for one in plain}.values())
    refused = [{**possible[0], "cores": 2}, {**possible[0], "size_bytes": 1 << 20}, {**possible[0], "lanes": 4}]
    return json.dumps({"possible": possible, "refused": refused, "failing": possible})


def _trial(tests: str, refused: Sequence[tuple[str, Mapping[str, object]]]) -> str:
    """The tests of the contract: from a suite, by operation, and changes that must be refused."""
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
    files = {"steps": HERE / "steps", "uses": HERE / "uses", **programs.built()}
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
        pass  # The console explains more than the missing output.
    return Guest(ended, out)


def test_the_guest_passes(guest: Guest) -> None:
    assert guest.ended.code == machine.PASSED, guest.ended.console


def stores(guest: Guest) -> list[Path]:
    return sorted(guest.out.glob("*.db"))


def test_every_store_is_marked_as_emulated(guest: Guest) -> None:
    assert len(stores(guest)) >= 4
    for path in stores(guest):
        store = open_store(path)
        assert store.origin == "emulated", path.name
        assert set(store.tests["status"]) <= {"ok", "not-supported", "not_supported"}, path.name


def run(*arguments: str | Path) -> str:
    return succeed(*arguments).stdout


def test_commands_read_the_stores_as_emulated(guest: Guest, tmp_path: Path) -> None:
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


def _conditions(path: Path, metric: str) -> list[float]:
    rows = open_store(path).scalar_rows
    found = rows[(rows["subject"] == "condition") & (rows["metric"] == metric)]
    return [float(value) for value in found["value"]]


def test_scratch_blocks_are_deallocated_and_every_test_has_a_floor(guest: Guest) -> None:
    for name, deallocated, own in (("written", {0.0}, "medium"), ("scratch", {1.0}, "controller")):
        path = guest.out / f"{name}.db"
        assert set(_conditions(path, "blocks_deallocated")) == deallocated
        assert own in open_store(path).latency_includes.split(", ")
    assert _conditions(guest.out / "near.db", "blocks_deallocated") == []
    # QEMU's drives do not report Verify.
    floors = _conditions(guest.out / "scratch.db", "floor_flush")
    assert len(floors) == len(open_store(guest.out / "scratch.db").tests)
    assert min(floors) > 0 < min(_conditions(guest.out / "scratch.db", "floor_standard_error"))
    # The last run deallocated what the one before it had written: the file has a hole there.
    with (FOLDER / "drive0.raw").open("rb") as drive:
        first, bytes_ = 8192 * 512, 1 << 20
        try:
            data = os.lseek(drive.fileno(), first, os.SEEK_DATA)
        except OSError:
            return  # No data behind the range either.
        assert data >= first + bytes_


def test_transfer_is_the_latency_less_the_same_commands_within_the_drive(guest: Guest) -> None:
    store = open_store(guest.out / "near.db")
    rows = store.scalar_rows.set_index(["test", "subject", "metric"])["value"]
    latencies = [int(test) for test in store.tests[store.tests["operation"].str.startswith("lat-")]["id"]]
    assert len(latencies) == 6
    for test in latencies:
        whole = rows[test, "", "median"]
        assert rows[test, "transfer", "difference"] == pytest.approx(whole - rows[test, "medium", "median"])
        assert rows[test, "transfer", "standard_error"] >= rows[test, "medium", "standard_error"] > 0


def test_the_buffer_of_the_far_drive_is_on_the_other_node(guest: Guest) -> None:
    host = open_store(guest.out / "far.db").manifest["host"]
    assert (host["node"], host["page_bytes"], host["iommu"]) == (1, 2 << 20, "super-pages")


def test_a_run_killed_many_times_is_complete(guest: Guest) -> None:
    many = open_store(guest.out / "many.db")
    assert not many.incomplete
    assert list(many.tests["status"]) == ["ok"] * len(json.loads(_many())["tests"])


def test_the_bar_holds_the_stored_pattern(guest: Guest) -> None:
    loops = (guest.out / "stores.txt").read_text().splitlines()
    assert len(loops) >= 10
    with (FOLDER / "bar.raw").open("rb") as bar:
        for number, name in enumerate(loops):
            expected = bytes((offset * 7 + offset // 256 + number) & 0xFF for offset in range(AREA))
            assert bar.read(AREA) == expected, name


def test_the_store_has_the_memory_types_that_the_kernel_granted(guest: Guest) -> None:
    granted = {"uncached": "uncached-minus", "write_combined": "write-combining"}
    for name, expected in (("root-bar.db", granted), ("bar.db", dict.fromkeys(granted))):
        assert open_store(guest.out / name).manifest["device"]["memory_types"] == expected, name


def test_uses_are_refused_and_a_free_drive_is_surveyed(guest: Guest) -> None:
    refusals = (guest.out / "refusals.txt").read_text().splitlines()
    uses = ("is in use: ", "may be in use: ", "whose uses pcielab does not know")
    assert sum(any(use in line for use in uses) for line in refusals) >= 50
    for use in USES:
        assert any(use in line for line in refusals if "is in use: " in line), use
    listed = (guest.out / "listed.txt").read_text()
    for use in LISTED:
        assert use in listed, use
    looks = json.loads((guest.out / "survey.json").read_text())
    assert {look["subject"] for look in looks} >= {"mounts", "swap", "exclusive claims"}
    assert all(look["holders"] == [] for look in looks)


def test_free_devices_are_bound_and_released(guest: Guest) -> None:
    assert len((guest.out / "released.txt").read_text().splitlines()) == 7


def test_every_refusal_names_the_remedy(guest: Guest) -> None:
    refusals = (guest.out / "refusals.txt").read_text()
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
        assert text in refusals, text
