"""`pcielab.why`: every kind of question, and gains that the engines give."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import pcielab
from pcielab import InputError, fabric, model, single_test
from pcielab.analysis.why import Why
from pcielab.analysis.why.stored import why_stored
from pcielab.library.suites import Suite
from pcielab.model import Ethernet
from pcielab.store import Store
from pcielab.work.frames import Frames

LINK = model.Link(generation=3, lanes=16, mps_bytes=256, mrrs_bytes=512)
HUNDRED = Ethernet(line_gbps=100.0)
STRICT = ("iommu=four-kib-pages", "host.iommu.page_life=unmapped", "host.iommu.invalidation=strict")


def frames(nic: str, direction: str = "both", size: int = 64) -> Frames:
    return Frames(model.load_nic(nic), [size], HUNDRED, direction)  # type: ignore[arg-type]


def bars(answer: Why, role: str) -> dict[str, float]:
    return {bar.name: bar.value for bar in answer.bars if bar.role == role}


def whole(answer: Why) -> Why:
    """The answer, checked for what every answer has."""
    assert 1 <= len(answer.sentences) <= 3
    assert all(sentence.endswith(".") for sentence in answer.sentences)
    assert answer.sentences[1] == answer.certainty.sentence
    assert len({tuple(row) for row in answer.rows}) == 1, "a table has the same columns in every row"
    assert answer.bars
    json.dumps(answer.to_dict())
    return answer


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return pcielab.simulate("hsw2620", "quick", tmp_path_factory.mktemp("why") / "quick.db")


@pytest.fixture(scope="module")
def quick_answer(quick: Store) -> Why:
    return whole(pcielab.why(quick))


@pytest.fixture(scope="module")
def latency_answer(quick: Store) -> Why:
    return whole(pcielab.why(quick, tests=["LAT"]))


FAST_NIC = Frames(model.load_nic("connectx-7"), [64], Ethernet(line_gbps=400.0))
"""The assumed number of descriptors that it holds binds it on a fast link."""


@pytest.fixture(scope="module")
def fast_nic_answer() -> Why:
    return whole(pcielab.why(FAST_NIC, profile="gen5-x16"))


@pytest.mark.parametrize("nic", ["simple-nic", "niantic-kernel", "niantic-dpdk", "connectx-6-dx"])
@pytest.mark.parametrize("direction", ["both", "tx", "rx"])
def test_the_costs_of_a_nics_steps_add_up_to_the_models_rate(nic: str, direction: str) -> None:
    asked = replace(frames(nic, direction), ethernet=Ethernet(line_gbps=800.0))
    [found] = model.nic(asked.nic, LINK, [64])
    answer = getattr(found, {"both": "bi"}.get(direction, direction))
    rows = pcielab.why(asked, link=LINK).rows
    ns_of = {ceiling.bound: 8 * 60 / ceiling.gbps for ceiling in answer.ceilings}
    for way in ("upstream", "downstream"):
        ns = [cost for row in rows if isinstance(cost := row[f"{way}_ns"], float)]
        assert sum(ns) == pytest.approx(ns_of[f"wire-{way}"], rel=1e-6)


def test_a_nic_at_a_line_rate_is_told_its_costs_and_the_change_that_gives_most() -> None:
    answer = whole(pcielab.why(frames("simple-nic"), link=LINK, measured=25))
    [found] = model.nic(model.load_nic("simple-nic"), LINK, [64])
    assert answer.binds == found.bi.bound == "wire-upstream"
    assert answer.certainty.level == "sure"
    assert all(word in answer.sentences[0] for word in ("52.1 million packets/s", "descriptors", "interrupts"))
    assert answer.change is not None
    [polling] = [change for change in answer.changes if change.what.startswith("polling")]
    polled = [step for step in model.load_nic("simple-nic").step if step.kind not in ("msi", "mmio-read")]
    [without] = model.nic(model.load_nic("simple-nic").with_steps(polled), LINK, [64])
    assert polling.after == pytest.approx(without.bi.gbps)
    assert answer.change.after >= polling.after


def test_the_switch_that_gives_most_is_the_models() -> None:
    answer = whole(pcielab.why(frames("connectx-6-dx"), link=LINK, measured=35))
    nic = model.load_nic("connectx-6-dx")
    rates = {}
    for name in nic.switch:
        [found] = model.nic(nic.with_switches([name]), LINK, [64])
        rates[f"the feature {name}"] = found.bi.gbps
    changes = {change.what: change.after for change in answer.changes if change.what.startswith("the feature ")}
    assert changes == pytest.approx(rates)
    best = max(rates, key=lambda what: rates[what])
    assert answer.change is not None
    assert answer.change.after >= rates[best]
    on = pcielab.why(frames(f"connectx-6-dx+{best.removeprefix('the feature ')}"), link=LINK)
    assert min(bars(on, "bound").values()) == pytest.approx(rates[best])
    assert best not in {change.what for change in on.changes}, "it is on already"


def test_a_rate_above_the_bound_that_fits_the_switches_is_answered_with_them_on() -> None:
    """The job: my 100G ConnectX-6 gives 60 Gb/s at 64 B, why?"""
    nic = model.load_nic("connectx-6-dx")
    [found] = model.nic(nic.with_switches(nic.switch), LINK, [64])
    answer = whole(pcielab.why(frames("connectx-6-dx"), measured=60))
    assert answer.binds == found.bi.bound
    assert answer.sentences[0].startswith(f"{found.bi.bound} binds connectx-6-dx with all 5 features at")
    assert "more than 36.9 Gb/s, the bound of the profile as it is" in answer.sentences[1]
    assert f"{found.bi.gbps:.1f} Gb/s ({found.bi.millions_per_s:.0f} million packets/s" in answer.sentences[0]
    assert "descriptors" in answer.sentences[0]
    assert answer.change is not None
    assert answer.change.what == "link.generation 3 -> 4"


def test_a_nics_link_change_is_the_models_rate_on_that_link() -> None:
    answer = pcielab.why(frames("niantic-dpdk"), link=LINK)
    [gen4] = [change for change in answer.changes if change.what == "link.generation 3 -> 4"]
    [found] = model.nic(model.load_nic("niantic-dpdk"), replace(LINK, generation=4), [64], ethernet=HUNDRED)
    assert gen4.after == pytest.approx(min(found.bi.gbps, found.line_gbps))


def test_a_measured_rate_above_the_bound_is_said_so_with_the_bound() -> None:
    answer = whole(pcielab.why(frames("niantic-dpdk"), link=LINK, measured=60))
    [found] = model.nic(model.load_nic("niantic-dpdk"), LINK, [64])
    assert "more than wire-upstream allows" in answer.sentences[0]
    assert f"{found.bi.gbps:.1f} Gb/s" in answer.sentences[0]
    assert answer.certainty.level == "not sure"
    assert answer.change is not None
    assert answer.change.after >= 60
    assert any("42.86" in note for note in answer.notes), "the same rate, if preamble and gap were counted"


def test_half_the_rate_of_a_nic_fits_half_the_lanes() -> None:
    answer = whole(pcielab.why(frames("simple-nic"), link=LINK, measured=12.5))
    assert "the link at x8" in answer.certainty.reason
    assert "pcielab doctor" in answer.sentences[2]
    assert answer.change is not None
    assert answer.change.what == "not the link at x8"


def test_a_full_line_is_the_answer_where_it_binds() -> None:
    answer = whole(pcielab.why(frames("niantic-dpdk", "tx"), link=LINK, measured=71))
    assert (answer.binds, answer.change) == ("line", None)
    assert "the line is full" in answer.sentences[2]


def test_a_link_is_assumed_for_a_line_rate_and_named() -> None:
    answer = whole(pcielab.why(frames("simple-nic")))
    usual = "link assumed: Gen3 x16, MPS 256, MRRS 512, usual for 100 Gb/s (give --gen and --lanes)"
    assert answer.notes == (usual,)
    assert answer.certainty.level == "not sure"
    assert answer.sentences[1].startswith("Not sure: Gen3 x16 is assumed; with it, ")


def test_a_nic_on_a_machine_is_simulated() -> None:
    answer = whole(pcielab.why(frames("niantic-dpdk"), profile="hsw2620"))
    assert answer.binds not in (None, "latency"), "a resource holds the packets in flight"
    assert bars(answer, "value")["simulated"] < bars(answer, "bound")["wire-upstream"]
    assert "link.tags 32 -> 64" in {change.what for change in answer.changes}


def test_a_store_of_transfers_has_gains_that_were_simulated(quick_answer: Why) -> None:
    answer = quick_answer
    assert answer.binds == "device-rate"
    assert "40 tests of bandwidth" in answer.sentences[0]
    assert answer.change is not None
    assert answer.change.after > answer.change.before
    assert len(answer.rows) == 40


def test_one_test_of_a_store_is_asked_about_alone(quick: Store) -> None:
    [test] = [
        row["id"]
        for row in quick.tests.to_dict("records")
        if (row["operation"], row["size_bytes"], row["cache"], row["window_bytes"])
        == ("bw-rd", 64, "host-warm", 8192)
    ]
    answer = whole(pcielab.why(quick, tests=[str(test)]))
    assert answer.binds == "tags"
    assert answer.change is not None
    assert answer.change.what == "link.tags 32 -> 64"
    doubled = pcielab.simulate(
        pcielab.load_system("hsw2620").with_(link_tags=64), single_test("bw-rd", cache="host-warm")
    )
    assert answer.change.after == pytest.approx(doubled.scalars["bandwidth"].iloc[0], rel=0.01)


def test_latencies_of_a_store_have_no_bound_and_a_change(latency_answer: Why) -> None:
    answer = latency_answer
    assert (answer.binds, answer.unit) == (None, "ns")
    assert answer.change is not None
    assert answer.change.after < answer.change.before
    assert answer.change.gain_percent > 0


def test_a_measured_value_of_one_test_is_compared_with_bound_and_simulation() -> None:
    answer = whole(pcielab.why(single_test("bw-wr", size=256), measured=25.3))
    assert answer.binds == "device-port"
    assert "the link at x4" in answer.certainty.reason
    value = bars(answer, "cause")["the link at x4"]
    halved = pcielab.simulate(pcielab.load_system("hsw2620").with_(link_lanes=4), single_test("bw-wr", size=256))
    assert value == pytest.approx(halved.scalars["bandwidth"].iloc[0], rel=0.01)


def test_a_measured_value_above_the_bound_of_a_test_is_said_so() -> None:
    answer = whole(pcielab.why(single_test("bw-wr", size=64), measured=40))
    assert "is more than device-rate allows, 24.3 Gb/s" in answer.sentences[0]
    assert answer.certainty.level == "not sure"


def test_an_io_tlb_that_is_too_small_is_answered_by_larger_pages() -> None:
    answer = whole(pcielab.why(single_test("bw-rd", size=64, window="64M"), profile="ib-000-nosp"))
    assert answer.binds == "page-walks"
    assert answer.change is not None
    assert answer.change.what == "iommu four-kib-pages -> super-pages"


@pytest.mark.parametrize(
    ("operation", "system", "sets", "binds", "change"),
    [
        ("bw-wr", "clx-6234", "host.load.cores=6", "memory", "host.load.cores 6 -> 3"),
        (
            "bw-wr",
            "clx-6234",
            "host.root_complex.write_ns=900",
            "write-pool",
            "host.root_complex.write_pool_lines 92 -> ",
        ),
        (
            "bw-rd",
            "clx-6234",
            "host.root_complex.read_pool_lines=64",
            "read-pool",
            "host.root_complex.read_pool_lines 64 -> ",
        ),
    ],
)
def test_a_bound_of_the_host_is_answered_by_a_change_of_the_host(
    operation: str, system: str, sets: str, binds: str, change: str
) -> None:
    answer = whole(pcielab.why(single_test(operation, size=512), profile=system, sets=[sets]))
    assert answer.binds == binds
    assert f"by {change}" in answer.sentences[2]
    assert answer.change is not None
    assert answer.change.of == "host"
    assert answer.change.gain_percent > 50


@pytest.mark.parametrize(
    ("nic", "system", "sets", "binds", "change"),
    [
        ("niantic-kernel", "clx-6234", ["host.load.cores=6"], "memory", "host.load.cores 6 -> 3"),
        *(
            pytest.param("connectx-6-kernel", *rest, marks=pytest.mark.slow)
            for rest in (
                ("clx-6234", ["host.load.cores=6"], "memory", "host.load.cores 6 -> 3"),
                ("icx-6346", [], "translation", "iommu four-kib-pages -> "),
                ("clx-6234", [*STRICT], "translation", "iommu four-kib-pages -> "),
            )
        ),
    ],
)
def test_a_nic_on_a_loaded_host_is_answered_by_a_change_of_the_host(
    nic: str, system: str, sets: list[str], binds: str, change: str
) -> None:
    work = Frames(model.load_nic(nic), [1500], Ethernet(line_gbps=200), "rx")
    answer = whole(pcielab.why(work, profile=system, sets=sets))
    assert answer.binds == binds
    assert "the link has time to spare" in answer.sentences[0]
    assert f"by {change}" in answer.sentences[2]


@pytest.mark.slow
def test_more_page_walkers_help_a_nic_whose_pages_come_anew() -> None:
    work = Frames(model.load_nic("connectx-6-kernel"), [1500], Ethernet(line_gbps=200), "rx")
    answer = pcielab.why(work, profile="icx-6346")
    gains = {change.what: change.gain_percent for change in answer.changes}
    assert gains["host.iommu.walkers 2 -> 4"] > 25
    assert gains["link.generation 4 -> 5"] < 1


def test_a_measured_latency_is_compared_with_the_simulated_one() -> None:
    answer = whole(pcielab.why(single_test("lat-rd", size=64), measured=800))
    assert answer.certainty.level == "not sure"
    assert "+33 %" in answer.certainty.reason


def test_a_fabric_names_the_edge_and_what_doubling_it_gives() -> None:
    testbed = fabric.load("fabrex-u55c")
    answer = whole(pcielab.why("fabrex-u55c"))
    assert answer.binds == "H->S"
    rows = fabric.influences(testbed, testbed.flows()).query("change == 'double' and what == 'H->S'")
    assert answer.change is not None
    assert answer.change.after == pytest.approx(rows["then_gbytes_per_s"].sum())


def test_a_flow_that_asks_for_nothing_is_answered(tmp_path: Path) -> None:
    text = """name = "idle"
title = "Idle"
[provenance]
source = "assumptions"
[[node]]
name = "h"
kind = "host"
[[node]]
name = "g"
kind = "gpu"
upper = "h"
link = "gen4x16"
[[flow]]
source = "h"
destination = "g"
standalone_gbytes_per_s = 0
"""
    (tmp_path / "idle.toml").write_text(text)
    answer = whole(pcielab.why(tmp_path / "idle.toml"))
    assert answer.changes == ()


def test_simulated_flows_that_wait_for_themselves_get_more_requests(tmp_path: Path) -> None:
    testbed = fabric.load("fabrex-u55c")
    points = fabric.flow_set(testbed.flows("latency"), "latency", "per-destination", 50.0)
    store = pcielab.run(fabric.Flows(testbed, points, "latency"), output=tmp_path / "flows.db")
    answer = whole(pcielab.why(store))
    assert answer.binds == "in-flight"
    assert answer.change is not None
    assert answer.change.what.startswith("twice as many requests in flight")
    assert answer.change.after > answer.change.before


def test_messages_of_a_store_are_answered_in_closed_form(tmp_path: Path) -> None:
    suite = pcielab.load_message_suite("kpio").only(["message_bandwidth_sizes"])
    answer = whole(pcielab.why(pcielab.run(suite, output=tmp_path / "messages.db")))
    assert answer.unit == "Gb/s"
    assert answer.change is not None
    assert {change.of for change in answer.changes} >= {"link", "test"}


def test_an_import_without_a_link_is_answered_without_a_bound(published: Path, tmp_path: Path) -> None:
    pcielab.formats.importers.import_pcie_bench(published, tmp_path / "import.db")
    answer = whole(pcielab.why(tmp_path / "import.db"))
    assert (answer.binds, answer.change, answer.certainty.level) == (None, None, "not sure")


def test_two_stores_are_answered_by_the_change_that_moves_most(quick: Store, tmp_path: Path) -> None:
    reads = pcielab.load_suite("quick").only(["bw_dma_win_sweep_rd_rnd_64"])
    narrow = pcielab.simulate(pcielab.load_system("hsw2620").with_(link_lanes=4), reads, tmp_path / "x4.db")
    answer = whole(pcielab.why(quick, narrow, tests=["BW_DMA_RD"]))
    assert answer.binds == "link.lanes 8 -> 4"
    assert answer.sentences[0].startswith("link.lanes 8 -> 4: reads")
    assert answer.change is not None
    assert answer.change.after < answer.change.before


def test_a_simulated_rate_is_that_of_a_run_and_refutes_no_bound() -> None:
    """Writes to this host fill its buffers first, which a short run counts as a rate above the bound."""
    test = single_test("bw-wr", size=64)
    answer = whole(pcielab.why(test, profile="gen5-x16"))
    run = pcielab.simulate("gen5-x16", test)
    assert bars(answer, "value")["simulated"] == pytest.approx(run.scalars["bandwidth"].iloc[0], rel=0.005)
    assert "more than" not in answer.sentences[0]
    assert "allowed by" not in answer.sentences[2]


def test_a_rate_far_below_the_simulated_one_that_fits_no_defect_is_told_as_a_pace() -> None:
    answer = whole(pcielab.why(single_test("bw-rd", size=64), profile="gen5-x16", measured=7))
    assert answer.change is None, "larger transfers do not mend what holds it at 3 % of the bound"
    assert "one transfer every 73.1 ns (13.7 in flight over a microsecond)" in answer.sentences[2]


def test_a_latency_that_falls_has_a_negative_percentage_and_one_baseline(latency_answer: Why) -> None:
    answer = latency_answer
    assert answer.change is not None
    fall = 100 * (answer.change.after / answer.change.before - 1)
    base = f"{answer.change.before:.0f}"
    assert f", {fall:+.0f} % on the simulated {base} ns" in answer.sentences[2]
    rows = {row["name"]: row["against_simulated_percent"] for row in answer.rows}
    assert rows[answer.change.what] == pytest.approx(fall)


def test_every_bound_that_binds_a_test_is_counted(quick_answer: Why) -> None:
    answer = quick_answer
    counted = [int(number) for number in re.findall(r" (\d+)", answer.sentences[0].partition(";")[2])]
    group = int(re.findall(r"binds (\d+) of", answer.sentences[0])[0])
    assert group + sum(counted) == len(answer.rows)


def test_no_known_cause_is_not_named_as_a_cause(tmp_path: Path) -> None:
    suite = pcielab.load_message_suite("kpio-mux")
    answer = whole(pcielab.why(pcielab.run(suite, output=tmp_path / "mux.db")))
    assert "no known cause" in {row["may_explain"] for row in answer.rows}
    assert "no known cause" not in str(answer)
    assert "--set KEY=VALUE" in answer.sentences[2], "its profile is known"


def test_an_answer_shows_its_sentences_and_its_picture(quick_answer: Why) -> None:
    answer = quick_answer
    assert repr(answer) == "\n".join(answer.sentences)
    assert set(answer._repr_mimebundle_()) == {"text/plain", "image/svg+xml"}


def test_a_single_difference_of_two_message_runs_is_sure(tmp_path: Path) -> None:
    suite = pcielab.load_message_suite("kpio").only(["message_latency_sizes"])
    changes: tuple[list[str], ...] = ([], ["host.root_complex.read_ns=2000"])
    runs = [
        pcielab.run(suite, output=tmp_path / f"{len(one)}.db", profile="kpio-2012", sets=one) for one in changes
    ]
    answer = whole(pcielab.why(*runs))
    assert answer.certainty.level == "sure"
    assert "messages by descriptors" in answer.sentences[0]


def test_two_runs_of_a_nic_are_compared_as_they_are(tmp_path: Path) -> None:
    work = Frames(model.load_nic("niantic-dpdk"), [64], HUNDRED)
    runs = [pcielab.run(work, output=tmp_path / f"{name}.db", profile=name) for name in ("ib-000", "snb")]
    answer = whole(pcielab.why(*runs))
    assert answer.certainty.level == "not sure"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"asked": 41}, "41: give a store, a fabric.*for one number"),
        ({"asked": "none.db"}, "none.db: no such store or fabric"),
        ({"asked": "fabrex-u55c", "measured": 3.0}, "--measured: a fabric has flows"),
        ({"asked": frames("simple-nic"), "measured": 0.0}, "--measured 0: give a value above 0"),
        ({"asked": frames("simple-nic"), "measured": float("nan")}, "--measured nan"),
        ({"asked": frames("simple-nic"), "flows": "x"}, "--flows: a NIC has"),
        ({"asked": Frames(model.load_nic("simple-nic"), [64, 128])}, "2 frame sizes: give one"),
        ({"asked": Frames(model.load_nic("simple-nic"), [64], Ethernet(line_gbps=99.0))}, "line_gbps is 99"),
        ({"asked": frames("simple-nic"), "profile": "snb", "link": LINK}, "a profile has its own link"),
        ({"asked": pcielab.load_suite("quick")}, "81 tests: give one"),
        ({"asked": single_test("bw-rd", size="1M", window="1M")}, "cannot run it"),
    ],
)
def test_bad_questions_are_refused(given: dict[str, object], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        pcielab.why(**given)  # type: ignore[arg-type]


@pytest.mark.long("a search of a NIC's changes, which the next test of this NIC shares")
def test_the_number_that_a_nic_holds_is_named_and_more_of_it_helps(fast_nic_answer: Why) -> None:
    work, answer = FAST_NIC, fast_nic_answer
    assert answer.binds == "descriptors-held"
    assert "it holds 128 descriptors, the most it can (assumed)" in answer.sentences[0]
    assert answer.change is not None
    assert list(answer.change.keys) == ["nic.queues.descriptors_held"]
    more = work.nic.with_({key.removeprefix("nic."): value for key, value in answer.change.keys.items()})
    run = pcielab.run(replace(work, nic=more), profile="gen5-x16")
    assert answer.change.after == pytest.approx(run.scalars["bandwidth"].iloc[0], rel=0.02)
    assert answer.change.gain_percent > 10


def test_credits_that_two_steps_relieve_are_named() -> None:
    sets = ["host.root_complex.posted_data_credits=256", "link.mrrs_bytes=4096"]
    answer = whole(pcielab.why(single_test("bw-rdwr", size=4096), profile="gen5-gpu", sets=sets))
    assert answer.binds == "posted-credits"
    assert answer.change is not None
    assert answer.change.what == "host.root_complex.posted_data_credits 256 -> 1024"
    assert answer.change.gain_percent > 100


def test_a_number_of_changes_that_none_helps_counts_all_that_were_tried() -> None:
    answer = whole(pcielab.why(Frames(model.load_nic("niantic-dpdk"), [1500]), profile="gen5-x16"))
    assert (answer.binds, answer.change) == ("line", None)
    assert len(answer.changes) > 60


def test_changes_of_a_bound_that_does_not_hold_the_rate_are_gains_of_the_bound_alone() -> None:
    """Half of the bound is lost elsewhere: a faster link promises nothing for the measured rate."""
    work = frames("niantic-dpdk", "rx")
    [found] = model.nic(work.nic, LINK, [64])
    assert found.rx is not None
    far_below = whole(pcielab.why(work, link=LINK, measured=found.rx.gbps * 0.4))
    assert far_below.sentences[2].startswith("The bound itself would rise most with ")
    near = whole(pcielab.why(work, link=LINK, measured=found.rx.gbps * 0.97))
    assert near.sentences[2].startswith("Most is gained by ")


def test_the_tags_of_the_device_are_counted_where_they_are_fewer() -> None:
    work = Frames(model.load_nic("niantic-dpdk"), [1500], Ethernet(line_gbps=200.0), "tx")
    answer = whole(pcielab.why(work, profile="gen5-x16", sets=["device.dma.tags=2"]))
    assert answer.binds == "tags"
    assert "all 2 tags are in use" in answer.sentences[0]


@pytest.mark.parametrize(
    ("sets", "outstanding", "words"),
    [
        (["device.dma.outstanding=4"], None, "with 4 DMAs in flight (assumed)"),
        ([], 2, "with 2 DMAs in flight"),
    ],
)
def test_a_bound_by_latency_names_what_is_in_flight(sets: list[str], outstanding: int | None, words: str) -> None:
    test = single_test("bw-rd", size=64, outstanding=outstanding)
    answer = whole(pcielab.why(test, profile="gen5-x16", sets=sets))
    assert answer.binds == "latency"
    assert words.removesuffix(" (assumed)") in answer.sentences[0]


def test_a_bound_that_hangs_on_a_guess_says_so_first() -> None:
    guessed = whole(pcielab.why(single_test("bw-rd", size=64), profile="gen5-x16"))
    assert "(assumed)" in guessed.sentences[0]
    assert guessed.certainty.level != "sure"
    assert re.match("on .*unmeasured value", guessed.certainty.reason)
    given = pcielab.why(single_test("bw-rd", size=64), profile="gen5-x16", sets=["link.tags=16"])
    assert "with 16 tags; " in given.sentences[0], "whoever asks gave it"
    measured = pcielab.why(single_test("bw-rd", size=64), profile="snb")
    assert "(assumed)" not in measured.sentences[0]


def test_a_store_is_explained_with_its_own_number(tmp_path: Path) -> None:
    """Its changes are ratios to what the simulator gives today."""
    path = tmp_path / "run.db"
    store = pcielab.simulate("hsw2620", single_test("bw-rd", cache="host-warm", transactions=3000), path)
    answer = whole(pcielab.why(store))
    stored = store.scalars["bandwidth"].iloc[0]
    assert f"the simulated {stored:.1f} Gb/s is" in answer.sentences[0]
    assert answer.change is not None
    ratio = 100 * (answer.change.after / answer.change.before - 1)
    assert f"{ratio:+.0f} % on the simulated {answer.change.before:.1f} Gb/s" in answer.sentences[2]


def test_the_frames_of_a_store_are_simulated_again_and_explained_with_their_own_rate(tmp_path: Path) -> None:
    work = replace(Frames(model.load_nic("niantic-dpdk"), [64, 1500], HUNDRED), packets=3000)
    store = pcielab.run(work, output=tmp_path / "nic.db", profile="ib-000")
    answer = whole(pcielab.why(store))
    assert "64 B frames" in answer.question, "1500 B come nearer to the line"
    stored = store.scalars["bandwidth"].iloc[0]
    assert f"niantic-dpdk at {stored:.1f} Gb/s" in answer.sentences[0]
    assert answer.change is not None
    assert answer.change.after > answer.change.before
    assert f"on the simulated {answer.change.before:.1f} Gb/s" in answer.sentences[2]


def test_a_faster_link_needs_another_device_too() -> None:
    answer = pcielab.why(frames("niantic-dpdk"), link=LINK)
    [faster] = [change for change in answer.changes if change.what == "link.generation 3 -> 4"]
    assert faster.who == "slot-and-device"
    assert "(slot and device)" in answer.sentences[2]


@pytest.mark.long("two searches of a NIC's changes, and runs at both ends of an interval")
def test_a_nic_that_hangs_on_a_guess_gives_the_rates_at_both_ends_of_its_interval(fast_nic_answer: Why) -> None:
    work, answer = FAST_NIC, fast_nic_answer
    interval = work.nic.assumed["queues.descriptors_held"]
    assert answer.certainty.level == "not sure"
    assert f"may be {interval.least} to {interval.most}" in answer.certainty.reason
    rates = [float(rate) for rate in re.findall(r"give ([\d.]+) to ([\d.]+) Gb/s", answer.certainty.reason)[0]]
    for end, rate in zip((interval.least, interval.most), rates, strict=True):
        run = pcielab.run(replace(work, nic=work.nic.with_({"queues.descriptors_held": end})), profile="gen5-x16")
        assert run.scalars["bandwidth"].iloc[0] == pytest.approx(rate, rel=0.02)
    few = {"queues.descriptors_held": 16, "queues.ring_descriptors": 256}
    given = pcielab.why(replace(work, nic=model.load_nic("connectx-7", few)), profile="gen5-x16").sentences[0]
    assert "it holds 16 descriptors" in given
    assert "(assumed)" not in given, "whoever asks gave it"


def test_the_answer_of_a_report_names_the_test_that_it_simulated_again(tmp_path: Path) -> None:
    reads, writes = single_test("bw-rd", size=64), single_test("bw-wr", size=256)
    both = Suite.of("two", "Two tests", [*reads.entries, *writes.entries])
    store = pcielab.run(both, profile="snb", output=tmp_path / "run.db")
    answer = why_stored(store)
    assert answer is not None
    assert answer.change is not None
    number = re.fullmatch(r"Test (\d) would rise most with .*", answer.sentences[2])
    assert number is not None, answer.sentences
    assert answer.bars[0].name.endswith(f"test {number[1]}, simulated")
    again = pcielab.run(
        (reads, writes)[int(number[1])],
        profile="snb",
        sets=[f"{key}={value}" for key, value in answer.change.keys.items()],
    )
    [gbps] = again.scalars["bandwidth"]
    assert gbps == pytest.approx(answer.change.after, rel=0.02)
