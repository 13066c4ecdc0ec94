"""`run --trace`: traces of simulated tests, their exports read back, and numbers that do not change."""

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

import pcielab
from pcielab import RunOptions, open_store
from pcielab.store import Store
from shell import refuse, succeed

BEGIN, END = TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END
COUNTER = TrackEvent.TYPE_COUNTER
READ = ("--test", "bw-rd", "--size", "512", "--window", "1M", "--transactions", "2000", "--profile", "ib-000-nosp")
RUNS: dict[str, tuple[Any, ...]] = {
    "reads": READ,
    "latency": ("--test", "lat-wrrd", "--size", "300", "--transactions", "500", "--profile", "snb"),
    "nic": ("--nic", "niantic-dpdk", "--profile", "hsw2620", "--frames", "256"),
    "messages": ("--suite", "kpio-mux"),
    "loads": ("--suite", "accesses"),
    "lines": ("--test", "mem-rd", "--loads", "50%", "--lines", "2000"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("traced")


@pytest.fixture(scope="module")
def reads(folder: Path) -> Store:
    succeed("run", *READ, "--trace", "3us", "-o", folder / "reads.db")
    return open_store(folder / "reads.db")


@pytest.fixture(scope="module")
def nic(folder: Path) -> Store:
    succeed("run", *RUNS["nic"], "--trace", "4us", "-o", folder / "nic.db")
    return open_store(folder / "nic.db")


def parsed(store: Store, output: Path) -> tuple[Counter[int], dict[int, str]]:
    """The events of a file by type, and the names of its tracks, by Perfetto's definitions; slices nest."""
    succeed("export", "perfetto", store.path, "-o", output)
    trace = Trace()
    trace.ParseFromString(output.read_bytes())
    names: dict[int, str] = {}
    types, last, depth = Counter[int](), dict[int, int](), Counter[int]()
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id
        if packet.HasField("track_descriptor"):
            described = packet.track_descriptor
            assert described.uuid not in names
            assert not described.parent_uuid or described.parent_uuid in names
            names[described.uuid] = described.name or described.process.process_name
            continue
        event = packet.track_event
        types[event.type] += 1
        assert event.track_uuid in names
        assert packet.timestamp >= last.get(event.track_uuid, 0), "times of a track ascend"
        last[event.track_uuid] = packet.timestamp
        depth[event.track_uuid] += {BEGIN: 1, END: -1}.get(event.type, 0)
        assert depth[event.track_uuid] >= 0
    assert set(depth.values()) == {0}, "every slice ends"
    return types, names


def counts(store: Store) -> Counter[str]:
    return Counter(str(kind) for test in store.tests["id"] for kind in store.trace(int(test))["kind"])


@pytest.mark.parametrize("name", ["reads", "nic"])
def test_perfetto_reads_every_slice_and_every_value(
    name: str, folder: Path, request: pytest.FixtureRequest
) -> None:
    store = request.getfixturevalue(name)
    types, names = parsed(store, folder / f"{name}.pftrace")
    of_store = counts(store)
    assert types[BEGIN] == types[END] == of_store["tlp"] + of_store["phase"] > 100
    assert types[COUNTER] == of_store["counter"] > 10
    assert {"link up", "link down"} <= set(names.values())
    assert any(track.startswith("device, tag ") for track in names.values())
    assert "tags in use" in names.values()
    # JSON has the same.
    succeed("export", "perfetto", store.path, "-o", folder / f"{name}.json")
    events = json.loads((folder / f"{name}.json").read_text())["traceEvents"]
    assert Counter(event["ph"] for event in events)["X"] == types[BEGIN]


def test_perfetto_reads_the_requests_of_a_fabric(folder: Path) -> None:
    store = folder / "fabric.db"
    succeed(
        *("fabric", "run", "fabrex-u55c", "--flows", "latency", "--duration-us", "30", "--warm-up-us", "5"),
        *("--trace", "-o", store),
    )
    succeed("export", "requests", store, "-o", folder / "requests.csv")
    with (folder / "requests.csv").open() as lines:
        requests = list(csv.DictReader(lines))
    types, _ = parsed(open_store(store), folder / "fabric.pftrace")
    # A request with a command has four phases, one of MMIO two.
    phases = sum(4 if row["reached_ns"] else 2 for row in requests)
    assert types[BEGIN] == len(requests) + phases > 10


def test_a_trace_shows_the_settings_of_the_link(reads: Store) -> None:
    trace = reads.trace(0)
    tlps = trace[trace["kind"] == "tlp"]
    asked, answers = tlps[tlps["name"] == "MRd"], tlps[tlps["name"] == "CplD"]
    link = reads.require_system().link
    assert asked["bytes"].max() == link.mrrs_bytes
    assert answers["bytes"].max() <= link.mps_bytes
    answered = answers.groupby("request")["bytes"].sum()
    assert (answered <= asked.set_index("request")["bytes"].loc[answered.index]).all()
    tags = trace[trace["name"] == "tags in use"]["value"]
    assert 0 <= tags.min() <= tags.max() <= link.tags
    assert {"device", "root port", "iommu", "memory"} <= {*trace["lane"]} | {"iommu"}


@pytest.mark.parametrize("name", RUNS)
def test_a_trace_changes_no_number(name: str, tmp_path: Path) -> None:
    plain, traced = tmp_path / "plain.db", tmp_path / "traced.db"
    succeed("run", *RUNS[name], "-o", plain)
    succeed("run", *RUNS[name], "--trace", "2", "-o", traced)
    stores = [open_store(plain), open_store(traced)]
    records = [list(store.records()) for store in stores]
    kept = [record.pop("trace", []) for record in records[1]]
    assert records[0] == records[1]
    assert all(kept)
    assert "phase" in {row["kind"] for rows in kept for row in rows}
    manifests = [{**store.manifest} for store in stores]
    assert manifests[1].pop("trace_ns") == 2000.0
    assert manifests[1].pop("format")["schema"] == 3
    assert manifests[0].pop("format")["schema"] == 2
    for manifest in manifests:
        del manifest["started"]
    assert manifests[0] == manifests[1]


def test_the_same_run_has_the_same_trace(reads: Store, folder: Path) -> None:
    succeed("run", *READ, "--trace", "3", "--engine", "fast", "-o", folder / "again.db")
    for store in (reads.path, folder / "again.db"):
        succeed("export", "json", store, "-o", f"{store}.json")
    assert Path(f"{reads.path}.json").read_bytes() == (folder / "again.db.json").read_bytes()


def test_a_trace_is_a_capture_a_table_and_a_picture(reads: Store, folder: Path) -> None:
    assert "without data (simulated)" in succeed("export", "pcapng", reads.path, "-o", folder / "a.pcapng").stderr
    content = (folder / "a.pcapng").read_bytes()
    assert content.startswith(b"\n\r\r\n")
    succeed("export", "capture", reads.path, "--as", "list", "-o", folder / "a.csv")
    with (folder / "a.csv").open() as lines:
        listed = sum(1 for line in lines if line.strip() and not line.startswith("#")) - 1
    assert listed == counts(reads)["tlp"]
    succeed("export", "trace", reads.path, "-o", folder / "trace.csv")
    with (folder / "trace.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == counts(reads).total()
    assert {row["origin"] for row in rows} == {"simulated"}
    succeed("export", "svg", reads.path, "-o", folder / "a.svg")
    picture = (folder / "a.svg").read_text()
    assert "SIMULATED" in picture
    assert all(f">{lane}<" in picture for lane in ("device", "link up", "root port", "link down"))


def test_a_report_shows_the_waterfall_and_how_to_open_the_trace(reads: Store, folder: Path) -> None:
    succeed("report", reads.path, "-o", folder / "report.html")
    page = (folder / "report.html").read_text()
    assert 'data-figure="waterfall"' in page
    assert "perfetto reads.db -o trace.pftrace" in page


def test_runs_without_traces_and_wrong_times_are_refused(reads: Store, tmp_path: Path) -> None:
    succeed("run", *RUNS["latency"], "-o", tmp_path / "plain.db")
    for form in ("trace", "pcapng", "svg"):
        message = refuse("export", form, tmp_path / "plain.db", "-o", tmp_path / "x.svg")
        assert "--trace 20us" in message, form
    assert "has no trace of it: give 0" in refuse(
        "export", "svg", reads.path, "--test", "9", "-o", tmp_path / "x.svg"
    )
    assert "--trace" in refuse("run", *RUNS["latency"], "--trace", "1s", "-o", tmp_path / "a.db")
    assert "--trace 5us: is for" in refuse("run", "--device", "cpu", "--trace", "5", "-o", tmp_path / "a.db")
    with pytest.raises(pcielab.InputError, match=r"give 0\.001 to 10000 microseconds"):
        RunOptions(trace=0)
    # A run without a trace is no part of one with it.
    message = refuse("run", *RUNS["latency"], "--trace", "2", "--resume", "-o", tmp_path / "plain.db")
    assert "trace_ns" in message


def test_a_trace_is_explained_and_listed_as_the_capture_that_it_is(reads: Store, folder: Path) -> None:
    found = json.loads(succeed("tlp", "explain", reads.path, "--format", "json").stdout)
    assert found["simulated"]
    assert found["link"]["alike"] == ["gen3x8"]
    assert (found["settings"]["mps_bytes"], found["settings"]["mrrs_bytes"]) == (256, 512)
    for form in ("cyrozap", "list", "text"):
        succeed("export", "capture", reads.path, "--as", form, "-o", folder / f"again.{form}")
        again = json.loads(succeed("tlp", "explain", folder / f"again.{form}", "--format", "json").stdout)
        for key in ("link", "moved", "binding", "latency"):
            assert again[key] == found[key], (form, key)
        assert again["acknowledgements"]["sent_again"] == 0
    rows = list(csv.DictReader(succeed("tlp", "list", reads.path, "--format", "csv").stdout.splitlines()))
    assert sum(row["status"] == "SC" for row in rows) == found["latency"]["count"]
    assert "--test 7" in refuse("tlp", "explain", reads.path, "--test", "7")
    assert "--test 0: is of runs with --trace" in refuse("tlp", "list", folder / "again.list", "--test", "0")
