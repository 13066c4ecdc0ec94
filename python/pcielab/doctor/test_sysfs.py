"""Trees from sysfs: as root, as another user, and from incomplete copies."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from made_machine import Made, server, write
from pcielab.doctor import Function, Tree, examine, read_file, read_sysfs, saved
from pcielab.doctor.examine import branches
from pcielab.doctor.test_rules import BROKEN, NIC, Broken
from pcielab.errors import InputError


def seen(tree: Tree) -> set[tuple[str, str | None]]:
    return {(one.rule, one.device) for one in examine(tree).findings}


def config(root: Path, slot: str) -> Path:
    return root / "sys/devices/pci0000:00" / slot / "config"


def nic_of(root: Path) -> Function:
    return next(one for one in read_sysfs(root).functions if one.slot == NIC)


LINKS = {"max_link_speed": "32.0 GT/s PCIe", "max_link_width": "16"}
SLOW = LINKS | {"current_link_speed": "16.0 GT/s PCIe", "current_link_width": "8"}
FULL = LINKS | {"current_link_speed": "32.0 GT/s PCIe", "current_link_width": "16"}


def for_others(root: Path, files: dict[str, dict[str, str]]) -> Path:
    """The machine as users other than root see it: 64 bytes of configuration space, and the kernel's files."""
    machine = write(root, [replace(one, files=files.get(one.slot, {})) for one in server()])
    for one in server():
        path = config(machine, one.slot)
        path.write_bytes(path.read_bytes()[:64])
    return machine


def test_without_root_links_are_judged_by_what_the_kernel_shows(tmp_path: Path) -> None:
    tree = read_sysfs(for_others(tmp_path / "m", {"0000:00:01.0": SLOW, NIC: SLOW, "0000:01:00.1": SLOW}))
    assert seen(tree) == {("below-both-ends", NIC)}
    [loss, _] = examine(tree).findings[0].losses
    assert loss.assumed == "not read, assumed: MPS 256 B, MRRS 512 B"
    [note] = tree.unseen
    assert "the capabilities of 12 of 12 functions" in note
    assert "run it as root" in note


def test_without_root_a_good_link_gives_no_finding(tmp_path: Path) -> None:
    assert seen(read_sysfs(for_others(tmp_path / "m", {"0000:00:01.0": FULL, NIC: FULL}))) == set()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_registers_of_an_unreadable_file_are_unknown(tmp_path: Path) -> None:
    root = write(tmp_path / "m", server())
    config(root, NIC).chmod(0)
    assert nic_of(root).control is None


@pytest.mark.parametrize("broken", BROKEN[::5], ids=lambda broken: broken.name)
def test_a_saved_tree_gives_the_same_findings_elsewhere(broken: Broken, tmp_path: Path) -> None:
    tree = read_sysfs(write(tmp_path / "machine", broken.functions(), broken.files))
    path = tmp_path / "machine.json"
    path.write_bytes(saved(tree, "0"))
    elsewhere = read_file(path)
    assert examine(elsewhere).findings == examine(tree).findings
    assert elsewhere.source == str(path)


def test_a_saved_tree_identifies_no_device_and_no_owner(tmp_path: Path) -> None:
    root = write(tmp_path / "m", server(), {"proc/cmdline": "iommu=pt root=UUID=secret ip=10.0.0.7 host=owner"})
    kept = saved(read_sysfs(root), "0").decode()
    assert "iommu" in kept
    # 11-22-33-44-55-66-77-88 is the serial number in each configuration space.
    for private in ("secret", "10.0.0.7", "owner", "8877", "1122"):
        assert private not in kept


@pytest.mark.parametrize("content", [b"", b"{}", b'{"format": "pcielab-tree-2"}', b"[1, 2]"])
def test_refuses_a_file_that_is_not_a_saved_tree(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"machine\.json: not a saved tree .*pcielab doctor --save"):
        read_file(path)


def test_a_device_in_d3cold_is_not_woken(tmp_path: Path) -> None:
    """Reading its configuration space would wake it, so only the kernel's files are read."""
    functions = [replace(one, files={"power_state": "D3cold"}) if one.slot == NIC else one for one in server()]
    tree = read_sysfs(write(tmp_path / "m", functions))
    assert next(one for one in tree.functions if one.slot == NIC).control is None
    assert any(f"{NIC}: asleep in D3cold, and not woken" in note for note in tree.unseen)
    assert ("asleep", NIC) in seen(tree)


def test_refuses_a_folder_without_a_tree(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no bus/pci/devices.*--save FILE.*sudo lspci -vvv"):
        read_sysfs(tmp_path)
    with pytest.raises(InputError, match="not a folder"):
        read_sysfs(tmp_path / "missing")


def test_a_copy_of_sys_itself_is_read_too(tmp_path: Path) -> None:
    assert len(read_sysfs(write(tmp_path / "m", server()) / "sys").functions) == 12


def test_a_link_that_leads_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    elsewhere = write(tmp_path / "elsewhere", server())
    root = write(tmp_path / "m", [one for one in server() if one.slot != NIC])
    (root / "sys/bus/pci/devices" / NIC).symlink_to(elsewhere / "sys/devices/pci0000:00" / NIC)
    tree = read_sysfs(root)
    assert NIC not in {one.slot for one in tree.functions}
    assert any(NIC in note and "leads out of the folder" in note for note in tree.unseen)


def test_a_file_that_leads_out_of_the_folder_is_not_read(tmp_path: Path) -> None:
    root = write(tmp_path / "m", server())
    other = tmp_path / "other"
    other.write_text("5\n")
    node = root / "sys/devices/pci0000:00" / NIC / "numa_node"
    node.unlink()
    node.symlink_to(other)
    assert nic_of(root).numa_node is None


def test_refuses_a_tree_of_links_that_lead_nowhere(tmp_path: Path) -> None:
    devices = tmp_path / "sys/bus/pci/devices"
    devices.mkdir(parents=True)
    (devices / "0000:00:00.0").symlink_to("../../../devices/pci0000:00/0000:00:00.0")
    with pytest.raises(InputError, match="cp -a"):
        read_sysfs(tmp_path)


def test_a_function_that_does_not_answer_has_no_registers(tmp_path: Path) -> None:
    root = write(tmp_path / "m", server())
    config(root, NIC).write_bytes(b"\xff" * 4096)
    assert nic_of(root).control is None


def test_a_capability_list_that_loops_ends(tmp_path: Path) -> None:
    root = write(tmp_path / "m", server())
    space = bytearray(config(root, NIC).read_bytes())
    space[0x41] = 0x40
    space[0x102:0x104] = b"\x01\x10"
    config(root, NIC).write_bytes(bytes(space))
    assert nic_of(root).control is None


def test_a_virtual_function_on_a_bus_of_its_own_is_below_its_port(tmp_path: Path) -> None:
    port = Made("0000:00:01.0", "root-port", (0x8086, 0x352A), 0x0604, buses=(1, 2))
    root = write(tmp_path / "m", [port, Made(NIC), Made("0000:02:01.0")])
    (root / "sys/devices/pci0000:00/0000:02:01.0/physfn").symlink_to(f"../{NIC}")
    tree = read_sysfs(root)
    assert [one.is_virtual_function for one in tree.functions] == [False, False, True]
    assert [one.slot for one in branches(tree) if one.depth == 0] == ["0000:00:01.0"]
    assert examine(tree).links == 1


def test_a_switch_below_itself_does_not_loop(tmp_path: Path) -> None:
    loops = [replace(one, buses=(4, 7)) if one.slot == "0000:04:00.0" else one for one in server()]
    tree = read_sysfs(write(tmp_path / "m", loops))
    assert len(branches(tree)) <= len(tree.functions)


def test_this_machine_can_be_read() -> None:
    if not Path("/sys/bus/pci/devices").is_dir() or not any(Path("/sys/bus/pci/devices").iterdir()):
        pytest.skip("there is no PCI function on this machine")
    assert read_sysfs().functions


def test_numbers_of_a_list_that_do_not_ascend_are_ignored(tmp_path: Path) -> None:
    root = write(tmp_path / "machine", server())
    (root / "sys/devices/system/node/has_cpu").write_text("0-2,2,1,5-6,x,6-9,8\n")
    assert read_sysfs(root).host.nodes == (0, 1, 2, 5, 6, 8)
