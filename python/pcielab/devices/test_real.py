import json
from pathlib import Path

import pytest

import pcielab
from pcielab import devices, load_suite
from pcielab.devices import real
from pcielab.errors import InputError
from pcielab.library.suites import load_message_suite

DRIVE = "0000:3b:00.0"


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A machine with a drive that its driver has, and no IOMMU."""
    folder = tmp_path / "sys/bus/pci/devices" / DRIVE
    folder.mkdir(parents=True)
    resource = "0xe0000000 0xe000ffff 0x14220c\n" + "0x0 0x0 0x0\n" * 5
    for name, content in (
        ("vendor", "0x144d"),
        ("device", "0xa808"),
        ("class", "0x010802"),
        ("resource", resource),
        ("numa_node", "1"),
    ):
        (folder / name).write_text(content)
    driver = tmp_path / "sys/bus/pci/drivers/nvme"
    driver.mkdir(parents=True)
    (folder / "driver").symlink_to(driver)
    return tmp_path


def test_a_drive_is_listed_with_what_stands_in_the_way(machine: Path) -> None:
    found = {device.kind: device for device in real.listed(machine)}
    assert set(found) == {"nvme", "pio"}
    drive = found["nvme"]
    assert (drive.address, drive.identifiers, drive.driver, drive.group, drive.node) == (
        DRIVE,
        "144d:a808",
        "nvme",
        None,
        1,
    )
    assert drive.title == "nvme:0000:3b:00.0 (144d:a808, nvme, no group, node 1)"
    assert "has no IOMMU group: switch the IOMMU on" in drive.missing
    assert "devices bind 0000:3b:00.0 --unbound" in found["pio"].missing


def test_binding_is_refused_with_what_mends_it(machine: Path) -> None:
    with pytest.raises(InputError, match=r"no such PCI function: the nearest are 0000:3b:00\.0"):
        real.bind("3b:00.1", root=machine)
    with pytest.raises(InputError, match="is no PCI address"):
        real.bind("nvme0", root=machine)
    with pytest.raises(InputError, match="has no IOMMU group"):
        real.bind(DRIVE, root=machine)
    with pytest.raises(InputError, match="no such PCI function"):
        real.release("4b:00.0", root=machine)


@pytest.mark.parametrize(
    ("device", "sets", "told"),
    [
        ("nvme", {}, r"--device nvme: give the device's address, such as nvme:0000:3b:00\.0"),
        ("e1000e", {}, r"--device e1000e: give the device's address, such as e1000e:0000:3b:00\.0"),
        ("nvme:drive", {}, "drive: is no PCI address"),
        ("nvme:ffff:ff:1f.7", {}, r"ffff:ff:1f\.7: there is no such PCI function"),
        ("nvme:0000:3b:00.0", {"device.pointers": "list"}, r"device\.pointers"),
        ("nvme:0000:3b:00.0", {"host.iommu_page_bytes": "3K"}, "iommu_page_bytes: 3072: a page is 4096"),
        ("pio", {}, r"--device pio: give the device's address, such as pio:0000:3b:00\.0"),
        ("pio:ffff:ff:1f.7", {}, r"ffff:ff:1f\.7: there is no such PCI function"),
    ],
)
def test_what_cannot_be_is_named(device: str, sets: dict[str, object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        devices.open_kind(device, {}, sets)


def test_options_are_those_that_the_core_reads() -> None:
    options = real.NvmeOptions.model_validate({"host": {"iommu_page_bytes": "2M", "page_bytes": "2M"}})
    assert json.loads(options.host.model_dump_json())["iommu_page_bytes"] == 2 << 20
    assert set(json.loads(options.device.model_dump_json())) == {
        "pointers",
        "completion",
        "queue",
        "scratch",
        "scratch_serial",
    }


def test_the_suites_for_devices_that_exist_ask_for_nothing_that_only_a_simulator_can_be_told() -> None:
    assert {test["parameters"]["path"] for test in load_suite("nvme").tests} == {"dma"}
    stores = json.loads(load_message_suite("stores").to_json(simulated=False))["tests"]
    assert all(test["parameters"][key] is None for test in stores for key in ("eviction", "pressure", "lanes"))


def test_a_store_is_not_begun_where_there_is_nothing_to_store_into(tmp_path: Path) -> None:
    suite = load_message_suite("stores")
    with pytest.raises(InputError, match="no such PCI function"):
        pcielab.run(suite, "pio:ffff:ff:1f.7", tmp_path / "bar.db")
    with pytest.raises(InputError, match="give the device's address"):
        pcielab.run(suite, "pio", tmp_path / "bar.db")
    assert not (tmp_path / "bar.db").exists()
