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
    """A machine with a drive bound to its driver, and no IOMMU."""
    folder = tmp_path / "sys/bus/pci/devices" / DRIVE
    folder.mkdir(parents=True)
    resource = "0xe0000000 0xe000ffff 0x14220c\n" + "0x0 0x0 0x0\n" * 5
    files = {"vendor": "0x144d", "device": "0xa808", "class": "0x010802", "resource": resource, "numa_node": "1"}
    for name, content in files.items():
        (folder / name).write_text(content)
    driver = tmp_path / "sys/bus/pci/drivers/nvme"
    driver.mkdir(parents=True)
    (folder / "driver").symlink_to(driver)
    quiet = {
        "self/mountinfo": "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n",
        "swaps": "Filename Type Size Used Priority\n",
        "1/comm": "init\n",
        "1/task/1/maps": "",
    }
    for name, content in quiet.items():
        (tmp_path / "proc" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "proc" / name).write_text(content)
    return tmp_path


def test_list_names_the_obstacle_of_a_drive(machine: Path) -> None:
    found = {device.kind: device for device in real.listed(machine)}
    assert set(found) == {"nvme", "pio"}
    drive = found["nvme"]
    found_facts = (drive.address, drive.identifiers, drive.driver, drive.group, drive.node)
    assert found_facts == (DRIVE, "144d:a808", "nvme", None, 1)
    assert drive.title == "nvme:0000:3b:00.0 (144d:a808, nvme, no group, node 1)"
    assert "has no IOMMU group: switch the IOMMU on" in drive.missing
    assert "devices bind 0000:3b:00.0 --unbound" in found["pio"].missing


def test_refusals_of_binding_name_the_remedy(machine: Path) -> None:
    with pytest.raises(InputError, match=r"no PCI function has this address: the nearest are 0000:3b:00\.0"):
        real.bind("3b:00.1", root=machine)
    with pytest.raises(InputError, match="is not a PCI address"):
        real.bind("nvme0", root=machine)
    with pytest.raises(InputError, match="has no IOMMU group"):
        real.bind(DRIVE, root=machine)
    with pytest.raises(InputError, match="no PCI function has this address"):
        real.release("4b:00.0", root=machine)


def test_survey_names_holders_and_what_cannot_be_read(machine: Path) -> None:
    """A machine with a virtual machine on the drive, then one without a list of swap."""
    free = real.survey(DRIVE, root=machine)
    assert all(look.holders == () and look.places for look in free.looks)
    assert "has no IOMMU group" in str(free.refusal)

    node = machine / "sys/bus/pci/devices" / DRIVE / "nvme/nvme0/ng0n1"
    node.mkdir(parents=True)
    (node / "dev").write_text("242:0\n")
    files = machine / "proc/4242/task/4242/fd"
    files.mkdir(parents=True)
    (machine / "proc/4242/comm").write_text("qemu\n")
    (files / "9").symlink_to("/dev/ng0n1")
    held = real.survey(DRIVE, root=machine)
    assert "is in use: process 4242 (qemu) has ng0n1 open" in str(held.refusal)
    assert next(look.subject for look in held.looks if look.holders).startswith("open device nodes")
    with pytest.raises(InputError, match=r"process 4242 \(qemu\) has ng0n1 open"):
        real.bind(DRIVE, root=machine)

    (files / "9").unlink()
    (machine / "proc/swaps").unlink()
    unread = real.survey(DRIVE, unbound=True, root=machine)
    assert "may be in use" in str(unread.refusal)
    assert "proc/swaps cannot be read" in str(unread.refusal)


@pytest.mark.parametrize(
    ("device", "sets", "text"),
    [
        ("nvme", {}, r"--device nvme: give the device's address, for example nvme:0000:3b:00\.0"),
        ("e1000e", {}, r"--device e1000e: give the device's address, for example e1000e:0000:3b:00\.0"),
        ("nvme:drive", {}, "drive: is not a PCI address"),
        ("nvme:ffff:ff:1f.7", {}, r"ffff:ff:1f\.7: no PCI function has this address"),
        ("nvme:0000:3b:00.0", {"device.pointers": "list"}, r"device\.pointers"),
        ("nvme:0000:3b:00.0", {"device.blocks": "trimmed"}, r"device\.blocks"),
        ("nvme:0000:3b:00.0", {"host.iommu_page_bytes": "3K"}, "iommu_page_bytes: 3072: a page is 4096"),
        ("nvme:0000:3b:00.0", {"host.iommu": "off"}, "VFIO maps devices through the IOMMU, so a run without it"),
        ("fpga:0000:3b:00.0", {"host.iommu.pages": "4K"}, "vary its pages with host.iommu_page_bytes"),
        ("pio", {}, r"--device pio: give the device's address, for example pio:0000:3b:00\.0"),
        ("pio:ffff:ff:1f.7", {}, r"ffff:ff:1f\.7: no PCI function has this address"),
    ],
)
def test_wrong_addresses_and_options_are_refused_by_name(device: str, sets: dict[str, object], text: str) -> None:
    with pytest.raises(InputError, match=text):
        devices.open_kind(device, {}, sets)


def test_options_cross_as_bytes_and_all_of_them() -> None:
    options = real.NvmeOptions.model_validate({"host": {"iommu_page_bytes": "2M", "page_bytes": "2M"}})
    assert json.loads(options.host.model_dump_json())["iommu_page_bytes"] == 2 << 20
    keys = {"pointers", "completion", "queue", "scratch", "scratch_serial", "blocks"}
    assert set(json.loads(options.device.model_dump_json())) == keys


def test_suites_for_real_devices_use_no_parameter_of_simulators_alone() -> None:
    assert {test["parameters"]["path"] for test in load_suite("nvme").tests} == {"dma"}
    stores = json.loads(load_message_suite("stores").to_json(simulated=False))["tests"]
    assert all(test["parameters"][key] is None for test in stores for key in ("eviction", "pressure", "lanes"))


def test_missing_device_leaves_no_store(tmp_path: Path) -> None:
    suite = load_message_suite("stores")
    with pytest.raises(InputError, match="no PCI function has this address"):
        pcielab.run(suite, "pio:ffff:ff:1f.7", tmp_path / "bar.db")
    with pytest.raises(InputError, match="give the device's address"):
        pcielab.run(suite, "pio", tmp_path / "bar.db")
    assert not (tmp_path / "bar.db").exists()
