"""Flows as people write them, patterns, the tree as text, and the next best placement."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w

import pcielab
from fabric_machines import MACHINES, Machine
from pages import unpacked
from pcielab import _core, fabric
from pcielab.doctor import machine_of_text
from pcielab.errors import InputError
from pcielab.expectations.memory import memory_of_tree
from pcielab.fabric import Fabric, drawn, fabric_of, placements, shares, with_limits, written_flows
from pcielab.fabric.placing import MOST_TRIALS
from pcielab.library.fabrics.load import of_text
from pcielab.library.published_figures import published_figures
from shell import refuse, succeed


def machine(name: str) -> Fabric:
    return of_lspci(MACHINES[name](), name)


def of_lspci(text: str, name: str) -> Fabric:
    return of_text(fabric_of(machine_of_text(text, "lspci.txt"), name).text, Path(f"{name}.toml"))


def ends(found: Fabric, pattern: str) -> list[str]:
    return list(written_flows(found, [], pattern)["name"])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "lspci.txt").write_text(MACHINES["dgx"]())
    succeed("fabric", "from", tmp_path / "lspci.txt", "-o", tmp_path / "dgx.toml")
    return tmp_path / "dgx.toml"


def test_a_flow_is_its_ends_and_what_it_asks_for() -> None:
    found = written_flows(machine("dgx"), ["gpu0->nic1:20GB/s", " gpu1 -> host0 ", "nvme0->gpu3: 16 Gb/s"])
    assert list(found["source"]) == ["gpu0", "gpu1", "nvme0"]
    assert list(found["destination"]) == ["nic1", "host0", "gpu3"]
    assert list(found["standalone_gbytes_per_s"].fillna(0)) == [20.0, 0.0, 2.0]


def test_a_node_with_colons_in_its_name_is_no_rate() -> None:
    found = written_flows(machine("dual-socket"), ["gpu0->stack 0000:15", "gpu0->stack 0000:15:3GB/s"])
    assert list(found["destination"]) == ["stack 0000:15"] * 2


@pytest.mark.parametrize(
    ("flow", "problem"),
    [
        ("gpu0", "has no arrow: give SOURCE->DESTINATION"),
        ("gpu0->gpu0", "is both ends"),
        ("gpu0->nic99", "did you mean nic"),
        ("gpu0->nic1:20", "'20' has no unit: give one of GB/s"),
        ("gpu0->nic1:0GB/s", "is not a rate"),
        ("gpu0->nic1:1e9GB/s", "give 0 to 1000000"),
    ],
)
def test_a_wrong_flow_is_refused_with_a_remedy(flow: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        written_flows(machine("dgx"), [flow])


def test_patterns_pick_devices_by_kind_and_distance() -> None:
    dgx = machine("dgx")
    assert ends(dgx, "all-to-host")[3:5] == ["gpu3->host0", "gpu4->host1"]
    assert ends(dgx, "pairs") == [f"gpu{number}->nic{number}" for number in range(8)]
    assert ends(dgx, "checkpoint-to-nvme")[:2] == ["gpu0->nvme0", "gpu1->nvme1"]
    assert ends(dgx, "ring:gpu0,gpu5,gpu2") == ["gpu0->gpu5", "gpu5->gpu2", "gpu2->gpu0"]
    assert ends(machine("dual-socket"), "pairs") == ["gpu0->nic1"], "of its socket"
    assert ends(machine("cloudlab-epyc"), "all-to-host") == ["nic0->host0", "device0->host0"], "it has no GPU"


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("all-to-hosts", "did you mean all-to-host"),
        ("pairs:gpu0", "unknown"),
        ("pairs", "has no GPU or no nic"),
        ("ring:nic0", "at least two devices"),
        ("ring:nic0,nic0", "each once"),
        ("ring:nic0,gpu9", "unknown node"),
    ],
)
def test_a_wrong_pattern_is_refused_with_a_remedy(pattern: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        written_flows(machine("cloudlab-epyc"), [], pattern)


def test_behind_gen4_x8_uplinks_each_gpu_gets_the_published_rate_from_link_facts_alone() -> None:
    p5 = machine("p5")
    found = shares(p5, written_flows(p5, [], "all-to-host")).flows
    assert list(found["gbytes_per_s"]) == pytest.approx([14.2] * 8, rel=0.05)
    assert set(found["limit"]) == {f"switch{n}->root port 0000:{0x20 * n + 1:02x}:01.0" for n in range(8)}


def test_one_gpu_alone_gets_the_published_rate_from_link_facts_alone() -> None:
    epyc = machine("epyc-5090")
    assert shares(epyc, written_flows(epyc, ["gpu0->host0"])).flows["gbytes_per_s"][0] == pytest.approx(
        57.0, rel=0.05
    )


def test_four_gpus_together_share_the_memory_that_was_borrowed() -> None:
    """The links carry 57 GB/s each: what four get at once is an input, from the row of such a machine."""
    text = MACHINES["epyc-5090"]().replace("[1022:14ab]", "[8086:352a]")
    tree = machine_of_text(text, "lspci.txt")
    written = fabric_of(tree, "intel", memory_of_tree(tree)).text
    intel = of_text(written, Path("intel.toml"))
    found = shares(intel, written_flows(intel, [], "all-to-host")).flows
    assert list(found["gbytes_per_s"]) == pytest.approx([published_figures()["M341"].value] * 4, abs=0.05)
    assert set(found["limit"]) == {"socket0->host0"}


def test_what_the_root_complex_carries_bounds_a_flow_and_is_named() -> None:
    dgx = machine("dgx")
    flows = written_flows(dgx, ["gpu0->nic2", "gpu0->nic2:20GB/s", "gpu0->gpu2", "gpu2->nic7:50GB/s"])
    found = shares(dgx, flows.iloc[[0]]).flows
    assert found["gbytes_per_s"][0] == pytest.approx(published_figures()["M062"].value / 8)
    assert found["limit"][0] == "peer-to-peer reads, borrowed (M062)"
    limited = with_limits(dgx, flows)["standalone_gbytes_per_s"]
    assert limited[1] == 20.0
    assert limited.isna()[2], "writes across stacks keep the rate of the links"
    last = shares(dgx, flows.iloc[[3]].reset_index(drop=True)).flows
    assert (last["standalone_gbytes_per_s"][0], last["fits"][0]) == (50.0, False)


def test_why_bounds_flows_by_the_root_complex_too(tmp_path: Path) -> None:
    flows = tmp_path / "flows.csv"
    flows.write_text("source,destination\ngpu0,nic2\n")
    (row,) = pcielab.why(machine("dgx"), flows=str(flows)).rows
    assert 34.0 in row.values()


@pytest.mark.parametrize(("redirects", "rate"), [(False, 55.1), (True, 14.366)])
def test_redirected_flows_get_no_more_than_the_uplink(*, redirects: bool, rate: float) -> None:
    """Without redirection, the engine of the sender's preset binds before its link of 57.5 GB/s does."""
    made = Machine()
    made.host_bridge(1)
    made.switch("root", "01:01.0", 2, (4, 8), [("gpu", 5, 16), ("gpu", 5, 16)], redirects=redirects)
    found = of_lspci(made.text(), "small")
    share = shares(found, written_flows(found, ["gpu0->gpu1"])).flows
    assert share["gbytes_per_s"][0] == pytest.approx(rate)
    assert share["limit"][0] == ("switch0->root port 0000:01:01.0" if redirects else "gpu0->switch0")


def test_a_shipped_fabric_gets_the_same_estimate_to_the_bit() -> None:
    for name in fabric.names():
        loaded = fabric.load(name)
        for flow_set in [*loaded.flow_sets, *loaded.flow_files]:
            flows = loaded.flows(flow_set)
            for method in fabric.METHODS:
                one, other = shares(loaded, flows, method), fabric.estimate(loaded, flows, method)
                assert one.flows.equals(other.flows)
                assert one.edges.equals(other.edges)


def test_the_tree_shows_loads_and_what_is_full() -> None:
    p5 = machine("p5")
    text = drawn(p5, shares(p5, written_flows(p5, ["gpu0->host0", "host1->gpu4"]))).splitlines()
    assert text[0] == "sockets"
    assert "│       └── switch0  Gen4 x8  ↑ 14.4 of 14.4 full" in text
    assert any(line.endswith("gpu4  Gen5 x16  ↓ 14.6 of 57.1") for line in text)
    assert text[-1] == "64 more nodes without a flow"


def test_the_best_place_is_below_the_other_switch() -> None:
    dgx = machine("dgx")
    flows = written_flows(dgx, ["gpu2->nic7", "nvme0->gpu0"])
    best = placements(dgx, flows, shares(dgx, flows)).flows
    assert best[["flow", "device", "below"]].to_numpy().tolist() == [["gpu2->nic7", "nic7", "switch1"]]
    line_gbytes_per_s = 50.0
    assert best["then_gbytes_per_s"][0] == pytest.approx(line_gbytes_per_s)
    assert best["gain_gbytes_per_s"][0] == pytest.approx(line_gbytes_per_s - best["gbytes_per_s"][0])


def test_a_placement_is_what_an_estimate_of_the_changed_file_says() -> None:
    dgx = machine("dgx")
    flows = written_flows(dgx, ["gpu0->host0", "gpu1->host0", "gpu4->host1"])
    (first, *_) = placements(dgx, flows, shares(dgx, flows)).flows.to_dict("records")
    file = tomllib.loads(fabric_of(machine_of_text(MACHINES["dgx"](), "lspci.txt"), "dgx").text)
    for link in file["link"]:
        if link["lower"] == first["device"]:
            link["upper"] = first["below"]
    moved = of_text(tomli_w.dumps(file), Path("dgx.toml"))
    then = shares(moved, flows).flows
    assert then.loc[then["flow"] == first["flow"], "gbytes_per_s"].iloc[0] == pytest.approx(
        first["then_gbytes_per_s"]
    )


def test_no_place_helps_a_device_below_its_own_narrow_link() -> None:
    laptop = machine("laptop")
    flows = written_flows(laptop, ["nvme0->host0"])
    assert placements(laptop, flows, shares(laptop, flows)).flows.empty


def test_a_hundred_devices_are_explained_with_few_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    estimates, estimate = [0], _core.fabric_estimate

    def counted(*arguments: Any) -> Any:
        estimates[0] += 1
        return estimate(*arguments)

    monkeypatch.setattr(_core, "fabric_estimate", counted)
    made = Machine()
    for number in range(10):
        stack = 0x10 + 0x17 * number
        made.host_bridge(stack)
        devices = [("gpu", 5, 16)] * 8 + [("nic", 5, 16)] * 2
        made.switch("root", f"{stack:02x}:01.0", stack + 1, (5, 16), devices, node=number // 5)
    large = of_lspci(made.text(), "large")
    flows = written_flows(large, [], "all-to-host")
    assert len(large.node_names) > 120
    found = shares(large, flows)
    fabric.influences(large, with_limits(large, flows))
    drawn(large, found)
    best = placements(large, flows, found)
    assert best.tried == MOST_TRIALS < best.possible, "the rest would take longer"
    assert estimates[0] <= MOST_TRIALS + 5, "a few beside those of the placements"


def test_commands_take_written_flows_and_patterns(file: Path, tmp_path: Path) -> None:
    shown = succeed("fabric", "explain", file, "--flow", "gpu2->nic7:50GB/s", "--flow", "gpu0->host0").stdout
    assert "switch1  Gen5 x16  ↑ 28.3 of 57.5" in shown
    assert "Best other position for one device of a flow" in shown
    rows = json.loads(succeed("fabric", "estimate", file, "--pattern", "all-to-host", "--format", "json").stdout)
    assert [row["gbytes_per_s"] for row in rows] == pytest.approx([57.464 / 2] * 8)
    simulated = succeed("fabric", "simulate", file, "--flow", "gpu0->nic2", "--format", "json").stdout
    assert json.loads(simulated)[0]["gbytes_per_s"] == pytest.approx(34.0, rel=0.01)
    assert "exclude each other" in refuse("fabric", "estimate", file, "--flows", "x", "--flow", "gpu0->nic1")
    assert "exclude each other" in refuse(
        "fabric", "run", file, "--suite", "rpciebench", "--pattern", "pairs", "-o", tmp_path / "x.db"
    )


def test_a_machine_without_flows_says_how_to_write_some(file: Path) -> None:
    assert "--pattern" in refuse("fabric", "explain", file)


@pytest.mark.parametrize("name", MACHINES)
def test_from_a_text_to_a_report(name: str, tmp_path: Path) -> None:
    (tmp_path / "lspci.txt").write_text(MACHINES[name]())
    file, run = tmp_path / "mine.toml", tmp_path / "run.db"
    succeed("fabric", "from", tmp_path / "lspci.txt", "-o", file)
    explained = succeed("fabric", "explain", file, "--pattern", "all-to-host", "--format", "csv")
    assert explained.exit_code == 0
    estimated = json.loads(
        succeed("fabric", "estimate", file, "--pattern", "all-to-host", "--format", "json").stdout
    )
    done = succeed("fabric", "run", file, "--pattern", "all-to-host", "-o", run, "--format", "json")
    simulated = {row["flow"]: row["gbytes_per_s"] for row in json.loads(done.stdout)}
    for row in estimated:
        assert simulated[row["flow"]] == pytest.approx(row["gbytes_per_s"], rel=0.02)
    succeed("report", run, "-o", tmp_path / "report.html")
    page = unpacked((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "host0" in page
    assert page.count('<p class="answer">') == 3
