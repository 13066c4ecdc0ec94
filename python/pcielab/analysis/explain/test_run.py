"""Runs of every kind are explained: frames of a NIC, messages, flows, latencies; each row with what limits it."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pcielab import InputError, fabric, model, open_store, run, simulate, single_test
from pcielab._core import StoreWriter
from pcielab.analysis.explain import Explained, explain_rows
from pcielab.fabric import Flows
from pcielab.library.suites import load_message_suite
from pcielab.model import Ethernet, load_nic
from pcielab.store import Store
from pcielab.work.frames import Frames
from pcielab.work.options import Work

MESSAGES = """
name = "few"
title = "Few messages"

[provenance]
source = "Chosen for this test"

[[group]]
family = "message_latency_sizes"
loop = ["way", "size"]
ways = ["write-combined", "descriptors"]
sizes = [64]
pace = "alone"
messages = 4

[[group]]
family = "message_bandwidth_sizes"
loop = ["way", "size"]
ways = ["uncached", "write-combined", "write-combined-fenced"]
sizes = [1024]
pace = "stream"
messages = 50
"""


def limit_names(row: Explained) -> list[str]:
    return [limit.name for limit in row.limits]


@pytest.fixture(scope="module")
def nic() -> Store:
    work = Frames(load_nic("niantic-dpdk"), [64, 1500], Ethernet(line_gbps=40.0), packets=4000)
    return simulate("ib-000-nosp", work)


def test_a_nics_frames_have_the_line_the_link_and_the_tags(nic: Store) -> None:
    small, large = explain_rows(nic).rows
    assert limit_names(small)[0] == "tags"
    assert {"line", "wire-downstream"} < set(limit_names(small))
    # The simulator counts the tags as full, and so does the bound from the run's own reads.
    assert small.share == pytest.approx(1.0, abs=0.05)
    assert "of 32 tags are in use" in " ".join(small.reasons)
    assert limit_names(large)[0] == "line"
    assert large.share == pytest.approx(1.0, abs=0.01)
    assert not large.reasons


def test_tests_are_chosen_by_number_and_name(nic: Store) -> None:
    assert [row.test for row in explain_rows(nic, ["1"]).rows] == [1]
    assert len(explain_rows(nic, ["nic_both"]).rows) == 2
    with pytest.raises(InputError, match=r"--test 7: matches no test of .*: give a number \(0 to 1\)"):
        explain_rows(nic, ["7"])


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> Store:
    suite = tmp_path_factory.mktemp("suite") / "few.toml"
    suite.write_text(MESSAGES)
    return run(load_message_suite(str(suite)))


def test_messages_have_the_models_limits(messages: Store) -> None:
    stored, fetched, uncached, combined, fenced = explain_rows(messages).rows
    assert (stored.unit, fetched.unit, uncached.unit) == ("ns", "ns", "Gb/s")
    for row in (stored, fetched):
        assert limit_names(row) == ["one-message"]
        assert row.share == pytest.approx(1.0, abs=0.01)
    # A descriptor's time has steps, and the longest is named.
    assert "longest step" in fetched.reasons[0]
    assert limit_names(uncached)[0] == limit_names(combined)[0] == "store-interval"
    assert uncached.share == pytest.approx(1.0, abs=0.02)
    assert limit_names(fenced) == ["wire-downstream"]  # no closed form: the bytes that the run counted
    assert fenced.share is not None
    assert fenced.share < 1.01


def flows(*rows: tuple[str, str, str, int, int]) -> Work:
    testbed = fabric.load("fabrex-u55c")
    text = [
        {
            "name": name,
            "source": source,
            "destination": end,
            "primitive": "d2h",
            "size_bytes": size,
            "outstanding": n,
        }
        for name, source, end, size, n in rows
    ]
    table = pd.DataFrame(text)
    return Flows(testbed, fabric.flow_set(table, "few", "per-destination", 60.0), "few")


def test_flows_are_held_by_an_edge_or_by_their_own_requests() -> None:
    alone = run(flows(("one", "D", "host1", 4096, 1)))
    [row] = explain_rows(alone).rows
    assert limit_names(row)[0] == "in-flight"
    assert row.share == pytest.approx(1.0, abs=0.05)
    assert "of a request's" in row.reasons[0]
    many = run(flows(("one", "C", "host1", 65536, 32), ("two", "D", "host1", 65536, 32)))
    for row in explain_rows(many).rows:
        assert limit_names(row)[0].startswith("edge ")
        assert row.share == pytest.approx(1.0, abs=0.12)


def test_latencies_name_the_round_trip_within() -> None:
    [row] = explain_rows(simulate("hsw2620", single_test("lat-rd", size=64))).rows
    assert (row.unit, limit_names(row)) == ("ns", ["round-trip"])
    assert row.limits[0].value < row.value
    assert "beside the round trip" in row.reasons[0]
    assert "cold memory (cold)" in row.reasons


def test_bandwidths_of_transfers_are_the_rows_of_explain_run() -> None:
    [row] = explain_rows(simulate("hsw2620", single_test("bw-rd", size=64))).rows
    assert (row.unit, limit_names(row)[0]) == ("Gb/s", "tags")
    link = model.Link(generation=3, lanes=8, mps_bytes=256, mrrs_bytes=512)
    assert row.limits[0].value < model.bandwidth(link, [64])[0].read.gbps


def rewritten(path: Path, manifest: dict[str, Any], records: list[dict[str, Any]]) -> Store:
    with StoreWriter.create(path, json.dumps(manifest)) as store:
        for record in records:
            store.write_test(json.dumps(record | {"parameters": json.dumps(record["parameters"])}))
    return open_store(path)


def test_messages_without_a_profile_have_values_and_a_note(messages: Store, tmp_path: Path) -> None:
    manifest = {key: value for key, value in messages.manifest.items() if key not in ("messages", "system")}
    found = explain_rows(rewritten(tmp_path / "core.db", manifest, list(messages.records())))
    assert [row.limits for row in found.rows] == [()] * 5
    assert found.notes == ["no message profile in the manifest: no limits known"]


@pytest.mark.parametrize(
    ("kind", "key"), [("nic", "direction"), ("nic", "line_rate"), ("nic", "bandwidth"), ("messages", "pace")]
)
def test_a_test_without_a_needed_number_is_named(
    kind: str, key: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    run: Store = request.getfixturevalue(kind)
    records = list(run.records())
    records[1]["parameters"].pop(key, None)
    records[1]["scalars"] = [row for row in records[1]["scalars"] if row["metric"] != key]
    with pytest.raises(InputError, match=f"test 1: has no `{key}`"):
        explain_rows(rewritten(tmp_path / "lacking.db", run.manifest, records))
