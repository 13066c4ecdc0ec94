"""A user's own fabric, flows and experiments, written from the documentation: every command accepts them."""

import csv
import json
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest

from pcielab import fabric, open_store
from pcielab.report import figures
from shell import refuse, succeed

FABRIC = """
name = "rack"
title = "A server with two drives behind a switch"
mps_bytes = 256

[provenance]
source = "Invented for a test"

[hosts.blade]
memory_read_ns = 90.0
software_ns = 200.0
memory_bytes = "1G"
sockets = 2
other_socket_ns = 25.0

[devices.ssd.engine]
execution_ns = 300.0
tags = 64
peer_requests = 32
completion_bytes = 16
packet_bytes = 64
read = { interval_ns = 100.0, bytes_per_ns = 40.0 }
write = { interval_ns = 60.0, bytes_per_ns = 40.0 }

[[devices.ssd.memories]]
name = "buffer"
size_bytes = "64M"
bar_bytes = "64M"
bar_read_ns = 80.0
bar_write_ns = 40.0
engine_ns = 30.0
bar_read_gbytes_per_s = 6.0
bar_write_gbytes_per_s = 6.0
alignment_bytes = 32

[[node]]
name = "blade-1"
kind = "host"
delay_ns = 120.0
host = "blade"

[[node]]
name = "leaf"
kind = "external-switch"
delay_ns = 110.0

[[node]]
name = "ssd-1"
kind = "device"
delay_ns = 100.0
device = "ssd"
bar_addresses = { buffer = 0x20_0000_0000 }

[[node]]
name = "ssd-2"
kind = "device"
delay_ns = 100.0
device = "ssd"
bar_addresses = { buffer = 0x30_0000_0000 }

[[link]]
upper = "blade-1"
lower = "leaf"
generation = 4
lanes = 4

[[link]]
upper = "leaf"
lower = "ssd-1"
generation = 4
lanes = 4

[[link]]
upper = "leaf"
lower = "ssd-2"
generation = 3
lanes = 4

[flows]
default = "night"

[[flows.sets.night]]
name = "backup, first"
source = "blade-1"
destination = "ssd-1"
primitive = "h2d"
size_bytes = "64K"
outstanding = 8

[[flows.sets.night]]
name = "=restore"
source = "ssd-2"
destination = "blade-1"
primitive = "d2h"
size_bytes = 4096
outstanding = 4

[[flows.sets.night]]
name = "log"
source = "blade-1"
destination = "ssd-2"
primitive = "h2d"
size_bytes = 64

[[flows.sets.night]]
name = "off"
source = "blade-1"
destination = "ssd-2"
primitive = "h2d"
standalone_gbytes_per_s = 0

[[flows.sets.night]]
name = "hoped for"
source = "ssd-1"
destination = "ssd-2"
primitive = "d2d-write"
standalone_gbytes_per_s = 40.0
outstanding = 8
"""
SUITE = """
name = "sizes"
title = "Sizes, alone and beside another"
fabric = "rack"

[provenance]
source = "Invented for a test"

[[experiment]]
family = "write sizes"
series = "alone"
duration_us = 60.0
sweep = "probe.size_bytes"
values = [64, 4096]
flows = [{ name = "probe", source = "blade-1", destination = "ssd-1", primitive = "h2d", outstanding = 4 }]

[[experiment]]
family = "write sizes"
series = "beside"
duration_us = 60.0
sweep = "probe.size_bytes"
values = [64, 4096]
flows = [
    { name = "probe", source = "blade-1", destination = "ssd-1", primitive = "h2d", outstanding = 4 },
    { name = "other", source = "blade-1", destination = "ssd-2", primitive = "h2d", outstanding = 16 },
]
"""
FLOWS = ["backup, first", "=restore", "log", "off", "hoped for"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fabric and the suite, and a run of each."""
    made = tmp_path_factory.mktemp("own")
    (made / "rack.toml").write_text(FABRIC, encoding="utf-8")
    (made / "sizes.toml").write_text(SUITE, encoding="utf-8")
    succeed("fabric", "run", made / "rack.toml", "--trace", "-o", made / "night.db")
    succeed("fabric", "run", made / "rack.toml", "--suite", made / "sizes.toml", "-o", made / "sizes.db")
    return made


def rows_of(text: str) -> list[dict[str, str]]:
    rows = list(csv.DictReader(text.splitlines()))
    assert rows
    assert not [key for key in rows[0] if all(row[key] == "" for row in rows)], "no column is empty"
    assert "nan" not in text.lower()
    return rows


def test_estimates_from_simulated_standalones_are_checked_by_simulation(folder: Path) -> None:
    shown = succeed("fabric", "estimate", folder / "rack.toml", "--standalone", "simulated", "--format", "json")
    found = {row["flow"]: row for row in json.loads(shown.stdout)}
    assert list(found) == FLOWS
    assert "flow hoped for: standalone_gbytes_per_s is 40: its path carries at most 3.6" in shown.stderr
    # One request of 64 B at a time cannot fill a link; an estimate from links alone would give it a full share.
    assert found["log"]["gbytes_per_s"] == found["log"]["standalone_gbytes_per_s"] < 0.05
    assert abs(found["log"]["error_percent"]) < 30
    assert found["backup, first"]["error_percent"] == pytest.approx(0, abs=5)
    assert (found["off"]["gbytes_per_s"], found["off"]["error_percent"]) == (0, None)
    declared = succeed("fabric", "estimate", folder / "rack.toml", "--format", "json").stdout
    assert next(row for row in json.loads(declared) if row["flow"] == "log")["gbytes_per_s"] > 1


def test_a_small_flow_beside_a_large_one_gets_a_smaller_estimate() -> None:
    testbed = fabric.load("fabrex-u55c")
    large = fabric.Flow(
        name="large", source="host1", destination="A", primitive="h2d", size_bytes=65536, outstanding=16
    )
    small = fabric.Flow(name="small", source="host1", destination="C", primitive="h2d", size_bytes=64)
    flows = pd.DataFrame([asdict(large), asdict(small)])
    alone = fabric.simulated_standalones(testbed, flows)
    together = fabric.simulate(testbed, flows).flows
    compared = fabric.check_by_simulation(fabric.estimate(testbed, alone).flows, together)
    assert compared["gbytes_per_s"].tolist() == pytest.approx([8.74, 0.0163], rel=0.01)
    assert compared["error_percent"].abs().max() < 5
    from_links = fabric.estimate(testbed, flows).flows["gbytes_per_s"]
    assert from_links.tolist() == pytest.approx([5.775, 5.775])


def test_a_run_prints_phases_of_each_flow(folder: Path) -> None:
    shown = succeed("fabric", "run", folder / "rack.toml", "-o", folder / "again.db", "--format", "csv").stdout
    rows = {row["flow"]: row for row in rows_of(shown)}
    assert list(rows) == ["backup, first", "'=restore", "log", "off", "hoped for"]
    log = {key: float(value) for key, value in rows["log"].items() if key not in ("flow", "fits")}
    assert log["host_ns"] == 200.0
    assert log["host_ns"] + log["fabric_ns"] + log["device_ns"] == pytest.approx(log["average_ns"])


@pytest.mark.parametrize("name", ["night", "sizes"])
def test_tables_have_a_row_for_each_flow_and_no_empty_column(folder: Path, name: str) -> None:
    succeed("export", "csv", folder / f"{name}.db", "-o", folder / f"{name}.csv")
    rows = rows_of((folder / f"{name}.csv").read_text(encoding="utf-8"))
    assert {row["origin"] for row in rows} == {"simulated"}
    assert len(rows) == {"night": 5, "sizes": 6}[name]
    succeed("export", "parquet", folder / f"{name}.db", "-o", folder / f"{name}.parquet")
    parquet = pd.read_parquet(folder / f"{name}.parquet")
    assert parquet["gbytes_per_s"].tolist() == [float(row["gbytes_per_s"]) for row in rows]


def test_every_request_of_a_traced_run_is_exported(folder: Path) -> None:
    succeed("export", "requests", folder / "night.db", "-o", folder / "requests.parquet")
    requests = pd.read_parquet(folder / "requests.parquet")
    succeed("export", "requests", folder / "night.db", "-o", folder / "requests.csv")
    assert len(pd.read_csv(folder / "requests.csv")) == len(requests)
    table = fabric.flow_table(open_store(folder / "night.db")).set_index("flow")
    counted = requests.groupby("flow").size()
    assert counted.to_dict() == {name: table.loc[name, "requests"] for name in FLOWS if name != "off"}
    log = requests[requests["flow"] == "log"]
    assert log["total_ns"].mean() == pytest.approx(table.loc["log", "average_ns"])
    assert (log["reached_ns"] > log["submitted_ns"] + log["host_ns"]).all()
    message = refuse("export", "requests", folder / "sizes.db", "-o", folder / "none.parquet")
    assert "fabric run --trace" in message


def test_a_trace_has_a_slice_for_each_request_and_its_phases(folder: Path) -> None:
    succeed("export", "perfetto", folder / "night.db", "-o", folder / "trace.json")
    trace = json.loads((folder / "trace.json").read_text(encoding="utf-8"))
    threads = [event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "thread_name"]
    assert [threads.count(name) for name in FLOWS] == [8, 4, 1, 0, 8]
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    whole = [one for one in slices if one["name"].startswith("request ")]
    assert trace["otherData"]["origin"] == "simulated"
    by_thread: dict[int, list[dict[str, float]]] = {}
    for one in whole:
        by_thread.setdefault(one["tid"], []).append(one)
    for requests in by_thread.values():
        ends = [one["ts"] + one["dur"] for one in requests]
        assert all(end <= later["ts"] + 1e-6 for end, later in zip(ends, requests[1:], strict=False)), "no overlap"
    parts = [one for one in slices if one not in whole]
    assert sum(one["dur"] for one in parts) == pytest.approx(sum(one["dur"] for one in whole))


def test_a_trace_keeps_the_rules_of_the_trace_event_format(folder: Path) -> None:
    succeed("export", "perfetto", folder / "night.db", "-o", folder / "rules.json")
    trace = json.loads((folder / "rules.json").read_text(encoding="utf-8"), parse_float=Decimal)
    assert trace["displayTimeUnit"] in ("ms", "ns")
    open_slices: dict[tuple[int, int], list[int]] = {}
    for event in trace["traceEvents"]:
        assert isinstance(event["pid"], int)
        assert isinstance(event["name"], str)
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name")
            assert isinstance(event["args"]["name"], str)
            continue
        assert event["ph"] == "X"
        # Readers keep whole nanoseconds, and drop a slice that ends after the slice that contains its start.
        start, length = (int(Decimal(event[key]) * 1000) for key in ("ts", "dur"))
        assert start >= 0
        assert length >= 0
        ends = open_slices.setdefault((event["pid"], event["tid"]), [])
        while ends and ends[-1] <= start:
            ends.pop()
        assert not ends or start + length <= ends[-1], event
        ends.append(start + length)
    assert open_slices


def test_a_report_of_two_runs_distinguishes_their_flows(folder: Path, tmp_path: Path) -> None:
    succeed("fabric", "run", folder / "rack.toml", "--discipline", "fifo", "-o", tmp_path / "other.db")
    succeed("report", folder / "night.db", tmp_path / "other.db", "-o", tmp_path / "both.html")
    stores = [open_store(folder / "night.db"), open_store(tmp_path / "other.db")]
    figure = figures.flow_phases(stores, str(stores[0].tests["family"].iloc[0]))
    [data] = json.loads(figure.to_json())["datasets"].values()
    assert len({row["label"] for row in data if row["label"].startswith("log, ")}) == 2


@pytest.mark.parametrize("name", ["requests", "perfetto"])
def test_an_existing_output_is_replaced_only_with_overwrite(folder: Path, tmp_path: Path, name: str) -> None:
    output = tmp_path / "output"
    succeed("export", name, folder / "night.db", "-o", output)
    assert "exists already" in refuse("export", name, folder / "night.db", "-o", output)
    succeed("export", name, folder / "night.db", "-o", output, "--overwrite")


def test_two_runs_of_a_fabric_are_compared_flow_by_flow(folder: Path) -> None:
    text = (folder / "rack.toml").read_text(encoding="utf-8")
    (folder / "wide.toml").write_text(text.replace("lanes = 4", "lanes = 8", 1), encoding="utf-8")
    succeed("fabric", "run", folder / "wide.toml", "-o", folder / "wide.db")
    shown = succeed("compare", folder / "night.db", folder / "wide.db", "--format", "json").stdout
    rows = {row["flow"]: row for row in json.loads(shown)}
    assert list(rows) == FLOWS
    assert rows["log"]["average_difference_ns"] is not None
    table = succeed("compare", folder / "night.db", folder / "wide.db").stdout
    assert "backup, first" in table
    assert "nan" not in table
    succeed("compare", folder / "sizes.db", folder / "sizes.db", "-o", folder / "compared.html")


@pytest.mark.parametrize("name", ["night", "sizes"])
def test_a_report_draws_and_lists_every_flow(folder: Path, name: str) -> None:
    succeed("report", folder / f"{name}.db", "-o", folder / f"{name}.html")
    page = (folder / f"{name}.html").read_text(encoding="utf-8")
    for figure in ("bandwidth", "latency", "phases", "distributions"):
        assert f'id="flows-1-{figure}"' in page
    assert "fig4-bandwidth-by-size" not in page, "nothing of transfers"
    for head in ("GB/s", "host (ns)", "99 % (us)"):
        assert f">{head}<" in page
    assert "nan" not in page.split("<script")[0].lower()


def test_a_program_saves_its_trace_as_a_run(tmp_path: Path) -> None:
    runtime = fabric.Runtime(fabric.load("fabrex-u55c"))
    for device in ("A", "B"):
        runtime.device_init(device)
        runtime.memory_init(device, "hbm")
    runtime.setup_mapping("B", "hbm", "host1", 1 << 44)
    near, far = (runtime.memory_alloc(device, "hbm", 8192) for device in ("A", "B"))
    buffer = runtime.host_memory_alloc("host1", 8192)
    runtime.write_bytes("host1", buffer, b"pattern " * 1024)
    queue = runtime.add_queue("host1", outstanding=2)
    runtime.h2d(queue, "A", buffer, near, 8192)
    runtime.run()
    for _ in range(20):
        runtime.dev2dev_write(queue, "A", near, far, 8192)
    runtime.run()
    assert runtime.read_bytes("B", far, 8192) == b"pattern " * 1024
    trace = runtime.trace()
    trace.save(tmp_path / "trace.db", title="copies")
    table = fabric.flow_table(open_store(tmp_path / "trace.db"))
    assert table["flow"].tolist() == ["queue 0: d2d-write A to B", "queue 0: h2d host1 to A"]
    assert table["requests"].tolist() == [20, 1]
    requests = fabric.request_table(open_store(tmp_path / "trace.db"))
    assert requests["total_ns"].sum() == pytest.approx(trace.requests["total"].sum())
    succeed("report", tmp_path / "trace.db", "-o", tmp_path / "trace.html")
    assert "flows-1-phases" in (tmp_path / "trace.html").read_text(encoding="utf-8")
    succeed("export", "perfetto", tmp_path / "trace.db", "-o", tmp_path / "trace.json")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('primitive = "d2h"', 'primitive = "d2q"', "primitive"),
        ("outstanding = 4\n", "outstanding = 0\n", "outstanding"),
        ('size_bytes = "64K"', 'size_bytes = "64Q"', "size_bytes"),
        ('name = "log"', 'name = "=restore"', "another flow has this name"),
        ("size_bytes = 64\n", "size_bytes = 65\n", "moves packets of 64 bytes"),
        ("alignment_bytes = 32", "alignment_bytes = 3", "alignment_bytes"),
        ("outstanding = 4\n", "outstanding = 65\n", "outstanding is 65: give at most 64, the tags of ssd-2"),
        ("standalone_gbytes_per_s = 40.0", "standalone_gbytes_per_s = -1.0", "standalone_gbytes_per_s"),
    ],
)
def test_a_wrong_key_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in FABRIC
    (tmp_path / "wrong.toml").write_text(FABRIC.replace(old, new, 1), encoding="utf-8")
    assert message in refuse("fabric", "run", tmp_path / "wrong.toml", "-o", tmp_path / "run.db")
    assert not (tmp_path / "run.db").exists()


def test_a_stream_moves_what_the_preset_of_its_device_does(tmp_path: Path) -> None:
    text = """
name = "host-and-nic"
mps_bytes = 256
node = [
    { name = "host", kind = "host" },
    { name = "nic", kind = "nic", device = "nic-400g", upper = "host", link = "gen5x16" },
]
flow = [{ source = "nic", destination = "host" }, { source = "host", destination = "nic" }]
"""
    (tmp_path / "nic.toml").write_text(text, encoding="utf-8")
    for command in ("estimate", "simulate"):
        done = succeed("fabric", command, tmp_path / "nic.toml", "--format", "json")
        assert [row["gbytes_per_s"] for row in json.loads(done.stdout)] == pytest.approx([50.0, 50.0], rel=1e-3)
    said = succeed("fabric", "estimate", tmp_path / "nic.toml").stderr
    assert "nic->host: its device moves 50 GB/s, less than the link carries" in said
    assert succeed("fabric", "estimate", "fabrex-u55c").stderr == ""
