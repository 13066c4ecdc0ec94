"""The topology of machines: positions, edges, names, and what is left out; NCCL topologies; readings joined."""

from pathlib import Path

import pytest

from made_machine import server, write
from pcielab._core import read_machine as read_machine_text
from pcielab.doctor import (
    Topology,
    Tree,
    examine,
    machine_of_text,
    merged,
    read_machine,
    read_sysfs,
    saved,
    topology,
)
from pcielab.doctor.examine import branches
from pcielab.errors import InputError

XML = """<system version="1"><cpu numaid="1"><pci busid="0000:16:00.0" class="0x060400" vendor="0x1000"
device="0xc030" link_speed="32.0 GT/s PCIe" link_width="16">
<pci busid="0000:18:00.0" class="0x030200" link_speed="16 GT/s" link_width="8"><gpu dev="3"/></pci>
<pci busid="0000:1A:00.0" class="0x020700" link_speed="32.0 GT/s PCIe"
link_width="16"><nic><net name="mlx5_0" dev="0" guid="0x1122334455667788"/></nic></pci></pci></cpu></system>"""


@pytest.fixture
def machine(tmp_path: Path) -> Tree:
    return read_sysfs(write(tmp_path / "machine", server()))


def above(found: Topology) -> dict[str, str | None]:
    return {position.name: position.upper for position in found.positions}


def nccl(text: str) -> Tree:
    return Tree.model_validate_json(read_machine_text(text, "topo.xml", "topology"))


def test_a_server_has_a_place_for_each_device_and_one_for_a_switch(machine: Tree) -> None:
    found = topology(machine)
    assert above(found) == {
        "socket0": None,
        "host0": "socket0",
        "stack 0000:00": "socket0",
        "root port 0000:00:01.0": "stack 0000:00",
        "root port 0000:00:02.0": "stack 0000:00",
        "root port 0000:00:04.0": "stack 0000:00",
        "nic0": "root port 0000:00:01.0",
        "gpu0": "root port 0000:00:02.0",
        "switch0": "root port 0000:00:04.0",
        "nvme0": "switch0",
        "nvme1": "switch0",
    }
    links = {position.name: position.end for position in found.positions if position.end}
    assert (links["switch0"].speed_gtps, links["switch0"].lanes) == (16.0, 8)
    assert set(links) == {"nic0", "gpu0", "switch0", "nvme0", "nvme1"}


def test_sockets_follow_from_processors_of_the_nodes(tmp_path: Path) -> None:
    functions = server()
    functions[4].files["numa_node"] = "1"
    sockets = {f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id": "0" for cpu in (0, 8)}
    one = read_sysfs(write(tmp_path / "one", functions, sockets))
    assert one.host.node_sockets == {0: 0, 1: 0}
    assert "sockets" not in above(topology(one))
    assert topology(one).assumed == ()


def test_ports_and_branches_have_the_edge_of_the_fabric(machine: Tree) -> None:
    edges = {branch.slot: branch.edge for branch in branches(machine)}
    assert edges["0000:06:00.0"] == "switch0->nvme0"
    assert edges["0000:01:00.1"] == "root port 0000:00:01.0->nic0"
    assert edges["0000:05:00.0"] is None


def test_a_finding_about_an_uplink_names_the_edge(tmp_path: Path) -> None:
    functions = server()
    for number in (6, 7):
        functions[number].__dict__.update(speeds=(8.0, 8.0), lanes=(2, 2))
    found = examine(read_sysfs(write(tmp_path, functions))).findings
    (shared,) = (finding for finding in found if finding.rule == "uplink-shared")
    assert {value.name: value.value for value in shared.values}["fabric edge"] == "root port 0000:00:04.0->switch0"


def test_the_tree_of_nccl_nests_and_keeps_names_but_no_identifiers() -> None:
    tree = nccl(XML)
    assert above(topology(tree)) == {
        "socket1": None,
        "host1": "socket1",
        "switch0": "socket1",
        "gpu3": "switch0",
        "mlx5_0": "switch0",
    }
    assert {branch.edge for branch in branches(tree)} == {"socket1->switch0", "switch0->gpu3", "switch0->mlx5_0"}
    assert "1122334455667788" not in saved(tree, "0").decode()
    assert read_back(tree).functions == tree.functions


def read_back(tree: Tree) -> Tree:
    return machine_of_text(saved(tree, "0").decode(), "machine.json")


def test_functions_of_a_saved_tree_cannot_be_above_each_other() -> None:
    text = saved(nccl(XML), "0").decode().replace('"label": "gpu3"', '"above_slot": "0000:1a:00.0"')
    tree = machine_of_text(text.replace('"above_slot": "0000:16:00.0",\n    "above', '"above'), "machine.json")
    assert sorted(one.depth for one in branches(tree)) == [0, 0, 1]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<system><cpu>", "line 1: not well-formed XML"),
        ('<!DOCTYPE x [<!ENTITY a "aaaa">]><system>&a;</system>', "document type"),
        ('<!DOCTYPE x SYSTEM "file:///etc/passwd"><system/>', "document type"),
        ("<system><cpu/></system>", "no element pci"),
        ("<graphs/>", "the outermost element is graphs"),
        ('<system><pci busid="x"/></system>', "busid is x"),
        ('<system><pci busid="0000:01:00.0"/><pci busid="0000:01:00.0"/></system>', "is there twice"),
        ("<system>" * 100 + "</system>" * 100, "levels"),
        ('<?xml version="1.0" encoding="nonsense"?><system/>', "topo.xml"),
    ],
)
def test_other_xml_is_refused_with_the_place(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        nccl(text)


def test_two_readings_are_one_machine(machine: Tree) -> None:
    gpu = XML.replace("0000:18:00.0", "0000:02:00.0").replace("0000:1A:00.0", "0000:01:00.0")
    for both in merged(machine, nccl(gpu)), merged(nccl(gpu), machine):
        found = above(topology(both))
        assert found["gpu3"] == "root port 0000:00:02.0"
        assert found["mlx5_0"] == "root port 0000:00:01.0"
        assert "0000:02:00.0: 32 GT/s x16 in " in both.unseen[0]
        assert "0000:16:00.0: only in topo.xml, not used" in both.unseen[1]


def test_readings_of_two_machines_are_refused(machine: Tree) -> None:
    with pytest.raises(InputError, match="no function in common"):
        merged(machine, nccl(XML))


def test_a_file_is_read_by_its_content(tmp_path: Path, machine: Tree) -> None:
    (tmp_path / "topo").write_text("\ufeff\n" + XML)
    (tmp_path / "machine").joinpath("x").write_bytes(saved(machine, "0"))
    assert read_machine(tmp_path / "topo").is_nested
    assert read_machine(tmp_path / "machine/x").functions == machine.functions
    assert len(read_machine(tmp_path / "machine").functions) == len(machine.functions)
    with pytest.raises(InputError, match="no PCI function"):
        machine_of_text("hello", "notes.txt")


def test_switches_without_devices_are_noted_and_the_ports_above_them_are_not(tmp_path: Path) -> None:
    bare = [one for one in server() if one.driver != "nvme"]
    found = topology(read_sysfs(write(tmp_path / "machine", bare)))
    assert not [position for position in found.positions if position.part == "switch"]
    assert found.left_out == ("1 x nothing is shown below the switch",)
    bridge = 'class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16"'
    below = f'<pci busid="0000:18:00.0" {bridge}/>'
    device = '<pci busid="0000:20:00.0" class="0x020000" link_speed="16 GT/s" link_width="8"/>'
    text = f'<system><cpu numaid="0"><pci busid="0000:16:00.0" {bridge}>{below}</pci>{device}</cpu></system>'
    assert topology(nccl(text)).left_out == ("2 x nothing is shown below the switch",)
