"""Fabrics as newcomers write them: presets instead of tables, short links, and wrong files with a remedy each."""

import csv
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pcielab import fabric, open_store
from pcielab._core import INSIDE_GBYTES_PER_S
from pcielab.charts.frame import claims_of
from pcielab.errors import InputError
from pcielab.kinds.flows.tree import simulated_loads
from pcielab.library import shipped
from pcielab.report import figures
from shell import refuse, succeed

SERVER = """
[[node]]
name = "host"
kind = "host"

[[node]]
name = "root port"
kind = "root-port"

[[node]]
name = "switch"
kind = "switch"

[[node]]
name = "gpu0"
kind = "device"
device = "gpu"

[[node]]
name = "gpu1"
kind = "device"
device = "gpu"

[[node]]
name = "nic"
kind = "device"
device = "nic-100g"

[[node]]
name = "drive"
kind = "device"
device = "nvme-gen4"

[[link]]
upper = "host"
lower = "root port"

[[link]]
upper = "root port"
lower = "switch"
link = "gen4x16"

[[link]]
upper = "switch"
lower = "gpu0"
link = "gen4x16"

[[link]]
upper = "switch"
lower = "gpu1"
generation = 4
lanes = 16

[[link]]
upper = "switch"
lower = "nic"
link = "gen4x8"

[[link]]
upper = "switch"
lower = "drive"
link = "gen4x4"

[[flow]]
name = "weights"
source = "host"
destination = "gpu0"
primitive = "h2d"
size_bytes = "1M"
outstanding = 4

[[flow]]
name = "frames"
source = "nic"
destination = "gpu1"
primitive = "d2d-write"
size_bytes = "64K"
outstanding = 16
standalone_gbytes_per_s = 12

[[flow]]
name = "too much"
source = "host"
destination = "gpu1"
primitive = "h2d"
size_bytes = "1M"
outstanding = 4
standalone_gbytes_per_s = 20
"""
HOST = '[[node]]\nname = "host"\nkind = "host"\n'
SWITCH = '[[node]]\nname = "sw"\nkind = "switch"\nupper = "host"\nlink = "gen4x16"\n'
GPU = '[[node]]\nname = "gpu"\nkind = "gpu"\nupper = "sw"\nlink = "gen4x16"\n'
FLOW = '[[flow]]\nsource = "host"\ndestination = "gpu"\n'
SHORT = HOST + SWITCH + GPU + FLOW
GEN4_X16 = 16 * 128 / 130 * 16 / 8 * 256 / 276
"""Payload of Gen4 x16 with an MPS of 256 B, GB/s."""


def preset(name: str) -> dict[str, Any]:
    """The file of a preset of a device."""
    return tomllib.loads(shipped.fabric_device_files()[name].read_text(encoding="utf-8"))


def written(tmp_path: Path, text: str) -> Path:
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    return tmp_path / "mine.toml"


def test_a_server_is_estimated_without_any_table(tmp_path: Path) -> None:
    path = written(tmp_path, SERVER)
    rows = json.loads(succeed("fabric", "estimate", path, "--format", "json").stdout)
    found = {row["flow"]: row for row in rows}
    assert found["weights"]["gbytes_per_s"] == pytest.approx(GEN4_X16 / 2, rel=1e-3)
    assert found["weights"]["limit"] == "root port->switch", "the way inside the root complex limits nothing"
    assert {name: row["fits"] for name, row in found.items()} == {
        "weights": False,
        "frames": True,
        "too much": False,
    }
    table = succeed("fabric", "estimate", path).stdout
    assert re.search(r"too much .* 20\.00 .* 14\.61 .* no ", table)
    assert re.search(r"frames .* 12\.00 .* 12\.00 .* yes ", table)
    [head, *_] = csv.reader(succeed("fabric", "estimate", path, "--format", "csv").stdout.splitlines())
    assert head[-1] == "fits"


def test_a_server_is_simulated_with_presets(tmp_path: Path) -> None:
    rows = json.loads(succeed("fabric", "simulate", written(tmp_path, SERVER), "--format", "json").stdout)
    found = {row["flow"]: row for row in rows}
    assert found["weights"]["gbytes_per_s"] == pytest.approx(GEN4_X16 / 2, rel=0.01)
    assert found["weights"]["fits"] is None, "it declares no bandwidth"
    assert (found["frames"]["fits"], found["too much"]["fits"]) == (True, False)
    assert found["weights"]["device_ns"] == preset("gpu")["engine"]["execution_ns"]


def test_a_file_with_short_forms_is_the_same_as_one_with_tables(tmp_path: Path) -> None:
    long = """
        name = "mine"
        mps_bytes = 256
        [[node]]
        name = "host"
        kind = "host"
        host = "gen5-server"
        [[node]]
        name = "sw"
        kind = "internal-switch"
        delay_ns = 110.0
        [[node]]
        name = "gpu"
        kind = "device"
        device = "gpu"
        [[link]]
        upper = "host"
        lower = "sw"
        generation = 4
        lanes = 16
        [[link]]
        upper = "sw"
        lower = "gpu"
        generation = 4
        lanes = 16
    """
    short = fabric.load(str(written(tmp_path, SHORT)))
    assert (short.name, short.title, short.handle.default_set()) == ("mine", "mine", "flow")
    assert short.flows()["destination"].tolist() == ["gpu"]
    described = short.to_json()
    assert fabric.load(str(written(tmp_path, long))).to_json() == described
    assert short.nodes[0].host == "gen5-server"
    switch = json.loads(described)["nodes"][1]
    assert switch["delay_ns"] == 110.0, "that of a Gen5 switch"


@pytest.mark.parametrize("text", ["gen4x8", "Gen4 x8", "GEN4x8", "4.0 x8", "PCIe 4.0 x8", "gen 4 x 8"])
def test_a_link_is_generation_and_lanes(tmp_path: Path, text: str) -> None:
    [_, link] = fabric.load(str(written(tmp_path, SHORT.replace("gen4x16", text)))).handle.get("link")
    assert (link["generation"], link["lanes"]) == (4, 8)


def test_a_root_port_has_one_link_that_nothing_in_the_host_limits(tmp_path: Path) -> None:
    port = '[[node]]\nname = "port"\nkind = "root-port"\nupper = "host"\n'
    below = GPU.replace('"sw"', '"port"')
    loaded = fabric.load(str(written(tmp_path, HOST + port + below + FLOW)))
    assert loaded.handle.get("link")[0]["up_gbytes_per_s"] == INSIDE_GBYTES_PER_S
    with pytest.raises(InputError, match="root port port is gpu, nic: give one link below a root port"):
        fabric.load(str(written(tmp_path, HOST + port + below + below.replace('"gpu"', '"nic"'))))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HOST + SWITCH + GPU, "has no flows: add a table [[flow]] with source and destination"),
        (SHORT.replace("source", "from"), "unknown key flow.0.from: did you mean source?"),
        (SHORT + "gbytes_per_s = 12\n", "did you mean standalone_gbytes_per_s?"),
        (SHORT.replace("[[flow]]", "[[flows]]"), "write [[flow]] for each flow"),
        (SHORT.replace("[[flow]]", "[flow]"), "flow is a table: write [[flow]] for each"),
        (SHORT.replace("[[node]]", "[[device]]"), "unknown key device: did you mean node?"),
        (SHORT.replace('kind = "gpu"', 'kind = "ssd"'), "node.2.kind is 'ssd': give \"nvme\""),
        (SHORT.replace('kind = "gpu"', 'kind = "GPU"'), "node.2.kind is 'GPU': give \"gpu\""),
        (SHORT.replace('kind = "gpu"\n', ""), "node.2.kind is missing: give host, switch, gpu"),
        (SHORT.replace('kind = "gpu"', 'device = "gpu-h10"'), "did you mean gpu-h100?"),
        (SHORT.replace("gen4x16", "gen4"), "node.1.link is 'gen4': give generation and lanes"),
        (SHORT.replace("gen4x16", "gen4x" + "1" * 5000), "give generation and lanes, for example"),
        (SHORT.replace("gen4x16", "gen4x3"), "node.1.link is 'gen4x3': give generation 1 to 7 and lanes 1, 2"),
        (HOST + SWITCH + GPU.replace('link = "gen4x16"\n', "") + FLOW, "node.2.upper is 'sw': give link, too"),
        (HOST + SWITCH + GPU.replace('upper = "sw"\n', "") + FLOW, "node.2.link is 'gen4x16': give upper, too"),
        (SHORT.replace("upper", "parent"), "unknown key node.1.parent: did you mean upper?"),
        (SHORT.replace('upper = "sw"', 'upper = "swich"'), "upper is swich: unknown node: known: host, sw, gpu"),
        (
            SHORT + '[[link]]\nupper = "gpu"\nlower = "sw"\nlink = "gen4x16"\n',
            "upper is the end nearer to the host",
        ),
        (SHORT + '[[link]]\nfrom = "gpu"\nlower = "x"\n', "unknown key link.0.from: did you mean upper?"),
        (SHORT + '[[link]]\nupper = "gpu"\nlower = "x"\nlink = "gen4x1"\nlanes = 2\n', "leave out lanes"),
        (SHORT + '[[node]]\nname = "nic"\nkind = "nic"\n', "no link leads up from either of them"),
        (SHORT.replace('kind = "host"', 'host = "gen5-servr"'), "did you mean gen5-server?"),
        ("mps = 512\n" + SHORT, "the key is mps_bytes"),
    ],
)
def test_a_wrong_file_is_refused_with_its_remedy(tmp_path: Path, text: str, message: str) -> None:
    said = refuse("fabric", "estimate", written(tmp_path, text))
    assert message in said
    assert "`" not in said


@pytest.mark.parametrize(
    ("kind", "flow", "message"),
    [
        (
            "device",
            FLOW + 'primitive = "h2d"\n',
            "h2d needs the times of the device gpu: give the node the key device",
        ),
        ("gpu", FLOW + 'primitive = "d2h"\n', "gpu is not a host: d2h goes from a device to a host"),
        ("nvme", FLOW + 'primitive = "mmio-write"\n', "flash has no BAR: give a memory with a BAR"),
    ],
)
def test_a_flow_without_times_or_memory_is_refused(tmp_path: Path, kind: str, flow: str, message: str) -> None:
    text = HOST + SWITCH + GPU.replace('kind = "gpu"', f'kind = "{kind}"') + flow
    assert message in refuse("fabric", "simulate", written(tmp_path, text))
    succeed("fabric", "estimate", written(tmp_path, text))


@pytest.mark.parametrize("name", shipped.fabric_device_files())
def test_a_preset_reaches_the_rates_of_its_source(tmp_path: Path, name: str) -> None:
    text = HOST + GPU.replace('"sw"', '"host"').replace('"gpu"', f'"{name}"').replace("gen4x16", "gen6x16") + FLOW
    loaded = fabric.load(str(written(tmp_path, text.replace('destination = "gpu"', f'destination = "{name}"'))))
    engine = preset(name)["engine"]
    for primitive, ends, pace in (
        ("h2d", ("host", name), engine["read"]),
        ("d2h", (name, "host"), engine["write"]),
    ):
        flow = {"source": ends[0], "destination": ends[1], "primitive": primitive, "size_bytes": 1 << 20}
        flows = pd.DataFrame([flow | {"outstanding": 4, "name": "f"}])
        found = fabric.simulate(loaded, flows).flows["gbytes_per_s"].iloc[0]
        assert found == pytest.approx(pace["bytes_per_ns"], rel=0.05)


def test_presets_have_the_names_that_other_profiles_use() -> None:
    presets = {*shipped.fabric_device_files()}
    assert {"gpu", "gpu-h100", "nic-100g", "nic-200g", "nic-400g", "fpga-xdma", "fpga-qdma"} < presets
    assert {"nvme-gen3", "nvme-gen4", "nvme-gen5"} < presets
    assert all(preset(name)["name"] == name for name in presets)


def test_presets_of_hosts_are_the_host_profiles(tmp_path: Path) -> None:
    def node(host: str) -> dict[str, Any]:
        text = SHORT.replace('kind = "host"', f'host = "{host}"')
        found: dict[str, Any] = json.loads(fabric.load(str(written(tmp_path, text))).to_json())["nodes"][0]
        return found

    times = node("generic-e5")
    # 310 ns of a read and 70 ns of a miss, of which the way in and out is twice the 140 ns of a write.
    assert (times["delay_ns"], times["host"]["memory_read_ns"], times["host"]["sockets"]) == (140.0, 100.0, 1)
    dual = node("generic-e5-dual")["host"]
    assert (dual["sockets"], dual["other_socket_ns"]) == (2, 30.0)


def test_bars_without_addresses_lie_apart(tmp_path: Path) -> None:
    more = GPU.replace('"gpu"\nkind', '"gpu1"\nkind') + "bar_addresses = { vram = 0x20_0000_0000 }\n"
    nodes = json.loads(fabric.load(str(written(tmp_path, HOST + SWITCH + GPU + more))).to_json())["nodes"]
    given, free = (node["device"]["memories"][0]["bar"] for node in (nodes[3], nodes[2]))
    assert given["address"] == 0x20_0000_0000
    assert free["address"] >= given["address"] + given["size_bytes"]
    assert free["address"] % (1 << 35) == 0, "24 GiB, aligned to 32"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the server."""
    folder = tmp_path_factory.mktemp("server")
    succeed("fabric", "run", written(folder, SERVER), "-o", folder / "run.db")
    return folder / "run.db"


def test_a_store_says_whether_its_flows_fit(run: Path) -> None:
    table = fabric.flow_table(open_store(run)).set_index("flow")
    assert table["fits"].to_dict() == {"weights": None, "frames": True, "too much": False}


def test_a_report_has_the_tree_with_loads_and_no_bar_twice(run: Path, tmp_path: Path) -> None:
    succeed("report", run, "-o", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'id="flows-1-loads"' in page
    said = page.split("<main")[-1].split("<script")[0]
    assert 'class="claims"' not in said
    assert "`" not in said
    assert ">average (us)<" in said
    assert ">fits<" in said
    loads = json.dumps(simulated_loads(open_store(run), "flows").to_dict())
    assert "29.22 / 29.22" in loads
    assert re.search(r'"fontSize": \{"expr": "min\(11, width / \d / 10\)"\}', loads), "a phone's levels are narrow"
    latency = figures.fabric_sweep(open_store(run), figures.FabricPlot("flows", "latency", "average"))
    assert claims_of(latency) == []
    assert "average latency (us)" in json.dumps(latency.to_dict())


def test_long_times_are_printed_in_microseconds(run: Path) -> None:
    path = run.with_name("mine.toml")
    table = succeed("fabric", "simulate", path).stdout
    assert "average us" in table
    assert re.search(r"│ +287 │", table)
    assert "average_ns" in succeed("fabric", "simulate", path, "--format", "csv").stdout
    for command in ("simulate", "estimate", "explain", "run", "list"):
        assert "`" not in succeed("fabric", command, "--help").stdout


def test_two_ports_of_an_adapter_share_its_slot(tmp_path: Path) -> None:
    (tmp_path / "ports.toml").write_text("""
[[node]]
name = "host"
kind = "host"

[[node]]
name = "nic"
kind = "adapter"
upper = "host"
link = "gen4x8"

[[node]]
name = "port0"
kind = "nic-100g"
upper = "nic"

[[node]]
name = "port1"
kind = "nic-100g"
upper = "nic"
""")
    ports = fabric.load(str(tmp_path / "ports.toml"))
    flows = fabric.written_flows(ports, ["host->port0", "host->port1"])
    one = fabric.shares(ports, flows.head(1)).flows
    both = fabric.shares(ports, flows).flows
    assert one["gbytes_per_s"].to_list() == [12.5]
    assert set(both["limit"]) == {"host->nic"}
    assert both["gbytes_per_s"].sum() == pytest.approx(min(both["standalone_gbytes_per_s"].sum(), 14.6), rel=0.02)
