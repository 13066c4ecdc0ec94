"""Traces of devices' runs for Perfetto: transfers end to end, the steps of a message, the steps of a NIC."""

import json
from pathlib import Path
from typing import Any

import pytest

from pcielab import InputError, open_store
from pcielab._core import StoreWriter
from pcielab.formats.exporters import export
from pcielab.kinds.transfers import events
from pcielab.model import load_nic
from pcielab.store import Store

TRANSFER = {"operation": "lat-rd", "size_bytes": 64, "cache": "cold"}
MESSAGE = {"way": "descriptors", "size_bytes": 64, "pace": "alone"}


def stored(path: Path, *records: dict[str, Any], **manifest: Any) -> Store:
    with StoreWriter.create(path, json.dumps({"origin": "simulated", "title": "made up"} | manifest)) as store:
        for test, record in enumerate(records):
            parameters = json.dumps(record.pop("parameters"))
            made_up = {"id": test, "family": "f", "name": "T", "status": "ok", "parameters": parameters}
            store.write_test(json.dumps(made_up | record))
    return open_store(path)


def slices(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    trace = json.loads(path.read_text())
    return trace["otherData"], [event for event in trace["traceEvents"] if event["ph"] == "X"]


def test_transfers_are_end_to_end_in_their_order(tmp_path: Path) -> None:
    series = [{"metric": "latency_ticks", "values": [3, 1, 2]}]
    bins = [{"metric": "latency", "tick": "4", "bins": [[1, 1], [2, 1], [3, 1]]}]
    run = stored(tmp_path / "run.db", {"parameters": TRANSFER, "series": series, "distributions": bins})
    assert not export(run, "perfetto", tmp_path / "trace.json")
    about, drawn = slices(tmp_path / "trace.json")
    assert about["origin"] == "simulated"
    assert "gaps between transfers are not known" in about["times"]
    assert [(one["name"], one["ts"], one["dur"]) for one in drawn] == [
        ("transfer 0", 0.0, 0.012),
        ("transfer 1", 0.012, 0.004),
        ("transfer 2", 0.016, 0.008),
    ]


def test_of_many_transfers_the_first_are_drawn_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MOST_TRANSFERS", 2)
    series = [{"metric": "latency_ticks", "values": [3, 1, 2]}]
    run = stored(tmp_path / "run.db", {"parameters": TRANSFER, "series": series})
    assert export(run, "perfetto", tmp_path / "trace.json") == ["test 0: the first 2 of 3 transfers"]
    assert len(slices(tmp_path / "trace.json")[1]) == 2


def test_the_steps_of_a_message_are_inside_it(tmp_path: Path) -> None:
    at = {"doorbell": 0.0, "descriptor": 800.0, "payload": 1700.0}
    scalars = [{"subject": step, "metric": "at", "unit": "ns", "value": ns} for step, ns in at.items()]
    stream = {"parameters": MESSAGE | {"pace": "stream"}, "scalars": list(scalars)}
    export(
        stored(tmp_path / "run.db", {"parameters": MESSAGE, "scalars": scalars}, stream),
        "perfetto",
        tmp_path / "t",
    )
    _, drawn = slices(tmp_path / "t")
    assert [(one["name"], one["ts"], one["dur"]) for one in drawn] == [
        ("message", 0.0, 1.7),
        ("doorbell to descriptor", 0.0, 0.8),
        ("descriptor to payload", 0.8, 0.9),
    ]


def test_the_steps_of_a_nic_follow_each_other_on_both_paths(tmp_path: Path) -> None:
    nic = load_nic("simple-nic")
    scalars = [
        {"subject": f"{step.path}: {step.what}", "metric": "average", "unit": "ns", "value": 100.0}
        for step in nic.step
    ]
    parameters = {"direction": "both", "frame_bytes": 64}
    manifest = {"nic": nic.as_question() | {"provenance": "made up"}}
    run = stored(tmp_path / "run.db", {"parameters": parameters, "scalars": scalars}, **manifest)
    export(run, "perfetto", tmp_path / "t")
    _, drawn = slices(tmp_path / "t")
    assert [one["name"] for one in drawn] == [
        step.what for path in ("tx", "rx") for step in nic.step if step.path == path
    ]
    assert {one["dur"] for one in drawn} == {0.1}
    assert len({one["tid"] for one in drawn}) == 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [(TRANSFER, "has no latencies in order"), (MESSAGE, r"has no steps: run messages with `pace = alone`")],
)
def test_a_run_without_times_in_order_is_refused(tmp_path: Path, parameters: dict[str, Any], message: str) -> None:
    run = stored(tmp_path / "run.db", {"parameters": parameters})
    with pytest.raises(InputError, match=message):
        export(run, "perfetto", tmp_path / "trace.json")
    assert not (tmp_path / "trace.json").exists()


def test_an_emulated_run_has_no_times(tmp_path: Path) -> None:
    run = stored(tmp_path / "run.db", {"parameters": TRANSFER}, origin="emulated")
    with pytest.raises(InputError, match="a trace needs a run of real or simulated times"):
        export(run, "perfetto", tmp_path / "trace.json")
