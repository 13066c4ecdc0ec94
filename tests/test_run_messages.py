"""`pcielab run` with suites of messages, as scripts use it: rows in the store, refusals that name the option."""

import json
from pathlib import Path

import pytest

from pcielab import open_store
from pcielab.suites import load_message_suite
from test_model_command import pcielab

SMALL = """
name = "small"
title = "A few messages"

[provenance]
source = "test"

[[group]]
family = "message_latency_sizes"
loop = ["way", "size"]
ways = ["write-combined", "descriptors"]
sizes = [20, 64]
pace = "alone"
messages = 2
"""


_WIDTHS = 'loop = ["way", "store-bytes", "size"]\nstore_bytes = [8, 16]'


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def test_the_papers_latencies_and_steps_are_in_the_store(suite: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    done = pcielab("run", "--suite", str(suite), "-o", str(path))
    assert (done.exit_code, done.stdout) == (0, "")
    store = open_store(path)
    assert store.origin == "simulated"
    medians = store.scalars.set_index(["way", "size_bytes"])["median"]
    assert medians["write-combined", 20] == pytest.approx(108, abs=0.1)
    assert medians["write-combined", 64] == pytest.approx(232, abs=0.1)
    assert medians["descriptors", 64] == pytest.approx(1736, abs=0.1)
    steps = store.scalar_rows.query("metric == 'at' and test == 3").set_index("subject")["value"]
    assert steps["doorbell"] == 0
    assert steps[["descriptor", "payload-request", "payload"]].tolist() == pytest.approx(
        [832, 1504, 1736], abs=0.1
    )


def test_the_same_seed_gives_the_same_rows(suite: Path, tmp_path: Path) -> None:
    rows = []
    for name in ("one.db", "two.db"):
        assert pcielab("run", "--suite", str(suite), "-o", str(tmp_path / name)).exit_code == 0
        rows.append(list(open_store(tmp_path / name).records()))
    assert rows[0] == rows[1]


@pytest.mark.parametrize(
    "arguments, found",
    [
        (["--size", "64"], "--size: describes a single test"),
        (["--profile", "snb"], "no profile of messages is named 'snb'"),
        (["--set", "host.root_complex.read=1"], "read"),
    ],
)
def test_what_does_not_fit_is_refused(suite: Path, tmp_path: Path, arguments: list[str], found: str) -> None:
    done = pcielab("run", "--suite", str(suite), "-o", str(tmp_path / "run.db"), *arguments)
    assert done.exit_code == 2
    assert found in done.stderr
    assert not (tmp_path / "run.db").exists()


@pytest.mark.parametrize(
    "old, new, found",
    [
        ("messages = 2", "messages = 0", "messages = 0"),
        ('loop = ["way", "size"]', 'loop = ["way"]', "add size"),
        ("[20, 64]", "[20, 70000]", "size_bytes is 70000"),
        ('pace = "alone"', 'pace = "alone"\nlinks = ["gen8-x8"]', "give generation and lanes"),
        ('loop = ["way", "size"]', _WIDTHS, "give them a group of their own"),
        ('pace = "alone"', 'pace = "alone"\nstore_kinds = ["direct"]', "store_bytes is 8: give 64"),
    ],
)
def test_wrong_suites_are_named(suite: Path, tmp_path: Path, old: str, new: str, found: str) -> None:
    suite.write_text(SMALL.replace(old, new))
    done = pcielab("run", "--suite", str(suite), "-o", str(tmp_path / "run.db"))
    assert done.exit_code == 2
    assert str(suite) in done.stderr
    assert found in done.stderr


def test_suites_are_listed_and_shown() -> None:
    listed = json.loads(pcielab("suites", "list", "--format", "json").stdout)
    assert "kpio" in [row["name"] for row in listed]
    shown = json.loads(pcielab("suites", "show", "kpio", "--format", "json").stdout)
    assert shown[0]["way"] == "uncached"


def test_a_run_of_messages_is_gone_on_with(suite: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    assert pcielab("run", "--suite", str(suite), "-o", str(path)).exit_code == 0
    before = open_store(path).scalar_rows
    again = pcielab("run", "--suite", str(suite), "-o", str(path), "--resume")
    assert again.exit_code == 0, again.stderr
    assert open_store(path).scalar_rows.equals(before)
    other = pcielab("run", "--suite", str(suite), "-o", str(path), "--resume", "--seed", "2")
    assert (other.exit_code, "seed is 1 in the store" in other.stderr) == (2, True)


def test_what_the_simulated_core_cannot_store_is_refused_by_its_limit(suite: Path, tmp_path: Path) -> None:
    wide = SMALL.replace('"write-combined", "descriptors"', '"write-combined"').replace(
        'pace = "alone"', 'pace = "alone"\nstore_bytes = [8, 64]\nstore_kinds = ["plain", "non-temporal"]'
    )
    suite.write_text(wide.replace('["way", "size"]', '["store-kind", "store-bytes", "size"]'))
    path = tmp_path / "run.db"
    assert pcielab("run", "--suite", str(suite), "-o", str(path)).exit_code == 0
    tests = open_store(path).scalars.query("size_bytes == 20")
    assert list(tests["status"]) == ["ok", "not-supported", "not-supported", "not-supported"]
    assert list(tests["message"])[1:3] == [
        "store_bytes = 64: the simulated core stores 8 bytes at a time",
        'store_kind = "non-temporal": the simulated core has plain stores alone',
    ]


def test_what_only_a_simulator_can_be_told_is_null_for_a_device_that_exists(suite: Path) -> None:
    parameters = json.loads(load_message_suite(str(suite)).to_json(simulated=False))["tests"][0]["parameters"]
    assert (parameters["eviction"], parameters["pressure"], parameters["store_bytes"]) == (None, None, 8)
    simulated = json.loads(load_message_suite(str(suite)).to_json())["tests"]
    assert (simulated[0]["parameters"]["eviction"], simulated[0]["parameters"]["pressure"]) == ("in-order", 0.0)
    assert simulated[-1]["parameters"]["store_kind"] is None  # descriptors
