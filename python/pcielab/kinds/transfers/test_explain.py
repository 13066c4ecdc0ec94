"""Explained runs: names the bound that limits a simulated test, and no value exceeds its bound."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from pcielab import InputError, open_store, single_test
from pcielab._core import StoreWriter
from pcielab.devices.running import simulate
from pcielab.kinds.machine_facts import facts_of, facts_of_system
from pcielab.kinds.transfers.bounds import bounds_of_tests
from pcielab.kinds.transfers.explain import Row, explain_run
from pcielab.library import profiles
from pcielab.library.suites import load_suite
from pcielab.store import Store
from shell import pcielab

LSPCI = """\
04:00.0 Ethernet controller: Netronome Systems, Inc. Device 6000
	Control: I/O- Mem+ BusMaster+ SpecCycle-
	Capabilities: [80] Express (v2) Endpoint, MSI 00
		DevCap:	MaxPayload 512 bytes, PhantFunc 0
		DevCtl:	CorrErr+ NonFatalErr+ FatalErr+ UnsupReq+
			RlxdOrd+ ExtTag- PhantFunc- AuxPwr- NoSnoop+
			MaxPayload 256 bytes, MaxReadReq 512 bytes
		LnkCtl:	ASPM Disabled; RCB 64 bytes Disabled- CommClk+
		LnkSta:	Speed 8GT/s, Width x8, TrErr- Train-
	Capabilities: [100 v2] Advanced Error Reporting
		AERCap:	First Error Pointer: 00, GenCap+ CGenEn+ ChkCap+ ChkEn-
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The quick suite on a machine with 4 KiB pages in the IOMMU."""
    path = tmp_path_factory.mktemp("explain") / "run.db"
    simulate(profiles.resolve("ib-000-nosp"), load_suite("quick"), path)
    return open_store(path)


def imported(path: Path, attachments: dict[str, str], **manifest: object) -> Store:
    """A measured read of 64 B: without a profile, with the texts of its machine."""
    parameters = {
        "operation": "bw-rd", "path": "dma", "pattern": "random", "cache": "host-warm", "size_bytes": 64,
        "window_bytes": 8192, "host_offset_bytes": 0, "device_offset_bytes": 0, "stride_units": 1,
        "outstanding": None, "transactions": 8, "details": False,
    }  # fmt: skip
    latency = parameters | {"operation": "lat-rd", "path": "command"}
    tests = [("BW_DMA_RD", parameters, "bandwidth", "Gb/s", 32.0), ("LAT_CMD_RD", latency, "median", "ns", 480.0)]
    with StoreWriter.create(path, json.dumps({"origin": "measured", "system": None} | manifest)) as writer:
        for number, (name, given, metric, unit, value) in enumerate(tests):
            record = {"id": number, "family": "f", "name": name, "status": "ok"}
            text = json.dumps(given, sort_keys=True, separators=(",", ":"))
            scalars = [{"metric": metric, "unit": unit, "value": value}]
            writer.write_test(json.dumps(record | {"parameters": text, "scalars": scalars}))
        for name, content in attachments.items():
            writer.attach(name, content)
    return open_store(path)


def rows(store: Store, *tests: str) -> list[Row]:
    return explain_run(store, tests).rows


def one(store: Store, name: str, size: int, window: int, cache: str = "host-warm") -> Row:
    wanted = {"size_bytes": size, "window_bytes": window, "cache": cache}
    [row] = [row for row in rows(store, name) if wanted.items() <= row.parameters.items()]
    return row


def test_no_simulated_bandwidth_is_above_its_bound(run: Store) -> None:
    explained = rows(run)
    assert len(explained) == 40
    # Adaptive sampling knows a bandwidth to a quarter of a percent.
    assert max(row.share for row in explained) <= 1.0025


def test_tags_bind_small_reads_and_the_device_small_writes(run: Store) -> None:
    read = one(run, "BW_DMA_RD", 64, 8192)
    assert read.answer.bound == "tags"
    assert read.round_trip is not None
    assert read.answer.gbps == pytest.approx(32 * 64 * 8 / read.round_trip.ns)
    # As on the measured machine: 64 B reads reach 0.94 of the tags bound.
    assert read.share > 0.9
    assert "tags are used in order, completions come out of order" in read.reasons
    write = one(run, "BW_DMA_WR", 64, 8192)
    assert write.answer.bound == "device-rate"
    engine = profiles.resolve("ib-000-nosp").system.device.dma.engine
    assert write.answer.gbps == pytest.approx(64 * 8 / (engine.write_fixed_ns + engine.segment_ns))
    assert write.share > 0.99
    assert write.round_trip is None


def test_root_port_binds_large_reads_before_the_wire(run: Store) -> None:
    answer = one(run, "BW_DMA_RD", 2048, 8192).answer
    assert [ceiling.bound for ceiling in answer.ceilings[:2]] == ["root-port", "wire-downstream"]


def test_slow_request_intake_of_the_host_binds(tmp_path: Path) -> None:
    slow = profiles.resolve("ib-000-nosp", {"host.root_complex.request_interval_ns": "40"})
    simulate(slow, single_test("bw-rd", size=64, window="8K", cache="host-warm"), tmp_path / "run.db")
    row = one(open_store(tmp_path / "run.db"), "BW_DMA_RD", 64, 8192)
    assert row.answer.bound == "request-rate"
    assert row.answer.gbps == pytest.approx(64 * 8 / 40)
    assert row.share > 0.99


def test_names_the_io_tlb_for_large_windows(run: Store) -> None:
    assert one(run, "BW_DMA_RD", 64, 64 << 20, "cold").answer.bound == "page-walks"
    far = one(run, "BW_DMA_RD", 64, 1 << 20, "cold")
    assert far.share < 0.95
    assert far.reasons[0].startswith("IO-TLB: 256 pages of 4 KiB over 12")
    assert far.reasons[1:] == ("cold memory (cold)",)
    assert one(run, "BW_DMA_WR", 64, 1 << 20).reasons[0].startswith("IO-TLB: 256 pages")


def test_names_stalls_for_writes_on_an_idle_machine(tmp_path: Path) -> None:
    system = profiles.resolve("e3", {"host.idle.stalls.interval_spread": "0"})
    simulate(system, load_suite("quick").only(["bw_dma_sz_sweep"]), tmp_path / "run.db")
    explained = rows(open_store(tmp_path / "run.db"))
    assert {row.name for row in explained} == {"BW_DMA_RD", "BW_DMA_WR", "BW_DMA_RW"}
    for row in explained:
        stalls = [reason for reason in row.reasons if "stalls of 2.0 ms" in reason]
        assert len(stalls) == (row.name == "BW_DMA_WR"), row


def test_notes_the_latencies_left_out(run: Store) -> None:
    assert any(note.startswith("41 tests of latency left out") for note in explain_run(run).notes)
    assert explain_run(run, ["LAT_DMA_RD"]).rows == []


def test_chooses_tests_by_number_or_part_of_a_name(run: Store) -> None:
    assert [row.test for row in rows(run, "42", "50")] == [42, 50]
    assert {row.family for row in rows(run, "bw_dma_sz")} == {"bw_dma_sz_sweep"}
    with pytest.raises(InputError, match=r"--test 81: matches no test of .*: give a number \(0 to 80\)"):
        rows(run, "81")


def test_header_length_follows_addresses_with_and_without_a_system() -> None:
    facts = facts_of_system(profiles.resolve("snb").system)
    bare = replace(facts, system=None)
    tests = [
        single_test("bw-wr", size=size, window=window).tests[0]["parameters"]
        for size in (64, 256)
        for window in ("8M", "16M", "64M")
    ]
    # The fourth of sixteen pieces of the buffer is the first of three that are below 4 GiB.
    assert [facts.low_share(test) for test in tests[:3]] == [0.0, 1 / 4, 3 / 16]
    for known, unknown in zip(bounds_of_tests(facts, tests), bounds_of_tests(bare, tests), strict=True):
        assert known is not None
        assert unknown is not None
        wire = {one.bound: one.gbps for one in known.answer.ceilings}["wire-upstream"]
        assert unknown.answer.gbps == pytest.approx(wire, rel=0.002)


def test_import_takes_the_link_from_lspci(tmp_path: Path) -> None:
    attachments = {"sys-lspci.txt": LSPCI, "sys-dma-addrs.txt": "0xffc00000\n0xff800000\n"}
    store = imported(tmp_path / "run.db", attachments, host={"buffer_bytes": 8 << 20})
    explanation = explain_run(store)
    assert explanation.facts is not None
    link = explanation.facts.model_link
    assert (link.generation, link.lanes, link.mps_bytes, link.mrrs_bytes) == (3, 8, 256, 512)
    [row] = explanation.rows
    assert (link.ecrc, explanation.facts.low_share(row.parameters)) == (True, 1.0)
    assert row.answer.bound == "tags"
    assert row.answer.gbps == pytest.approx(32 * 64 * 8 / 480)
    assert row.reasons == ("latency under load: not known",)
    assert any("only link and tags" in note for note in explanation.notes)


GPU = {"name": "a GPU", "link": {"rate_gtps": 32.0, "lanes": 16, "mps_bytes": 256, "mrrs_bytes": 512}}


def test_reported_link_goes_before_the_published_card(tmp_path: Path) -> None:
    alone = facts_of(imported(tmp_path / "alone.db", {}, device=GPU))
    assert (alone.link.generation, alone.link.lanes, alone.tags) == (5, 16, None)
    assert any("no bound from tags" in note for note in alone.missing)
    # The text shows the published card, at another address.
    beside = imported(
        tmp_path / "beside.db", {"sys-lspci.txt": LSPCI}, device=GPU | {"vendor_id": 0x10DE, "device_id": 1}
    )
    with pytest.raises(InputError, match="10de:0001"):
        facts_of(beside)
    [row] = rows(imported(tmp_path / "row.db", {}, device=GPU))
    assert row.answer.bound.startswith("wire")
    assert row.answer.gbps > 100


def test_negotiated_link_goes_before_its_capability(tmp_path: Path) -> None:
    conditions = [
        {"metric": "link_rate", "unit": "GT/s", "value": 8.0},
        {"metric": "link_lanes", "unit": "1", "value": 8.0},
    ]
    facts = facts_of(imported(tmp_path / "slow.db", {}, device=GPU, conditions_before=conditions))
    assert (facts.link.generation, facts.link.lanes) == (3, 8)


def test_lspci_adds_tags_and_ecrc_to_a_reported_link(tmp_path: Path) -> None:
    device = {"name": "card", "address": "0000:04:00.0", "link": GPU["link"]}
    facts = facts_of(imported(tmp_path / "both.db", {"sys-lspci.txt": LSPCI}, device=device))
    assert (facts.link.generation, facts.link.lanes, facts.link.ecrc, facts.tags) == (5, 16, True, 32)


def test_refuses_a_store_without_a_link(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no attachment sys-lspci\.txt"):
        explain_run(imported(tmp_path / "bare.db", {}))
    with pytest.raises(InputError, match="has no complete link"):
        explain_run(imported(tmp_path / "half.db", {}, system={"name": "half"}))


def test_command_prints_rows_with_their_origin(run: Store) -> None:
    done = pcielab("explain", run.path, "--test", "42", "--format", "csv")
    assert done.exit_code == 0
    [row] = csv.DictReader(done.stdout.splitlines())
    assert (row["origin"], row["bound"], row["posted_credits_gbps"]) == ("simulated", "tags", "")
    assert float(row["bound_gbps"]) == float(row["tags_gbps"])
    table = pcielab("explain", run.path, "--test", "BW_DMA").stdout
    assert "simulated values, modelled bounds (spec) for Gen3 x8, MPS 256, MRRS 512, 32 tags" in table


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--gen", "4"], "--gen: describes a link"),
        (["--sizes", "64"], "--sizes: describes a link"),
        (["--test", "nothing"], "--test nothing:"),
    ],
)
def test_command_refuses_options_of_a_link_for_a_run(run: Store, arguments: list[str], message: str) -> None:
    _refused(["explain", str(run.path), *arguments], message)


def test_choosing_tests_needs_a_run() -> None:
    _refused(["explain", "--test", "42"], "give RUN")


def _refused(arguments: list[str], message: str) -> None:
    done = pcielab(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
