"""Runs of messages, flows and traces are stores: each command accepts them, or names the kind that it needs."""

import json
from pathlib import Path

import pytest

from pcielab import open_store
from pcielab._core import StoreWriter
from shell import refuse, succeed

SMALL = Path(__file__).parent / "documents" / "small"
SAMPLES = Path(__file__).parent / "tool_outputs"


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of each kind, named after the kind."""
    folder = tmp_path_factory.mktemp("stores")
    succeed("run", "--suite", SMALL / "quick.toml", "-o", folder / "transfers.db")
    succeed("run", "--suite", SMALL / "messages" / "kpio.toml", "-o", folder / "messages.db")
    suite = SMALL / "fabric" / "rpciebench.toml"
    succeed("fabric", "run", "fabrex-u55c", "--suite", suite, "-o", folder / "flows.db")
    flows = ("--flows", "latency", "--duration-us", "20")
    succeed("fabric", "run", "fabrex-u55c", *flows, "-o", folder / "set.db")
    succeed("import", "nvbandwidth", SAMPLES / "nvbandwidth" / "0.5-one-gpu.json", "-o", folder / "tools.db")
    succeed("trace", "record", "--transactions", "200", "-o", folder / "dma.trace")
    succeed("trace", "play", folder / "dma.trace", "-o", folder / "traces.db")
    return folder


@pytest.mark.parametrize("kind", ["messages", "flows", "tools", "traces"])
@pytest.mark.parametrize(
    "command",
    [
        ["calibrate", "{run}", "-o", "twin.toml"],
        ["validate", "hsw2620", "{run}"],
        ["validate", "hsw2620", "{run}", "-o", "worst.html", "--run", "twin.db"],
        ["compare", "transfers.db", "{run}"],
        ["compare", "{run}", "transfers.db", "-o", "both.html"],
        ["report", "transfers.db", "--measured", "{run}", "-o", "report.html"],
        ["export", "pcie-bench", "{run}", "-o", "published"],
    ],
)
def test_a_command_for_transfers_names_the_kind_that_it_needs(kind: str, command: list[str], stores: Path) -> None:
    before = sorted(stores.iterdir())
    message = refuse(*(word.format(run=f"{kind}.db") for word in command), cwd=stores)
    assert f"{kind}.db" in message
    assert "kind transfers" in message
    assert sorted(stores.iterdir()) == before


def test_runs_of_messages_are_compared_by_way(stores: Path, tmp_path: Path) -> None:
    slower = tmp_path / "slower.db"
    suite = SMALL / "messages" / "kpio.toml"
    succeed("run", "--suite", suite, "--set", "host.root_complex.read_ns=2000", "-o", slower)
    done = succeed("compare", stores / "messages.db", slower, "--format", "csv")
    head, *rows = (line.split(",") for line in done.stdout.splitlines())
    ways = {row[head.index("way")]: float(row[head.index("median_difference_ns")]) for row in rows}
    assert ways["write-combined"] == 0
    assert ways["descriptors"] > 1000
    assert "descriptors" in succeed("compare", stores / "messages.db", slower).stdout


def test_runs_of_flows_are_compared_flow_by_flow(stores: Path) -> None:
    rows = json.loads(succeed("compare", stores / "flows.db", stores / "flows.db", "--format", "json").stdout)
    assert [(row["flow"], row["swept_to"]) for row in rows] == [("F1", 8.0), ("F1", 64.0)]
    assert {row["average_difference_ns"] for row in rows} == {0.0}


@pytest.mark.parametrize("other", ["messages", "flows", "set", "tools", "traces"])
def test_runs_of_two_kinds_share_a_report(other: str, stores: Path, tmp_path: Path) -> None:
    succeed("report", stores / "transfers.db", stores / f"{other}.db", "-o", tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 0


@pytest.mark.parametrize("kind", ["transfers", "messages", "flows", "tools", "traces"])
@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_every_kind_is_exported(kind: str, form: str, stores: Path, tmp_path: Path) -> None:
    succeed("export", form, stores / f"{kind}.db", "-o", tmp_path / "out")
    assert (tmp_path / "out").stat().st_size > 0


def test_a_store_whose_tests_disagree_on_a_type_is_refused_by_name(stores: Path, tmp_path: Path) -> None:
    run, path = open_store(stores / "tools.db"), tmp_path / "mixed.db"
    with StoreWriter.create(path, json.dumps(run.manifest)) as writer:
        for record, value in zip(run.records(), (True, 7, 8), strict=True):
            parameters = json.dumps(record["parameters"] | {"vlan": value}, sort_keys=True, separators=(",", ":"))
            writer.write_test(json.dumps(record | {"parameters": parameters}))
    message = refuse("export", "parquet", path, "-o", tmp_path / "out.parquet")
    assert f"{path}: a column has values of several types" in message


def test_a_bandwidth_without_its_size_is_refused_by_name(stores: Path, tmp_path: Path) -> None:
    run, path = open_store(stores / "transfers.db"), tmp_path / "part.db"
    with StoreWriter.create(path, json.dumps(run.manifest)) as writer:
        for record in run.records():
            kept = {key: value for key, value in record["parameters"].items() if key != "size_bytes"}
            parameters = json.dumps(kept, sort_keys=True, separators=(",", ":"))
            writer.write_test(json.dumps(record | {"parameters": parameters}))
    assert "part.db: test 6: has no `size_bytes`" in refuse("explain", path)
