"""Frames have the written data, and errors about wrong stores name the remedy."""

import copy
import hashlib
import json
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from pcielab import InputError, open_store
from pcielab._core import StoreWriter
from pcielab.library.message_profiles import load_message_profile
from pcielab.library.nics import load_nic
from pcielab.library.profiles import resolve

RECORD = {
    "family": "single",
    "name": "LAT_DMA_RD",
    "parameters": '{"size_bytes":64,"transactions":9}',
    "status": "ok",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with a test that also has a condition, and an unsupported one; written out of order."""
    path = tmp_path / "run.db"
    with StoreWriter.create(path, json.dumps({"origin": "simulated", "title": "small"})) as store:
        failed = {"id": 1, "status": "not-supported", "message": "no command path", "family": "x", "name": "y"}
        store.write_test(json.dumps(RECORD | failed))
        scalars = [
            {"metric": "median", "unit": "ns", "value": 480},
            {"metric": "outliers", "unit": "1", "value": 3},
            {"subject": "condition", "metric": "fan", "unit": "rpm", "value": 7.5},
        ]
        series = [{"metric": "latency_ticks", "values": [36, 35.5]}]
        store.write_test(json.dumps(RECORD | {"id": 0, "scalars": scalars, "series": series}))
    return path


def test_tests_are_rows_with_their_parameters_and_metrics_as_columns(path: Path) -> None:
    store = open_store(path)
    assert (store.title, store.origin) == ("small", "simulated")
    assert store.tests["id"].tolist() == [0, 1]
    assert store.tests["size_bytes"].tolist() == [64, 64]
    assert store.tests["message"].tolist() == [None, "no command path"]
    assert list(store.scalars.columns)[-2:] == ["median", "outliers"]
    assert store.scalars["median"].tolist()[0] == 480.0
    assert store.scalars["median"].isna().tolist() == [False, True]
    assert store.units == {"median": "ns", "outliers": "1", "fan": "rpm"}
    conditions = store.scalar_rows[store.scalar_rows["subject"] == "condition"]
    assert conditions["value"].tolist() == [7.5]
    assert store.series(0)["value"].tolist() == [36.0, 35.5]
    assert store.distribution(0).empty


def test_a_store_without_tests_can_be_read(tmp_path: Path) -> None:
    StoreWriter.create(tmp_path / "empty.db", '{"origin": "modelled"}').close()
    store = open_store(tmp_path / "empty.db")
    assert store.tests.empty
    assert store.scalars.empty
    assert list(store.records()) == []


def test_an_incomplete_store_says_so(path: Path, tmp_path: Path) -> None:
    with StoreWriter.create(tmp_path / "part.db", '{"origin": "rtl", "tests": 3}') as writer:
        writer.write_test(json.dumps(RECORD | {"id": 0}))
        writer.write_test(json.dumps(RECORD | {"id": 1, "status": "interrupted"}))
    part, whole = open_store(tmp_path / "part.db"), open_store(path)
    assert (part.incomplete, part.done, part.planned, part.extent) == (True, 1, 3, "1 of 3 tests")
    assert (whole.incomplete, whole.done, whole.planned, whole.extent) == (False, 2, 2, "2 tests")
    assert "1 of 3 tests" in repr(part)


def test_an_unclosed_store_leaves_the_old_one(path: Path, tmp_path: Path) -> None:
    before = path.read_bytes()
    with suppress(KeyboardInterrupt), StoreWriter.create(path, '{"origin": "rtl"}', overwrite=True) as writer:
        writer.write_test(json.dumps(RECORD | {"id": 0}))
        raise KeyboardInterrupt
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.db"]


def digest_of(connection: sqlite3.Connection, test: int) -> str:
    """A test's digest by `docs/reference/store.md`."""
    tables = (
        ("SELECT id, family, name, parameters, status, message FROM test WHERE id = ?", False),
        ("SELECT subject, metric, unit, value FROM scalar WHERE test = ? ORDER BY subject, metric", True),
        ("SELECT metric, tick, bin, count FROM distribution WHERE test = ? ORDER BY metric, bin", True),
        ('SELECT metric, "index", value FROM series WHERE test = ? ORDER BY metric, "index"', True),
    )
    digest = hashlib.sha256()
    for query, counted in tables:
        rows = connection.execute(query, (test,)).fetchall()
        digest.update(struct.pack("<Q", len(rows)) if counted else b"")
        for cell in (cell for row in rows for cell in row):
            if isinstance(cell, str):
                digest.update(struct.pack("<Q", len(cell.encode())) + cell.encode())
            elif cell is None:
                digest.update(b"\xff" * 8)
            else:
                digest.update(struct.pack("<d" if isinstance(cell, float) else "<q", cell))
    return digest.hexdigest()


def test_digests_follow_the_reference(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        stored = connection.execute("SELECT id, digest FROM test ORDER BY id").fetchall()
        assert stored == [(test, digest_of(connection, test)) for test in (0, 1)]
        texts = connection.execute("SELECT key, value FROM manifest ORDER BY rowid").fetchall()
        manifest = hashlib.sha256(struct.pack("<Q", len(texts)))
        for text in (text for row in texts for text in row):
            manifest.update(struct.pack("<Q", len(text.encode())) + text.encode())
        parts = dict(connection.execute("SELECT part, digest FROM digest"))
        assert parts == {"manifest": manifest.hexdigest(), "attachments": hashlib.sha256(bytes(8)).hexdigest()}


@pytest.mark.parametrize(
    "change, expected",
    [
        ("scalar SET value = 1e308", r"`median` is 1e308: a store has 0, or 1e-30 to 1e17 ns"),
        ("scalar SET value = 9e999", r"`median` is inf: a store has"),
        ("scalar SET value = -1.0", r"`median` is -1: a store has"),
        ("scalar SET value = 5e-324", r"`median` is 5e-324: a store has"),
        ("scalar SET value = 2.5", r"`outliers` is 2\.5: a store has a whole number from 0 to 1e15"),
        ("scalar SET unit = 'GB/s'", r"the unit of `median` is `GB/s`: a store has ns"),
        ("scalar SET subject = 'x'", r"`median` of `x` is a number that no test of transfers has"),
        ("series SET value = 9e999", r"value 0 of `latency_ticks` is inf"),
        ("series SET metric = 'x'", r"`x` is a series that no test of transfers has"),
    ],
)
def test_numbers_that_no_run_has_are_refused_by_name(path: Path, change: str, expected: str) -> None:
    table, changed = change.split(" ", 1)
    only = "" if table == "series" else " WHERE metric = " + ("'outliers'" if "2.5" in change else "'median'")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE {table} {changed}{only}")
        connection.execute("UPDATE test SET digest = ? WHERE id = 0", [digest_of(connection, 0)])
    with pytest.raises(InputError, match=rf"run\.db: test 0 \(single LAT_DMA_RD\): {expected}") as refused:
        _ = open_store(path).kind
    assert str(refused.value).endswith("take the store as pcielab wrote it, or make it again")


@pytest.mark.parametrize(
    "manifest, expected",
    [
        ({"system": 3}, "manifest: `system` is '3': it must be an object or null"),
        ({"system": {"link": "x8"}}, "manifest: system.link is 'x8': give a table"),
        ({"device": "card"}, "`device` is 'card': it must be an object"),
        ({"overrides": [1]}, "`overrides` is"),
        ({"title": {"a": 1}}, "`title` is .*: it must be a text"),
        ({"tests": "many"}, "`tests` is 'many': it must be a whole number"),
        ({"seed": [1]}, "`seed` is .*: it must be a whole number"),
        ({"system": {"iommu": ["on"]}}, 'manifest: system.iommu is .*: give "off"'),
        ({"system": {"memory_socket": "far"}}, "manifest: system.memory_socket is 'far': give 0 to 63"),
        ({"system": {"chunk_addresses": 7}}, "manifest: system.chunk_addresses is 7: give a list"),
        ({"system": {"host": {"name": {}}}}, "manifest: system.host.name is {}: give text"),
        ({"host": {"command_line": 1}}, "manifest: host.command_line is 1: give text"),
        (
            {"device": {"timer": {"numerator_ns": "40"}}},
            "manifest: device.timer.numerator_ns is '40': give a whole number",
        ),
        (
            {"device": {"link": {"rate_gtps": "8GT/s"}}},
            "manifest: device.link.rate_gtps is '8GT/s': give a number",
        ),
        ({"device": {"latency_includes": "all"}}, "manifest: device.latency_includes is 'all': give a list"),
        ({"host": {"caches": [{"level": "L3"}]}}, "manifest: host.caches.0.level is 'L3': give a whole number"),
        ({"conditions_before": ["warm"]}, "manifest: conditions_before.0 is 'warm': give a table"),
        (
            {"messages": {"core": {"fill_ns": []}}},
            r"manifest: messages.core.fill_ns is \[\]: give a number above 0, up to 1000000000",
        ),
        ({"messages": {"link": {"lanes": "8"}}}, "manifest: messages.link.lanes is '8': give 1, 2"),
        ({"nic": {"step": [{"bytes": []}]}}, "manifest: nic.step.0.bytes is "),
        ({"system": {"fabric": {"nodes": 3}}}, "manifest: system.fabric: .*nodes"),
        (
            {"system": {"host": {"root_complex": {"read_ns": {}}}}},
            "manifest: system.host.root_complex.read_ns is {}",
        ),
    ],
)
def test_refuses_a_malformed_manifest(tmp_path: Path, manifest: dict[str, object], expected: str) -> None:
    StoreWriter.create(tmp_path / "odd.db", json.dumps({"origin": "measured"} | manifest)).close()
    with pytest.raises(InputError, match=f"odd.db: .*{expected}"):
        open_store(tmp_path / "odd.db")


@pytest.mark.parametrize(
    "parameters, expected",
    [
        ('{"size_bytes":"big"}', "test 0: `size_bytes` is 'big': it must be a whole number"),
        ('{"stride_units":1e12}', "test 0: `stride_units` is '1000000000000.0': it must be a whole number"),
        ('{"pressure":1e308}', r"test 0: `pressure` is 1e\+308: it must be from 0 to 9007199254740992"),
        ('{"details":3}', "test 0: `details` is '3': it must be true or false"),
        ('{"size_bytes":true}', "test 0: `size_bytes` is 'True': it must be a whole number"),
        ('{"outstanding":-1}', "test 0: `outstanding` is -1: it must be from 0"),
        ('{"operation":7}', "test 0: `operation` is '7': it must be a text"),
        ('{"size_bytes":0}', "test 0: `size_bytes` is 0: it must be above 0"),
        ('{"window_bytes":-4096}', "test 0: `window_bytes` is -4096: it must be above 0"),
        ('{"id":7}', "test 0: `id` is not the name of a parameter"),
    ],
)
def test_refuses_malformed_parameters(tmp_path: Path, parameters: str, expected: str) -> None:
    with StoreWriter.create(tmp_path / "odd.db", '{"origin": "measured"}') as writer:
        writer.write_test(json.dumps(RECORD | {"id": 0, "parameters": parameters}))
    for read in (
        lambda: open_store(tmp_path / "odd.db").tests,
        lambda: list(open_store(tmp_path / "odd.db").records()),
    ):
        with pytest.raises(InputError, match=expected):
            read()


def test_damage_is_named_by_test(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE scalar SET value = 481 WHERE metric = 'median'")
    store = open_store(path)
    with pytest.raises(InputError, match=r"is damaged: test 0 \(single LAT_DMA_RD\): .*--repeat-damaged"):
        store.tests  # noqa: B018
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE manifest SET value = '\"measured\"' WHERE key = 'origin'")
    with pytest.raises(InputError, match="is damaged: the manifest"):
        open_store(path)


def test_refuses_files_that_are_not_stores(tmp_path: Path) -> None:
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


def test_a_missing_store_names_the_files_alike(path: Path) -> None:
    mistyped = path.with_stem(path.stem[:-1])
    with pytest.raises(InputError, match=f"no such file: did you mean {path}") as refused:
        open_store(mistyped)
    assert refused.value.remedy == f"did you mean {path}?"


def test_refuses_a_newer_schema(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 4")
    connection.close()
    with pytest.raises(InputError, match="schema 4, newer than 3"):
        open_store(path)


def test_writer_names_the_wrong_field_of_a_record(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`origin` is missing"):
        StoreWriter.create(tmp_path / "a.db", "{}")
    with pytest.raises(InputError, match="JSON object"):
        StoreWriter.create(tmp_path / "a.db", "[1]")
    with StoreWriter.create(tmp_path / "a.db", '{"origin": "measured"}') as store:
        with pytest.raises(InputError, match="unknown field `colour`"):
            store.write_test(json.dumps(RECORD | {"id": 0, "colour": "red"}))
        with pytest.raises(InputError, match="unknown variant `fine`"):
            store.write_test(json.dumps(RECORD | {"id": 0, "status": "fine"}))


SYSTEM, MESSAGES, NIC = "hsw2620", "kpio-2012", "niantic-dpdk"


def paths(value: object, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of all values that are neither objects, lists nor null."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*above, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from paths(inner, (*above, number))
    elif value is not None:
        yield above


def described() -> dict[str, Any]:
    """The nested parts of manifests, as runs write them."""
    messages = load_message_profile(MESSAGES)
    return {
        "system": json.loads(resolve(SYSTEM).to_json()),
        "messages": messages.as_question(),
        "nic": load_nic(NIC).as_question(),
    }


@pytest.mark.parametrize("part", ["system", "messages", "nic"])
def test_every_value_of_a_nested_part_is_checked(part: str, tmp_path: Path) -> None:
    content = described()[part]
    found = [*paths(content)]
    assert len(found) > 20
    for *above, key in found:
        wrong = copy.deepcopy(content)
        holder: Any = wrong
        for step in above:
            holder = holder[step]
        holder[key] = {"neither": ["a", "number"]}
        path = tmp_path / "odd.db"
        StoreWriter.create(path, json.dumps({"origin": "simulated", part: wrong}), overwrite=True).close()
        with pytest.raises(InputError) as refused:
            open_store(path)
        message = str(refused.value)
        assert message.startswith(f"{path}: manifest: "), message
        assert f"{part}.{'.'.join(map(str, [*above, key]))}" in message, message
        assert len(message.splitlines()) == 1, message


def test_checks_rules_across_the_parts_of_a_nic_and_a_system(tmp_path: Path) -> None:
    content = described()
    content["nic"]["step"] = [
        one for one in content["nic"]["step"] if (one["path"], one["bytes"]) != ("rx", "packet")
    ]
    content["system"]["memory_socket"] = 7
    for part in ("nic", "system"):
        path = tmp_path / f"{part}.db"
        StoreWriter.create(path, json.dumps({"origin": "simulated", part: content[part]})).close()
        with pytest.raises(InputError, match=f"{part}.db: manifest: {part}: "):
            open_store(path)


@pytest.mark.parametrize("part", ["system", "messages", "nic"])
def test_accepts_missing_null_and_unknown_keys(part: str, tmp_path: Path) -> None:
    for change in ("missing", "null", "unknown"):
        content = described()[part]
        for *above, key in [*paths(content)]:
            holder: Any = content
            for step in above:
                holder = holder[step]
            if change == "unknown":
                if isinstance(holder, dict):
                    holder["of_a_later_version"] = 7
            elif isinstance(key, str):
                holder[key] = None
                if change == "missing":
                    del holder[key]
        path = tmp_path / f"{change}.db"
        StoreWriter.create(path, json.dumps({"origin": "simulated", part: content})).close()
        assert open_store(path).manifest[part] == content
