"""`pcielab fabric from`: machines as fabric files, with what was read, assumed, borrowed and left out."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from fabric_machines import MACHINES, NCCL
from made_machine import server, write
from pcielab._core import INSIDE_GBYTES_PER_S
from pcielab.doctor import machine_of_text
from pcielab.errors import InputError
from pcielab.expectations.memory import memory_of_tree
from pcielab.expectations.reading import machine_of_fabric
from pcielab.fabric import fabric_of, load, shares, written_flows
from pcielab.library.fabrics.load import of_text
from pcielab.library.published_figures import published_figures
from shell import refuse, succeed

LINKS = {"p5": 56, "epyc-5090": 7, "dgx": 28, "dual-socket": 5, "cloudlab-epyc": 2, "laptop": 3}


def content(name: str) -> dict[str, Any]:
    return tomllib.loads(fabric_of(machine_of_text(MACHINES[name](), "lspci.txt"), name).text)


def links(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {link["lower"]: link for link in found["link"] if "link" in link}


def parts(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {node["name"]: node["machine"] for node in found["node"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, made in MACHINES.items():
        (tmp_path / f"{name}.txt").write_text(made())
    (tmp_path / "topo.xml").write_text(NCCL)
    return tmp_path


@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_becomes_a_file_that_loads(name: str, folder: Path) -> None:
    done = succeed("fabric", "from", folder / f"{name}.txt", "-o", folder / "mine.toml")
    assert f"{LINKS[name]} PCIe links" in done.stderr
    found = load(str(folder / "mine.toml"))
    assert sum(link["link"] is not None for link in found.handle.get("link")) == LINKS[name]
    assert found.name == "mine"


def test_a_link_has_what_it_trained_to_and_both_ends() -> None:
    found = content("dual-socket")
    assert links(found)["nvme0"]["link"] == "gen4x4"
    assert links(found)["gpu0"] == {
        "upper": "root port 0000:97:05.0",
        "lower": "gpu0",
        "link": "gen5x16",
        "down_gbytes_per_s": 58.295,
        "up_gbytes_per_s": 57.464,
    }
    assert parts(found)["gpu0"] == {
        "part": "device",
        "kind": "gpu",
        "slot": "0000:9a:00.0",
        "numa_node": 1,
        "mps_bytes": 256,
        "mrrs_bytes": 512,
        "relaxed_ordering": True,
        "ats": False,
        "port": "0000:97:05.0",
    }


def test_a_device_at_rest_is_not_given_its_nominal_speed() -> None:
    written = fabric_of(machine_of_text(MACHINES["laptop"](), "lspci.txt"), "laptop")
    assert links(tomllib.loads(written.text))["gpu0"]["link"] == "gen1x8"
    assert "trained to 2.5 GT/s x8, MPS 256 B, of 16 GT/s x8 that both ends support" in written.text
    assert "assumed: no source shows NUMA nodes: one socket" in written.notes


def test_empty_slots_and_links_inside_chips_are_left_out() -> None:
    assert "root port 0000:97:07.0" not in parts(content("dual-socket"))
    written = fabric_of(machine_of_text(MACHINES["cloudlab-epyc"](), "lspci.txt"), "cloudlab-epyc")
    assert "left out: 1 x link inside a chip" in written.notes


def memory_links(name: str) -> tuple[dict[str, Any], str]:
    tree = machine_of_text(MACHINES[name](), "lspci.txt")
    text = fabric_of(tree, name, memory_of_tree(tree)).text
    return next(link for link in tomllib.loads(text)["link"] if link["lower"] == "host0"), text


def test_what_no_register_shows_is_borrowed_from_the_family_and_names_its_row() -> None:
    link, text = memory_links("dgx")
    assert link["down_gbytes_per_s"] == pytest.approx(4 * published_figures()["M341"].value, abs=0.05)
    assert "# borrowed, memory for writes of devices, of intel-tiles, 126.5 to 183.6 GB/s (M341)" in text
    assert link["up_gbytes_per_s"] == INSIDE_GBYTES_PER_S
    assert "# unknown: nobody published what memory carries for reads of devices on such processors" in text


def test_memory_that_held_no_figure_down_limits_nothing() -> None:
    link, text = memory_links("epyc-5090")
    assert link["down_gbytes_per_s"] == link["up_gbytes_per_s"] == INSIDE_GBYTES_PER_S
    assert "memory for writes of devices, measured on genoa, at least 112.8 GB/s (B04-5)" in text


def test_links_beside_pcie_are_edges_of_their_own() -> None:
    text = MACHINES["dgx"]().replace("[10de:2330]", "[1002:74a1]")
    written = fabric_of(machine_of_text(text, "lspci.txt"), "mi300x").text
    [peers] = tomllib.loads(written)["peers"]
    assert peers["kind"] == "infinity-fabric"
    assert "gpu0" in peers["devices"]
    mi300x = of_text(written, Path("mi300x.toml"))
    [known] = machine_of_fabric(mi300x).peers
    assert known.devices == tuple(peers["devices"])
    with pytest.raises(InputError, match="nobody knows its rate"):
        shares(mi300x, written_flows(mi300x, ["gpu0->gpu1"]))


def test_redirecting_ports_are_noted() -> None:
    found = parts(content("dgx"))
    assert [found[f"gpu{number}"].get("redirects") for number in (0, 6)] == [None, True]


def test_an_uplink_of_gen4_x8_carries_the_published_rate(folder: Path) -> None:
    found = content("p5")
    assert links(found)["switch0"]["up_gbytes_per_s"] == pytest.approx(14.2, rel=0.05)
    assert links(found)["switch0"]["down_gbytes_per_s"] == pytest.approx(14.2, rel=0.05)


def test_a_second_source_names_the_devices(folder: Path) -> None:
    done = succeed("fabric", "from", folder / "dgx.txt", folder / "topo.xml")
    found = tomllib.loads(done.stdout)
    assert parts(found)["mlx5_0"]["slot"] == "0000:1a:00.0"
    assert parts(found)["gpu0"]["slot"] == "0000:19:00.0", "NCCL numbers it first"
    assert "0000:76:00.0: 32 GT/s x16 in" in done.stderr


def test_a_topology_alone_has_switches_and_no_root_ports(folder: Path) -> None:
    done = succeed("fabric", "from", folder / "topo.xml")
    assert {link["upper"] for link in links(tomllib.loads(done.stdout)).values()} == {
        "socket0",
        "socket1",
        "switch0",
    }
    assert "the source shows no root ports" in done.stderr
    assert "MPS 256 B (not read: assumed)" in done.stdout


def test_every_source_of_a_machine_gives_the_same_links(tmp_path: Path) -> None:
    sysfs = write(tmp_path / "machine", server())
    succeed("doctor", "--sysfs", sysfs, "--save", tmp_path / "machine.json")
    found = [tomllib.loads(succeed("fabric", "from", one).stdout) for one in (sysfs, tmp_path / "machine.json")]
    assert found[0]["link"] == found[1]["link"]
    assert set(links(found[0])) == {"nic0", "gpu0", "switch0", "nvme0", "nvme1"}


def test_a_virtual_machine_is_refused_with_a_remedy(tmp_path: Path) -> None:
    blocks = MACHINES["dual-socket"]().split("\n\n")
    (tmp_path / "guest.txt").write_text("\n\n".join(block for block in blocks if "PCI bridge" not in block))
    problem = refuse("fabric", "from", tmp_path / "guest.txt")
    assert "shows no link with both ends" in problem
    assert "not inside a virtual machine" in problem


def test_names_from_foreign_texts_do_not_leave_their_strings() -> None:
    text = MACHINES["laptop"]().replace("Samsung Electronics", 'x"\\n[[node]]\x1b[2J\x7f"')
    written = fabric_of(machine_of_text(text, 'lspci"\n.txt'), 'a "quoted"\nname').text
    assert "\x1b" not in written
    assert links(tomllib.loads(written)) == links(content("laptop"))


def test_two_machines_and_existing_files_are_refused(folder: Path) -> None:
    assert "no function in common" in refuse("fabric", "from", folder / "p5.txt", folder / "topo.xml")
    (folder / "mine.toml").write_text("")
    assert "mine.toml" in refuse("fabric", "from", folder / "p5.txt", "-o", folder / "mine.toml")
