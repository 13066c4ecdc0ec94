"""CXL memory expanders on the command line: simulated loads beside the closed form, and questions about them."""

import csv
import json
import math
from pathlib import Path

import pytest

import pcielab
from pcielab import MemoryLines, model, normal, open_store, why
from pcielab.kinds.asked_expander import is_expander
from pcielab.kinds.memory.rows import STATIONS, rows_of
from pcielab.library.published_figures import published_figures
from shell import refuse, succeed

NAME = "cxl2-ddr5-5600"
LOADS = "0,0.25,0.5,0.75,0.9,1"
SLOT_NS = 17 / 32
"""A slot of a flit of 68 B at 32 GB/s, by hand."""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a mix at several loads."""
    path = tmp_path_factory.mktemp("cxl") / "mixed.db"
    succeed("run", "--test", "mem-rd", "--profile", NAME, "--reads", "58%", "--loads", LOADS, "-o", path)
    return path


@pytest.mark.parametrize("reads", ["2%", "58%", "88%"])
def test_simulated_loads_agree_with_the_closed_form(reads: str) -> None:
    done = succeed("run", "--test", "mem-rd", "--profile", NAME, "--reads", reads, "--format", "csv")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [float(row["load"]) for row in rows] == [0, 0.25, 0.5, 0.75, 0.9, 1]
    unloaded_ns = model.load_expander(NAME).controller.unloaded_ns
    for row in rows[:-1]:
        simulated, modelled = (float(row[key]) - unloaded_ns for key in ("read_latency_ns", "modelled_ns"))
        assert abs(simulated - modelled) <= max(2.0, 0.15 * modelled), row
        assert row["origin"] == "simulated"
    full = rows[-1]
    assert float(full["gbytes_per_s"]) == pytest.approx(float(full["peak_gbytes_per_s"]), rel=0.01)
    assert float(full["in_flight"]) == pytest.approx(256, rel=0.01)


def test_the_same_seed_gives_the_same_store_and_another_seed_another() -> None:
    lines = MemoryLines(loads=[0.5], lines=1000)
    one, same, other = (
        pcielab.run(lines, options=pcielab.RunOptions(seed=seed)).scalars["average"][0] for seed in (1, 1, 2)
    )
    assert one == same != other


def test_a_store_holds_the_wait_of_each_station(mixed: Path) -> None:
    store = open_store(mixed)
    assert (store.kind, store.origin, store.manifest["expander"]["name"]) == ("memory", "simulated", NAME)
    for row in rows_of(store):
        waits = sum(row["stations"][f"{station} wait"] for station in STATIONS)
        rest_ns = model.load_expander(NAME).controller.unloaded_ns
        # Waits, and the time of a read alone; within a flit each way.
        assert row["average"] - waits == pytest.approx(rest_ns, abs=2 * 4 * SLOT_NS)
    full = [row for row in rows_of(store) if row["load"] == 1]
    assert full[0]["stations"]["memory-bus load"] == pytest.approx(1, abs=0.01)


def test_explain_why_compare_report_and_normal_read_the_store(mixed: Path, tmp_path: Path) -> None:
    explained = json.loads(succeed("explain", mixed, "--format", "json").stdout)
    rows = {row["load"]: row for row in explained}
    assert rows[0.5]["bound"] == "own-demand"
    assert rows[1]["bound"] == "memory-bus"
    asked = json.loads(succeed("why", mixed, "--format", "json").stdout)
    assert asked["binds"] == "memory-bus"
    slower = tmp_path / "slower.db"
    more = ("--reads", "58%", "--loads", LOADS, "--set", "expander.memory.megatransfers_per_s=4800")
    succeed("run", "--test", "mem-rd", "--profile", NAME, *more, "-o", slower)
    pairs = json.loads(succeed("compare", slower, mixed, "--format", "json").stdout)
    assert len(pairs["pairs"] if isinstance(pairs, dict) else pairs) == len(rows)
    succeed("report", mixed, slower, "-o", tmp_path / "report.html")
    assert "memory-latency" in (tmp_path / "report.html").read_text()
    judged = normal(mixed)
    assert {one.question.kind for one in judged} == {"expander"}
    assert max(one.ratio or 0 for one in judged if not one.question.is_time) == pytest.approx(1, abs=0.01)


def test_one_bound_for_normal_why_and_the_model() -> None:
    [rates] = model.expander(model.load_expander(NAME), [1.0])
    by_hand = 64 / (4.5 * SLOT_NS)
    assert rates.peak_gbytes_per_s == pytest.approx(by_hand)
    judged = normal("read", "26GB/s", link="gen5x8", engine="core", device="CXL memory expander")
    assert judged.bounds[0].name == rates.bound
    assert judged.bounds[0].value == pytest.approx(by_hand)
    assert judged.verdict != "above the bound"
    answer = why(MemoryLines(read_share=1.0), profile=NAME)
    assert answer.binds == rates.bound
    assert answer.bars[0].value == pytest.approx(by_hand)
    command = succeed("model", "cxl", "--gen", "5", "--lanes", "8", "--reads", "1", "--format", "csv")
    [first, *_] = csv.DictReader(command.stdout.splitlines())
    assert float(first["peak_gbytes_per_s"]) == pytest.approx(by_hand, rel=1e-4)


def test_loads_of_expanders_are_compared_with_those_of_expanders() -> None:
    answer = normal("latency", "265.7ns", link="gen5x8", engine="core", device="CXL memory expander")
    assert answer.verdict == "normal"
    assert {one.figure.kind for one in answer.figures} == {"expander"}
    assert answer.bounds[0].value == 107.4
    bar = normal("latency", "860ns", link="gen3x16", engine="core")
    assert "expander" not in {one.figure.kind for one in bar.figures}


def test_published_bandwidths_are_over_the_bound_of_their_mix() -> None:
    figures = [one for one in published_figures().values() if one.kind == "expander" and one.what != "latency"]
    linked = [one for one in figures if one.question_link]
    assert len(linked) >= 5
    for figure in linked:
        what = {"d2h": "read", "h2d": "write"}.get(figure.what, figure.what)
        share = figure.read_share if what == "both" else None
        value = f"{figure.value}{figure.unit}"
        judged = normal(what, value, link="gen5x8", device="CXL memory expander", read_share=share)
        assert 0.3 < (judged.ratio or 0) < 1, figure.id


@pytest.mark.parametrize(
    "name", ["CXL memory expander", "Micron CZ120", "Samsung CMM-D", "CXL-A", NAME, "CXL type 3"]
)
def test_expanders_are_recognized(name: str) -> None:
    assert is_expander(name)


@pytest.mark.parametrize(
    "name", ["ConnectX-6", "Micron 9300", "CXL switch", "CXL type 2 accelerator", "SAS expander"]
)
def test_other_devices_are_no_expanders(name: str) -> None:
    assert not is_expander(name)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            ("normal", "--what", "read", "--value", "9GB/s", "--device", "CXL switch"),
            "only CXL.mem is modelled: give ",
        ),
        (
            ("normal", "--what", "read", "--value", "9GB/s", "--device", "CXL thing"),
            "does not say that it is memory",
        ),
        (("normal", "--what", "iops", "--value", "9k", "--device", NAME), "--what iops: an expander has none"),
        (
            ("normal", "--what", "read", "--value", "9GB/s", "--device", NAME, "--engine", "dma"),
            "give --engine core",
        ),
        (("normal", "--what", "read", "--value", "9GB/s", "--device", NAME, "--link", "tb4"), "CXL has no tunnel"),
        (("normal", "--what", "read", "--value", "1GB/s", "--device", NAME, "--link", "gen2x8"), "no such link"),
        (("normal", "--what", "h2d", "--value", "9GB/s", "--reads", "1"), "--reads: is the mix of a CXL memory"),
        (("run", "--test", "mem-rd", "--profile", "hsw2620"), "expander"),
        (
            ("run", "--test", "mem-rd", "--size", "64"),
            "--size: describes a single test: leave it out with --test mem-rd",
        ),
        (("run", "--test", "bw-rd", "--loads", "0.5"), "--loads: describes lines of an expander"),
        (("run", "--test", "mem-rd", "--reads", "0.1,0.2"), "a run has one mix"),
        (("run", "--test", "mem-rd", "--cores", "0"), "--cores is 0: give 1 to 4096"),
        (("run", "--test", "mem-rd", "--set", "host.iommu.walk_ns=1"), "expander.KEY=VALUE"),
        (("run", "--test", "mem-rd", "--set", "expander.controller.unloaded_ns=2"), "give 6.8 or more"),
        (("why", "--test", "bw-rd", "--reads", "1"), "--reads: has no effect without --test mem-rd"),
        (("run", "--test", "bw-rd", "--profile", NAME), "is a memory expander: give --test mem-rd"),
        (("why", "--test", "bw-rd", "--profile", NAME), "is a memory expander: give --test mem-rd"),
        (("why", "--test", "mem-rd", "--profile", "nothing"), "no expander is named 'nothing'"),
        (("model", "cxl", "--local", "8x4800"), "--local: is interleaved with expanders"),
        (("model", "cxl", "--interleave", "1,2"), "give a weight for each of cxl2-ddr5-5600"),
        (("model", "cxl", "--interleave", "1,2", "--local", "many"), "--local many: give channels and MT/s"),
        (("model", "cxl", "--set", "expander.memory.refresh_ns=5000"), "give less than refresh_interval_ns"),
    ],
)
def test_impossible_questions_are_refused_with_the_reason(given: tuple[str, ...], words: str) -> None:
    assert words in refuse(*given)


def test_a_measured_value_below_the_bound_needs_lines_in_flight() -> None:
    answer = why(MemoryLines(read_share=1.0), profile=NAME, measured=8 * 17.8)
    assert answer.binds is None
    [rates] = model.expander(model.load_expander(NAME), [1.0], loads=[0.5])
    lines = 17.8 / 64 * rates.loads[0].read_latency_ns
    assert f"some {lines:.0f} lines in flight" in answer.sentences[0]


def test_few_lines_in_flight_bind_in_closed_form_and_simulation() -> None:
    requesters = {"cores": 1, "fill_buffers": 12}
    [rates] = model.expander(model.load_expander(NAME), [1.0], requesters=requesters)
    assert rates.bound == "lines-in-flight"
    run = pcielab.run(MemoryLines(loads=[1.0], cores=1, fill_buffers=12, lines=5000))
    simulated = run.scalars["bandwidth"][0] / 8
    assert simulated == pytest.approx(rates.peak_gbytes_per_s, rel=0.05)


def test_interleaved_memories_share_lines_by_weight() -> None:
    expander = model.load_expander(NAME)
    local = model.local_memory(8, 4800, like=expander)
    [one] = model.interleaved([(expander, 1)], [0.5], local=(local, 1), loads=[0.5])
    [alone] = model.expander(expander, [0.5], loads=[0.5])
    # One to one, the slow one paces both: twice its rate, as published (M133 and M129).
    assert one.peak_gbytes_per_s == pytest.approx(2 * alone.peak_gbytes_per_s)
    figures = published_figures()
    assert figures["M133"].value / figures["M129"].value == pytest.approx(2, rel=0.02)
    weights = [member.alone_gbytes_per_s for member in one.members]
    [best] = model.interleaved([(expander, weights[1])], [0.5], local=(local, weights[0]))
    assert best.peak_gbytes_per_s == pytest.approx(math.fsum(weights))
    shown = succeed(
        "model", "cxl", "--local", "8x4800", "--interleave", "1,1", "--reads", "0.5", "--format", "csv"
    )
    [row, *_] = csv.DictReader(shown.stdout.splitlines())
    assert float(row["peak_gbytes_per_s"]) == pytest.approx(one.peak_gbytes_per_s, rel=1e-4)


def test_ide_costs_the_slot_of_its_mac() -> None:
    plain, safe = (
        model.expander(model.load_expander(NAME, {"link.ide_flits": flits}), [1.0])[0].peak_gbytes_per_s
        for flits in (0, 5)
    )
    assert safe / plain == pytest.approx(19 / 20)
