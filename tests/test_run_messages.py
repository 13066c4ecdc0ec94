"""`pcielab run` with suites of messages: rows in the store, refusals that name the option."""

import json
from pathlib import Path

import pytest

from pcielab import open_store
from pcielab.library.suites import load_message_suite
from shell import refuse, succeed
from suite_texts import messages, suite_text

SMALL = suite_text(messages("message_latency_sizes", "write-combined descriptors", 20, 64, messages=2))
_WIDTHS = 'loop = ["way", "store-bytes", "size"]\nstore_bytes = [8, 16]'


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def test_the_papers_latencies_and_steps_are_in_the_store(suite: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    assert succeed("run", "--suite", suite, "-o", path).stdout == ""
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


def test_a_message_in_its_descriptor_has_no_payload_of_its_own(suite: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    succeed("run", "--suite", suite, "--set", "messages.descriptors.inline_bytes=64", "-o", path)
    steps = open_store(path).scalar_rows.query("metric == 'at'").set_index(["test", "subject"])["value"]
    assert "payload-request" not in steps[2]
    assert "payload-request" in steps[3]
    [inline, apart] = json.loads(
        succeed(
            "model", "pio", "--profile", "kpio-2012", "--inline", "64", "--messages", "20,64", "--format", "json"
        ).stdout
    )[2::3]
    medians = open_store(path).scalars.set_index(["way", "size_bytes"])["median"]["descriptors"]
    assert medians.tolist() == pytest.approx([inline["latency_ns"], apart["latency_ns"]], abs=0.5)
    assert "simulated" in succeed("explain", path).stdout
    succeed("report", path, "-o", tmp_path / "run.html")
    assert (tmp_path / "run.html").read_text(encoding="utf-8").count('<p class="answer">') == 3


def test_a_suite_with_loads_runs_on_a_core_of_today_and_its_limits_are_whole_accesses(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    assert "assumed: --profile sapphire-rapids-2023" in succeed("run", "--suite", "accesses", "-o", path).stderr
    rows = json.loads(succeed("explain", path, "--format", "json").stdout)
    alone = [row for row in rows if row["unit"] == "ns" and row["bound"]]
    assert {row["name"] for row in alone} >= {"UC_LOAD_ALONE", "RMW_ALONE"}
    assert all(row["share_percent"] == pytest.approx(100, abs=0.1) for row in alone)


def test_the_same_seed_gives_the_same_rows(suite: Path, tmp_path: Path) -> None:
    rows = []
    for name in ("one.db", "two.db"):
        succeed("run", "--suite", suite, "-o", tmp_path / name)
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
def test_options_that_do_not_fit_are_refused(
    suite: Path, tmp_path: Path, arguments: list[str], found: str
) -> None:
    assert found in refuse("run", "--suite", suite, "-o", tmp_path / "run.db", *arguments)
    assert not (tmp_path / "run.db").exists()


@pytest.mark.parametrize(
    "old, new, found",
    [
        ("messages = 2", "messages = 0", "messages is 0"),
        ('loop = ["way", "size"]', 'loop = ["way"]', "add size"),
        ("[20, 64]", "[20, 70000]", "size_bytes is 70000"),
        ('pace = "alone"', 'pace = "alone"\nlinks = ["gen8-x8"]', "give generation and lanes"),
        ('loop = ["way", "size"]', _WIDTHS, "give them a group of their own"),
        ('pace = "alone"', 'pace = "alone"\nstore_kinds = ["direct"]', "store_bytes is 8: give 64"),
    ],
)
def test_wrong_suites_are_named(suite: Path, tmp_path: Path, old: str, new: str, found: str) -> None:
    suite.write_text(SMALL.replace(old, new))
    message = refuse("run", "--suite", suite, "-o", tmp_path / "run.db")
    assert str(suite) in message
    assert found in message


def test_suites_are_listed_and_shown() -> None:
    listed = json.loads(succeed("suites", "list", "--format", "json").stdout)
    assert "kpio" in [row["name"] for row in listed]
    shown = json.loads(succeed("suites", "show", "kpio", "--format", "json").stdout)
    assert shown[0]["way"] == "uncached"


def test_a_run_of_messages_can_be_resumed(suite: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    succeed("run", "--suite", suite, "-o", path)
    before = open_store(path).scalar_rows
    succeed("run", "--suite", suite, "-o", path, "--resume")
    assert open_store(path).scalar_rows.equals(before)
    assert "the store has 1" in refuse("run", "--suite", suite, "-o", path, "--resume", "--seed", "2")


def test_stores_that_the_simulated_core_lacks_are_not_supported(suite: Path, tmp_path: Path) -> None:
    wide = SMALL.replace('"write-combined", "descriptors"', '"write-combined"').replace(
        'pace = "alone"', 'pace = "alone"\nstore_bytes = [8, 64]\nstore_kinds = ["plain", "non-temporal"]'
    )
    suite.write_text(wide.replace('["way", "size"]', '["store-kind", "store-bytes", "size"]'))
    path = tmp_path / "run.db"
    succeed("run", "--suite", suite, "-o", path)
    tests = open_store(path).scalars.query("size_bytes == 20")
    assert list(tests["status"]) == ["ok", "not-supported", "not-supported", "not-supported"]
    assert list(tests["message"])[1:3] == [
        "store_bytes is 64: the simulated core stores 8 bytes at a time",
        'store_kind is "non-temporal": the simulated core supports only "plain"',
    ]


def test_parameters_of_the_simulator_are_null_for_hardware(suite: Path) -> None:
    parameters = json.loads(load_message_suite(str(suite)).to_json(simulated=False))["tests"][0]["parameters"]
    assert (parameters["eviction"], parameters["pressure"], parameters["store_bytes"]) == (None, None, 8)
    simulated = json.loads(load_message_suite(str(suite)).to_json())["tests"]
    assert (simulated[0]["parameters"]["eviction"], simulated[0]["parameters"]["pressure"]) == ("in-order", 0.0)
    assert simulated[-1]["parameters"]["store_kind"] is None  # descriptors


MUX = """
name = "mux"
title = "Requests beside pages"

[provenance]
source = "test"

[[group]]
family = "pages_and_requests"
loop = ["stores-up-to"]
ways = ["mux"]
connections = [
    { name = "requests", sizes = [64, 200], pace = "alone" },
    { name = "pages", sizes = ["4K"], stores_up_to = 0 },
]
stores_up_to = [0, 64, 256]
pace = "stream"
messages = 20
"""


@pytest.fixture
def mux(tmp_path: Path) -> Path:
    (tmp_path / "mux.toml").write_text(MUX)
    assert succeed("run", "--suite", tmp_path / "mux.toml", "-o", tmp_path / "mux.db").stdout == ""
    return tmp_path / "mux.db"


def test_a_mux_has_a_row_for_each_connection(mux: Path) -> None:
    table = open_store(mux).frame
    connections = table[table["connection"].notna()].set_index(["stores_up_to_bytes", "connection"])
    assert len(table) == 3 * 3
    requests = connections.xs("requests", level="connection")
    assert requests["by_stores"].tolist() == [
        0,
        (requests["samples"] / 2).round().loc[64],
        requests["samples"].loc[256],
    ]
    assert requests["median_ns"].loc[256] < requests["median_ns"].loc[0] / 2
    assert connections.loc[(0, "pages"), "by_stores"].tolist() == [0, 0, 0]
    assert (connections["samples"] >= 20).all()
    assert connections.loc[(0, "pages"), "overtook"].tolist() == [0, 0, 0]
    whole = table[table["connection"].isna()]
    of_both = connections.groupby("id")["bandwidth_gbps"].sum()
    assert whole["bandwidth_gbps"].tolist() == pytest.approx(of_both.tolist(), rel=1e-9)


def test_connections_of_two_runs_are_compared_by_name(mux: Path, tmp_path: Path) -> None:
    other = tmp_path / "faster.db"
    succeed("run", "--suite", tmp_path / "mux.toml", "--set", "link.lanes=2", "-o", other)
    done = succeed("compare", mux, other, "--format", "json")
    rows = [row for row in json.loads(done.stdout) if row.get("connection")]
    assert [row["connection"] for row in rows] == ["requests", "pages"] * 3
    assert all(row["median_difference_ns"] is not None for row in rows)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("stores_up_to = [0, 64, 256]\n", ""), "stores_up_to_bytes is missing for requests: give it to the test"),
        (('ways = ["mux"]', 'ways = ["mux", "descriptors"]'), "give it a group of its own"),
        (('ways = ["mux"]', 'ways = ["descriptors"]\nsizes = [64]'), "need a mux"),
        (('ways = ["mux"]', 'ways = ["mux"]\nsizes = [64]'), "are those of the connections"),
        (('"pages"', '"requests"'), "names of connections is 1: give each its own"),
        (("[64, 200]", '["128K"]'), "size_bytes is 131072: give 1 byte to 64 KiB"),
        (("stores_up_to = 0", 'stores_up_to = "x"'), "give bytes, for example 64"),
        (("messages = 20", "messages = 10000"), "messages is 10000"),
    ],
)
def test_an_impossible_mux_is_refused(change: tuple[str, str], said: str, tmp_path: Path) -> None:
    assert change[0] in MUX
    (tmp_path / "mux.toml").write_text(MUX.replace(*change))
    message = refuse("run", "--suite", tmp_path / "mux.toml", "-o", tmp_path / "mux.db")
    assert said in " ".join(message.split())
    assert not (tmp_path / "mux.db").exists()
