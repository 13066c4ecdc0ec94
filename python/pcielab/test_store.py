"""Reading stores: the frames have what was written, and what is not a store is refused with the remedy."""

import json
import sqlite3
from pathlib import Path

import pytest

from pcielab import InputError, open_store
from pcielab._core import StoreWriter

RECORD = {
    "family": "single",
    "name": "LAT_DMA_RD",
    "parameters": '{"size_bytes":64,"transactions":9}',
    "status": "ok",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a test that has a flow's number too, and one that is not supported; written out of order."""
    path = tmp_path / "run.db"
    with StoreWriter.create(path, json.dumps({"origin": "simulated", "title": "small"})) as store:
        failed = {"id": 1, "status": "not-supported", "message": "no command path", "family": "x", "name": "y"}
        store.write_test(json.dumps(RECORD | failed))
        scalars = [
            {"metric": "median", "unit": "ns", "value": 480},
            {"metric": "custom", "unit": "1", "value": 3},
            {"subject": "flow-1", "metric": "bandwidth", "unit": "Gb/s", "value": 7.5},
        ]
        series = [{"metric": "latency", "values": [36, 35.5]}]
        store.write_test(json.dumps(RECORD | {"id": 0, "scalars": scalars, "series": series}))
    return path


def test_tests_are_rows_with_their_parameters_and_metrics_as_columns(path: Path) -> None:
    store = open_store(path)
    assert (store.title, store.origin) == ("small", "simulated")
    assert store.tests["id"].tolist() == [0, 1]
    assert store.tests["size_bytes"].tolist() == [64, 64]
    assert store.tests["message"].tolist() == [None, "no command path"]
    assert list(store.scalars.columns)[-2:] == ["median", "custom"]
    assert store.scalars["median"].tolist()[0] == 480.0
    assert store.scalars["median"].isna().tolist() == [False, True]
    assert store.units == {"median": "ns", "custom": "1", "bandwidth": "Gb/s"}
    flows = store.scalar_rows[store.scalar_rows["subject"] == "flow-1"]
    assert flows["value"].tolist() == [7.5]
    assert store.series(0)["value"].tolist() == [36.0, 35.5]
    assert store.distribution(0).empty


def test_a_store_without_tests_can_be_read(tmp_path: Path) -> None:
    StoreWriter.create(tmp_path / "empty.db", '{"origin": "modelled"}').close()
    store = open_store(tmp_path / "empty.db")
    assert store.tests.empty
    assert store.scalars.empty
    assert list(store.records()) == []


def test_a_store_that_is_being_written_can_be_read(tmp_path: Path) -> None:
    writer = StoreWriter.create(tmp_path / "running.db", '{"origin": "rtl"}')
    writer.write_test(json.dumps(RECORD | {"id": 0}))
    assert len(open_store(tmp_path / "running.db").tests) == 1
    writer.close()


def test_what_is_not_a_store_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "text.db"
    text.write_text("Test,PAT,Cache\n" * 100)
    foreign = tmp_path / "foreign.db"
    sqlite3.connect(foreign).execute("CREATE TABLE mail (id)").connection.close()
    for path, message in ((text, "is not a pcielab store"), (foreign, "is not a pcielab store")):
        with pytest.raises(InputError, match=message):
            open_store(path)
    with pytest.raises(InputError, match=r"missing\.db: no such file"):
        open_store(tmp_path / "missing.db")
    with pytest.raises(InputError, match="not a regular file"):
        open_store(tmp_path)


def test_a_newer_schema_is_refused(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(InputError, match="schema 2, newer than 1"):
        open_store(path)


def test_importers_are_told_what_is_wrong_with_a_record(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`origin` is missing"):
        StoreWriter.create(tmp_path / "a.db", "{}")
    with pytest.raises(InputError, match="JSON object"):
        StoreWriter.create(tmp_path / "a.db", "[1]")
    with StoreWriter.create(tmp_path / "a.db", '{"origin": "measured"}') as store:
        with pytest.raises(InputError, match="unknown field `colour`"):
            store.write_test(json.dumps(RECORD | {"id": 0, "colour": "red"}))
        with pytest.raises(InputError, match="unknown variant `fine`"):
            store.write_test(json.dumps(RECORD | {"id": 0, "status": "fine"}))
