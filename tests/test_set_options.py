"""`--set` changes systems, NICs, engines, messages and fabrics, wherever a command asks about one."""

import csv
import io
import json
from pathlib import Path

import pytest
import typer

from pcielab import InputError, fabric, open_store
from pcielab.cli.completion import set_option
from shell import refuse, succeed

FABRIC = ("fabrex-u55c", "--flows", "latency")
SHORT = ("--duration-us", "20", "--warm-up-us", "20")


def rows_of(*arguments: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(succeed(*arguments, "--format", "csv").stdout)))


@pytest.mark.parametrize(
    ("command", "change", "other"),
    [
        (("model", "nic", "niantic-dpdk", "--sizes", "64"), "nic.step.1.batch=1", "link.lanes=4"),
        (("explain", "--nic", "niantic-dpdk", "--sizes", "64"), "nic.step.1.batch=1", "step.1.batch=1"),
        (
            ("model", "sizing", "--nic", "niantic-dpdk", "--latency-ns", "900", "--sizes", "64"),
            "nic.step.1.batch=1",
            "link.lanes=4",
        ),
        (("model", "engine", "nvme-gen4", "--sizes", "4K"), "engine.queue.depth=1", "queue.depth=1"),
        (("model", "pio", "--messages", "64"), "messages.stores.first_interval_ns=900", "core.fence_ns=400"),
        (("fabric", "estimate", *FABRIC), "fabric.link.S.up_gbytes_per_s=1", "link.S.lanes=4"),
        (("fabric", "explain", *FABRIC), "fabric.link.S.up_gbytes_per_s=1", "link.S.lanes=4"),
        (("fabric", "paths", "fabrex-u55c", "A", "host1"), "fabric.link.S.up_gbytes_per_s=1", "link.S.lanes=4"),
        (("fabric", "simulate", *FABRIC, *SHORT), "fabric.devices.u55c.engine.execution_ns=900", "link.S.lanes=4"),
        (("why", *FABRIC), "fabric.link.S.up_gbytes_per_s=1", "link.S.lanes=4"),
    ],
)
def test_a_change_has_an_effect_and_one_of_something_else_is_refused(
    command: tuple[str, ...], change: str, other: str
) -> None:
    assert rows_of(*command) != rows_of(*command, "--set", change)
    kind = change.partition(".")[0]
    refused = refuse(*command, "--set", other)
    assert f"--set {other.partition('=')[0]}: unknown key: only " in refused
    assert f"give {kind}.KEY=VALUE" in refused


def test_a_change_of_a_nic_needs_a_nic() -> None:
    assert "--set nic.step.1.batch: changes a NIC: give --nic NAME as well" in refuse(
        "explain", "--gen", "3", "--lanes", "8", "--set", "nic.step.1.batch=1"
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            "fabric.devices.u55c.engine.tag=1",
            "--set fabric.devices.u55c.engine.tag: unknown key: did you mean tags?",
        ),
        (
            "fabric.node.SS.delay_ns=1",
            "--set fabric.node.SS.delay_ns: unknown key: node has no 'SS': did you mean S",
        ),
        ("fabric.node.S.delay_ns=-1", "--set: node.S.delay_ns is -1: give 0 to"),
        ("fabric.mps_bytes=100", "--set: mps_bytes is 100: give 128, 256"),
    ],
)
def test_a_wrong_change_of_a_fabric_is_blamed_on_the_option(change: str, words: str) -> None:
    assert words in refuse("fabric", "estimate", *FABRIC, "--set", change)


def test_a_run_of_flows_records_the_changes_of_its_fabric(tmp_path: Path) -> None:
    output = tmp_path / "run.db"
    change = ("--set", "fabric.devices.u55c.engine.tags=64")
    succeed("fabric", "run", *FABRIC, *SHORT, *change, "-o", str(output))
    store = open_store(output)
    assert store.manifest["overrides"] == {"fabric.devices.u55c.engine.tags": 64}
    assert "with fabric.devices.u55c.engine.tags=64" in store.title
    nodes = store.manifest["system"]["fabric"]["nodes"]
    assert {node["device"]["engine"]["tags"] for node in nodes if node["device"]} == {64}


def test_a_fabric_is_changed_more_than_once() -> None:
    changed = fabric.load("fabrex-u55c").with_({"node.S.delay_ns": 1}).with_({"devices.u55c.engine.tags": 8})
    assert changed.overrides == {"fabric.node.S.delay_ns": 1, "fabric.devices.u55c.engine.tags": 8}
    described = json.loads(changed.to_json())["nodes"]
    assert next(node for node in described if node["name"] == "S")["delay_ns"] == 1
    assert fabric.load("fabrex-u55c", ["node.S.delay_ns=1"]).overrides == {"fabric.node.S.delay_ns": 1}
    with pytest.raises(InputError) as refused:
        changed.with_({"node.S.delay": 1})
    assert refused.value.kind == "unknown-key"


@pytest.mark.parametrize(
    ("parameters", "incomplete", "expected"),
    [
        ({"nic": "niantic-dpdk"}, "nic.step.1.b", "nic.step.1.batch="),
        ({"nics": ["niantic-dpdk", "simple-nic"]}, "nic.queues.p", "nic.queues.pairs="),
        ({"engines": ["nvme-gen4"]}, "engine.queue", "engine.queue.depth="),
        ({"profile": "kpio-2012"}, "messages.core", "messages.core.fence_ns="),
        ({"file": "fabrex-u55c"}, "fabric.node.S.", "fabric.node.S.delay_ns="),
        ({"asked": "fabrex-u55c"}, "fabric.devices.u55c.engine.t", "fabric.devices.u55c.engine.tags="),
        ({}, "host.iommu.w", "host.iommu.walk_ns="),
        ({"nic": "no-such-nic"}, "nic.", None),
        ({}, "nic.", None),
    ],
)
def test_keys_of_what_is_asked_about_are_completed(
    parameters: dict[str, object], incomplete: str, expected: str | None
) -> None:
    option = set_option("Change one value", "nic", "engine", "messages", "fabric", system=True)
    context = typer.Context(typer.main.get_command(typer.Typer(callback=lambda: None)))
    context.params = parameters
    found = dict(option.autocompletion(context, incomplete))
    assert all(key.startswith(incomplete) for key in found)
    if expected is None:
        assert not found
    else:
        assert found[expected], "each key has a meaning"
