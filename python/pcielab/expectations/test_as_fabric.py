"""Machines as fabrics: the edges and bounds of `expect`, links beside PCIe, and what simulators refuse."""

from collections.abc import Hashable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from pcielab.errors import InputError
from pcielab.expectations.answers import answer
from pcielab.expectations.as_fabric import fabric_of_machine, hosts_of, labelled, machine_named
from pcielab.expectations.described import machine_of
from pcielab.expectations.machine import Machine
from pcielab.expectations.questions import read_question
from pcielab.expectations.tables import box, box_names, shipped_ranges
from pcielab.fabric import shares, simulate
from pcielab.library.fabrics.flows import frame_of
from pcielab.library.fabrics.parts import Flow

FILE = Path("machine.toml")


def questions(machine: Machine) -> list[tuple[str, tuple[str, str]]]:
    """One question of each kind and class of a machine's devices, each with its flow."""
    found: dict[object, tuple[str, tuple[str, str]]] = {}
    several = len(hosts_of(machine)) > 1
    for part in machine.devices():
        home = machine.top(part.name).socket
        for kind, memory in (("h2d", home), ("d2h", home)):
            host = f"host{memory or 0}" if several else "host"
            ends = (host, part.name) if kind == "h2d" else (part.name, host)
            condition = f" memory={memory or 0}" if several else ""
            found.setdefault((kind, part.kind, part.link), (f"{kind} {part.name}{condition}", ends))
    for one, other in permutations(machine.devices(), 2):
        way = machine.way(one.name, other.name)
        key = (one.kind, other.kind, one.link, other.link, way.scope, way.is_redirected)
        found.setdefault(
            key,
            (
                f"p2p-{'read' if other.kind in ('nic', 'nvme', 'storage') else 'write'} {one.name}>{other.name}",
                (one.name, other.name),
            ),
        )
    return list(found.values())


def _knows_links(machine: Machine, source: str, destination: str) -> bool:
    """Whether every link between two ends is known, or they have links of their own."""
    ends = [end for end in (source, destination) if end in machine.parts]
    if len(ends) == 2 and machine.peers_of(*ends) is not None:
        return True
    return all(part.link is not None for end in ends for part in machine.chain(end))


def estimated(machine: Machine, *ends: tuple[str, str]) -> list[dict[Hashable, Any]]:
    flows = frame_of([Flow(source=source, destination=destination) for source, destination in ends], "flows")
    found = fabric_of_machine(machine, FILE, flows)
    return labelled(shares(found.fabric, found.flows), found).flows.to_dict("records")


@pytest.mark.parametrize("name", box_names())
def test_a_flow_has_the_same_edge_and_bound_in_expect_and_in_fabrics(name: str) -> None:
    machine = box(name)
    for text, ends in questions(machine):
        question = read_question(text, machine)
        if not _knows_links(machine, *ends):
            with pytest.raises(InputError, match="is unknown"):
                answer(machine, question, shipped_ranges())
            with pytest.raises(InputError, match="is unknown"):
                estimated(machine, ends)
            continue
        given = answer(machine, question, shipped_ranges())
        [row] = estimated(machine, ends)
        assert row["limit"] == given.limit, text
        assert row["bound_gbytes_per_s"] == pytest.approx(given.bound), text
        assert given.lower is None or given.lower <= row["gbytes_per_s"] * (1 + 1e-9), text
        assert given.upper is None or row["gbytes_per_s"] <= given.upper * (1 + 1e-9), text


def test_flows_both_ways_share_what_their_devices_do_at_once() -> None:
    machine = box("rome2s-8x4090")
    alone, *_ = estimated(machine, ("gpu0", "gpu1"))
    ways = estimated(machine, ("gpu0", "gpu1"), ("gpu1", "gpu0"))
    given = answer(machine, read_question("p2p-both gpu0>gpu1", machine), shipped_ranges())
    total = sum(row["gbytes_per_s"] for row in ways)
    assert total < 2 * alone["gbytes_per_s"]
    assert given.lower is not None
    assert given.upper is not None
    assert given.lower <= total <= given.upper


def test_links_beside_pcie_are_estimated_and_no_simulator_moves_data_over_them() -> None:
    machine = box("mi350x-8x")
    flows = frame_of([Flow(source="gpu0", destination="gpu1")], "flows")
    found = fabric_of_machine(machine, FILE, flows)
    [row] = labelled(shares(found.fabric, found.flows), found).flows.to_dict("records")
    assert row["limit"] == "infinity-fabric of gpu0>gpu1"
    with pytest.raises(InputError, match="no PCIe link: no simulator has such links"):
        simulate(found.fabric, found.flows)


def test_links_beside_pcie_without_a_rate_are_refused() -> None:
    peers = [{"kind": "nvlink", "devices": "gpu0..1"}]
    devices = [{"name": "gpu0..2", "kind": "gpu", "link": "gen5x16"}]
    machine = machine_of({"kind": "machine", "sockets": 1, "device": devices, "peers": peers})
    assert estimated(machine, ("gpu0", "gpu2"))
    with pytest.raises(InputError, match="nobody knows its rate"):
        estimated(machine, ("gpu0", "gpu1"))


def test_wrong_ends_are_refused() -> None:
    machine = box("rome2s-8x4090")
    for ends, words in [
        (("gpu0", "gpu9"), "no device of rome2s-8x4090"),
        (("host0", "host1"), "give a device and another end"),
    ]:
        with pytest.raises(InputError, match=words):
            estimated(machine, ends)


def test_machines_are_known_by_their_kind() -> None:
    assert machine_named("rome2s-8x4090") is not None
    assert machine_named("fabrex-u55c") is None
