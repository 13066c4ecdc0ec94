"""The page of stores: every kind of store has its tests, values, distributions and comparison; none fails."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pcielab import InputError, _core
from pcielab.explore.stores import Stores
from shell import succeed

SMALL = Path(__file__).parents[1] / "documents" / "small"
KINDS = ("transfers", "single", "messages", "mux", "fabric", "frames", "emulated")

CONNECTIONS = [{"name": name, "pace": "stream", "sizes": [64]} for name in ("requests", "bulk")]
FLOW = {"name": "F1", "source": "a", "destination": "b", "primitive": "stream", "size_bytes": 64}


def written(path: Path, parameters: object, *metrics: str, origin: str = "simulated", tests: int = 1) -> Path:
    """A store of tests with these parameters and metrics."""
    values = [{"subject": "", "metric": metric, "unit": "ns", "value": 2.5} for metric in metrics]
    with _core.StoreWriter.create(path, json.dumps({"origin": origin})) as writer:
        for number in range(tests):
            test = {"id": number, "family": "f", "name": "T", "status": "ok", "parameters": json.dumps(parameters)}
            writer.write_test(json.dumps({**test, "scalars": values}))
    return path


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    """A run of each of `KINDS`, in this order."""
    folder = tmp_path_factory.mktemp("kinds")
    runs = {
        "transfers": ["run", "--suite", SMALL / "quick.toml"],
        "single": ["run", "--test", "bw-rd", "--size", "64"],
        "messages": ["run", "--suite", SMALL / "messages" / "kpio.toml"],
        "fabric": ["fabric", "run", "fabrex-u55c", "--suite", SMALL / "fabric" / "rpciebench.toml"],
        "frames": ["run", "--nic", "niantic-dpdk", "--profile", "ib-000-nosp", "--frames", "64,256"],
    }
    for name, command in runs.items():
        succeed(*command, "-o", folder / f"{name}.db")
    words = {"way": "write-combined", "eviction": "in-order", "store_kind": "plain"}
    mux = words | {"connections": json.dumps(CONNECTIONS)}
    written(folder / "mux.db", mux, "median")
    written(folder / "emulated.db", {"operation": "bw-rd", "size_bytes": 64}, origin="emulated")
    return Stores([folder / f"{kind}.db" for kind in KINDS])


def of(stores: Stores, kind: str, ask: str, **asked: object) -> Any:
    """An answer about the store of a kind, as JSON carries it."""
    found = getattr(stores, ask)({"store": KINDS.index(kind), **asked})
    return json.loads(json.dumps(found, allow_nan=False))


@pytest.mark.parametrize(
    ("kind", "first"),
    [
        ("transfers", ["bandwidth (Gb/s)", "median (ns)", "p99 (ns)"]),
        ("single", ["bandwidth (Gb/s)"]),
        ("messages", ["bandwidth (Gb/s)", "median (ns)"]),
        ("mux", ["median (ns)"]),
        ("fabric", ["bandwidth (GB/s)", "p50 (ns)", "p99 (ns)"]),
        ("frames", ["bandwidth (Gb/s)", "dropped share", "median (ns)", "p99 (ns)"]),
        ("emulated", []),
    ],
)
def test_values_come_first(stores: Stores, kind: str, first: list[str]) -> None:
    found = of(stores, kind, "tests")
    columns, rows = found["columns"], found["rows"]
    assert len(rows) == found["all"] > 0
    assert columns[0]["head"] == "#"
    unnamed = [column for column in columns if column["kind"] != "name"]
    assert [column["head"] for column in unnamed[: len(first)]] == first
    assert all(column["kind"] == "value" for column in unnamed[: len(first)])
    assert unnamed[len(first)]["kind"] == "parameter"
    assert set(rows[0]) == {column["key"] for column in columns}
    for column in columns:
        if column["kind"] == "value":
            assert any(row[column["key"]] is not None for row in rows), column


def test_a_row_shows_what_tells_it_apart(stores: Stores) -> None:
    flows = of(stores, "fabric", "tests")["rows"]
    assert [(row["experiment"], row["flow"], row["value"]) for row in flows] == [
        ("MMIO read, local", "F1", 8.0),
        ("MMIO read, local", "F1", 64.0),
    ]
    connections = of(stores, "mux", "tests")["rows"]
    assert [row["connection"] for row in connections] == [None, "requests", "bulk"]
    assert of(stores, "single", "tests")["rows"][0]["size_bytes"] == 64
    assert of(stores, "frames", "tests", filter="256")["all"] == 1


@pytest.mark.parametrize(
    ("kind", "asked"), [("transfers", {}), ("frames", {}), ("fabric", {"flow": "F1"})], ids=lambda one: str(one)
)
def test_kinds_with_latencies_have_distributions(stores: Stores, kind: str, asked: dict[str, str]) -> None:
    pairs = of(stores, kind, "distribution", test=0, **asked)["cdf"]
    assert pairs[-1][1] == 1.0
    assert all(ns > 0 for ns, _ in pairs)


@pytest.mark.parametrize("kind", ["messages", "mux"])
def test_kinds_without_latencies_have_none(stores: Stores, kind: str) -> None:
    assert of(stores, kind, "distribution", test=0) == {"cdf": []}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_compared_and_overlaid_or_says_why_not(stores: Stores, kind: str) -> None:
    number = KINDS.index(kind)
    found = of(stores, kind, "compared", a=number, b=number)["rows"]
    assert found["all"] == len(found["rows"]) > 0
    values = [column for column in found["columns"] if column["kind"] == "value"]
    assert ("_difference_" in values[0]["key"]) if kind != "emulated" else values == []
    if kind in ("transfers", "single"):
        assert of(stores, kind, "overlay")["rows"]
    else:
        with pytest.raises(InputError, match="overlay needs"):
            of(stores, kind, "overlay")


@pytest.mark.parametrize(
    ("parameters", "ask", "refused"),
    [
        ({"flows": json.dumps([FLOW | {"memory": {"of": 1}}])}, "tests", "memory of a flow"),
        ({"flows": json.dumps([FLOW | {"size_bytes": [1]}])}, "compared", "size_bytes of a flow"),
        ({"flows": "[]"}, "tests", None),
        ({"way": "x", "median": 1}, "tests", "`median` names a parameter and a metric"),
        ({"unknown": 1}, "overlay", None),
        ({"unknown": 1}, "tests", None),
    ],
)
def test_a_foreign_store_is_shown_or_refused(
    tmp_path: Path, parameters: dict[str, object], ask: str, refused: str | None
) -> None:
    metric = "counted" if "flows" in parameters else "median"
    found: Callable[[object], object] = getattr(Stores([written(tmp_path / "run.db", parameters, metric)]), ask)
    if refused is None:
        json.dumps(found({"store": 0}), allow_nan=False)
        return
    with pytest.raises(InputError, match=refused):
        found({"store": 0, "a": 0, "b": 0})


def test_an_empty_store_has_no_rows(tmp_path: Path) -> None:
    stores = Stores([written(tmp_path / "run.db", {}, tests=0)])
    assert stores.tests({"store": 0})["rows"] == stores.overlay({"store": 0})["rows"] == []


def test_the_page_is_told_what_the_rows_of_each_kind_are(stores: Stores, tmp_path: Path) -> None:
    nouns = ["tests", "tests", "rows", "rows", "flows", "tests", "tests"]
    assert [one["rows"] for one in stores.listed()] == nouns
    imported = written(tmp_path / "tool.db", {"tool": "fio", "direction": "read"}, "median", origin="measured")
    assert [one["rows"] for one in Stores([imported]).listed()] == ["tests"]
