"""`pcielab fabric paths`: edges, bounds, latency, and what slows peer-to-peer, with borrowed values named."""

import json
from pathlib import Path as File

import pytest

from fabric_machines import MACHINES
from made_machine import server, write
from pcielab import fabric
from pcielab.doctor import machine_of_text, read_sysfs
from pcielab.errors import InputError
from pcielab.fabric import Fabric, fabric_of, path
from pcielab.library.fabrics.load import of_text
from pcielab.library.published_figures import published_figures
from shell import refuse, succeed

_ROWS = published_figures()


def machine(name: str, *changes: tuple[str, str]) -> Fabric:
    text = MACHINES[name]()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return of_text(fabric_of(machine_of_text(text, "lspci.txt"), name).text, File(f"{name}.toml"))


def test_below_one_switch_links_bound_and_the_rows_are_a_least_value() -> None:
    found = path(machine("dgx"), "gpu0", "nic1")
    assert found.nodes == ("gpu0", "switch0", "nic1")
    assert found.kind == "same-switch"
    assert (found.posted.bound, found.non_posted.bound) == ("gpu0->switch0", "gpu0->switch0")
    assert found.posted.gbytes_per_s == 57.464
    assert any(
        note.startswith("posted: at least 44.9 GB/s for one flow, borrowed from M059:") for note in found.notes
    )


def test_reads_across_stacks_and_sockets_are_bound_by_borrowed_values() -> None:
    found = machine("dgx")
    other_stack, other_socket = path(found, "gpu0", "nic2"), path(found, "gpu0", "nic7")
    assert (other_stack.kind, other_socket.kind) == ("other-stack", "other-socket")
    assert other_stack.non_posted.gbytes_per_s == pytest.approx(_ROWS["M062"].value / 8)
    assert "M062" in other_stack.non_posted.bound
    assert other_stack.posted.bound == "gpu0->switch0", "writes keep the rate of the link"
    ratio = _ROWS["M061"].value / _ROWS["M060"].value
    assert other_socket.non_posted.gbytes_per_s == pytest.approx(_ROWS["M062"].value / 8 * ratio)
    ratio = _ROWS["M113"].value / _ROWS["M112"].value
    assert other_socket.posted.gbytes_per_s == pytest.approx(57.464 * ratio)
    assert other_socket.latency_ns > path(found, "gpu0", "nic0").latency_ns + 500


def test_small_read_requests_have_rows_of_their_own() -> None:
    found = machine(
        "dgx", ("MaxPayload 256 bytes, MaxReadReq 4096 bytes", "MaxPayload 256 bytes, MaxReadReq 128 bytes")
    )
    assert path(found, "gpu0", "nic2").non_posted.gbytes_per_s == pytest.approx(_ROWS["M060"].value / 8)
    assert path(found, "gpu0", "nic7").non_posted.gbytes_per_s == pytest.approx(_ROWS["M061"].value / 8)
    assert any("MRRS of nic2 is 128 B" in note for note in path(found, "gpu0", "nic2").notes)


def test_devices_of_one_stack_have_no_stack_between_them() -> None:
    found = path(machine("epyc-5090"), "gpu0", "nic0")
    assert found.kind == "same-stack"
    assert found.nodes[2] == "stack 0000:00"


def test_redirected_requests_pass_the_uplink_twice() -> None:
    found = path(machine("dgx"), "gpu6", "nic6")
    assert found.nodes == ("gpu6", "switch3", "root port 0000:a5:01.0", "switch3", "nic6")
    assert any(note.startswith("ACS redirects") for note in found.notes)
    assert found.latency_ns > path(machine("dgx"), "gpu0", "nic0").latency_ns


def test_a_mismatch_of_payload_sizes_is_noted() -> None:
    text = MACHINES["dgx"]()
    first = text.index("MaxPayload 256 bytes, MaxReadReq")
    changed = text[:first] + "MaxPayload 512" + text[first + len("MaxPayload 256") :]
    content = fabric_of(machine_of_text(changed, "lspci.txt"), "dgx").text
    found = path(of_text(content, File("dgx.toml")), "gpu0", "nic0")
    assert any(
        "MPS mismatch: gpu0 sends payloads of up to 512 B, nic0 takes 256 B" in note for note in found.notes
    )


def test_translation_and_ordering_are_noted(tmp_path: File) -> None:
    functions = server()
    functions[4].__dict__.update(relaxed_ordering=False)
    tree = read_sysfs(write(tmp_path, functions))
    content = fabric_of(tree, "mine").text
    notes = path(of_text(content, File("mine.toml")), "gpu0", "nic0").notes
    assert any("the IOMMU translates addresses of gpu0 (DMA-FQ)" in note for note in notes)
    assert any("relaxed ordering is off at gpu0" in note for note in notes)


def test_a_path_to_memory_has_the_edges_alone() -> None:
    found = path(machine("p5"), "gpu0", "host0")
    assert found.kind is None
    assert found.posted.gbytes_per_s == pytest.approx(14.2, rel=0.05)
    assert found.posted.bound == "switch0->root port 0000:01:01.0"
    assert any("crosses sockets" in note for note in path(machine("p5"), "gpu0", "host1").notes)


def test_a_fabric_without_a_machine_says_what_it_lacks() -> None:
    found = path(fabric.load("fabrex-u55c"), "A", "C")
    assert found.kind == "same-switch"
    assert found.posted.bound in set(found.edges["edge"])
    assert "give a file of pcielab fabric from" in found.notes[0]


def test_unknown_and_equal_ends_are_refused() -> None:
    with pytest.raises(InputError, match="did you mean gpu0"):
        path(machine("laptop"), "gpu00", "nic0")
    with pytest.raises(InputError, match="give two nodes"):
        path(machine("laptop"), "gpu0", "gpu0")


def test_the_command_prints_edges_bounds_and_notes(tmp_path: File) -> None:
    (tmp_path / "lspci.txt").write_text(MACHINES["dgx"]())
    succeed("fabric", "from", tmp_path / "lspci.txt", "-o", tmp_path / "dgx.toml")
    shown = succeed("fabric", "paths", tmp_path / "dgx.toml", "gpu0", "nic2").stdout
    assert "reads by nic2: 34.0 GB/s, bound by peer-to-peer reads, borrowed (M062)" in shown
    found = json.loads(
        succeed("fabric", "paths", tmp_path / "dgx.toml", "gpu0", "nic2", "--format", "json").stdout
    )
    assert found["non_posted"]["gbytes_per_s"] == pytest.approx(34.0)
    assert len(found["edges"]) == 8
    csv = succeed("fabric", "paths", tmp_path / "dgx.toml", "gpu0", "nic2", "--format", "csv").stdout
    assert csv.splitlines()[0] == "edge,capacity_gbytes_per_s,back_gbytes_per_s"
    assert "gpu9" in refuse("fabric", "paths", tmp_path / "dgx.toml", "gpu0", "gpu9")
