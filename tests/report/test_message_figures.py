"""The figures of messages, from the store of a run."""

from pathlib import Path

import pandas as pd
import pytest

from pcielab import run
from pcielab.charts.frame import claims_of
from pcielab.kinds.messages.by_size import ways_claims
from pcielab.library.suites import load_message_suite
from pcielab.report import figures, write_report
from pcielab.store import Store, open_store

from .conftest import MakeStore
from .test_figures import rows_of

SUITE = """
name = "small"
title = "A few messages"

[provenance]
source = "test"
"""
GROUP = """
[[group]]
family = "messages"
loop = ["way", "size", "link"]
ways = ["write-combined", "descriptors"]
sizes = [20, 64, 128]
messages = 2
"""
FEW_SIZES = """
[[group]]
family = "one size on another link"
loop = ["way"]
ways = ["write-combined", "descriptors"]
sizes = [20]
links = ["gen4-x8"]
pace = "stream"
messages = 2
"""
CONTENTION = """
[[group]]
family = "message_cores"
loop = ["sharing", "cores", "size"]
ways = ["write-combined"]
sizes = [64]
cores = [1, 2]
sharing = ["own-queues", "one-queue"]
pace = "stream"
messages = 20

[[group]]
family = "message_evictions"
loop = ["eviction", "pressure"]
ways = ["write-combined"]
sizes = [1024]
evictions = ["in-order", "random"]
pressures = [0.0, 0.5]
pace = "stream"
messages = 20
"""


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("messages")
    text = SUITE
    for pace in ("alone", "stream"):
        for links in ("", 'links = ["gen3-x8", "gen6-x8"]\n'):
            text += f'{GROUP}pace = "{pace}"\n{links}'
    text += FEW_SIZES + CONTENTION
    path = folder / "small.toml"
    path.write_text(text)
    run(load_message_suite(str(path)), profile="kpio-2012", output=folder / "run.db")
    return open_store(folder / "run.db")


def test_the_timeline_has_the_papers_steps(messages: Store) -> None:
    rows = rows_of(figures.message_steps(messages))
    own = {row["phase"]: row["to_ns"] for row in rows if row["line"].startswith("kpio-2012, Gen1 x4")}
    assert own["stores of the payload"] == pytest.approx(232, abs=0.1)
    assert own["descriptor's round trip"] == pytest.approx(832, abs=0.1)
    assert own["payload's round trip"] == pytest.approx(1736, abs=0.1)
    assert len({row["line"] for row in rows}) == 6


def test_every_way_and_link_is_drawn(messages: Store) -> None:
    own = rows_of(figures.message_latency_by_size(messages))
    assert {(row["way"], row["size_bytes"]) for row in own if "way" in row} == {
        (way, size) for way in ("write-combined", "descriptors") for size in (20, 64, 128)
    }
    for draw in (figures.message_latency_by_link, figures.message_bandwidth_by_link):
        assert {row["link"] for row in rows_of(draw(messages))} == {"Gen3 x8", "Gen6 x8"}


def test_cores_and_evictions_are_drawn(messages: Store) -> None:
    cores = figures.message_cores(messages)
    drawn = {(row["line"].split(", ")[-1], row["cores"]) for row in rows_of(cores) if "cores" in row}
    assert drawn == {(queue, number) for queue in ("a queue for each core", "one queue") for number in (1, 2)}
    assert {row["panel"] for row in rows_of(cores)} == {"Gen1 x4 · bandwidth (Gb/s)", "Gen1 x4 · latency (ns)"}
    evictions = figures.message_evictions(messages)
    assert {row["pressure"] for row in rows_of(evictions)} == {0.0, 0.5}
    [said] = claims_of(evictions)
    assert "bandwidth at a share of 50% beside that at 0%" in said
    assert " times as much" in said
    assert "+" not in said


def test_which_way_is_ahead_is_computed(messages: Store) -> None:
    [said] = claims_of(figures.message_latency_by_size(messages))
    assert said.endswith("write-combined stores are ahead of descriptors at every one of 3 sizes.")
    rows = pd.DataFrame({"run": "a", "link": "", "way": ["write-combined", "descriptors"] * 3})
    rows = rows.assign(size_bytes=[8, 8, 64, 64, 4096, 4096], bandwidth=[2, 1, 3, 2, 4, 9], median=[1, 2] * 3)
    assert [*ways_claims(rows, "bandwidth")] == ["a: write-combined stores are ahead of descriptors up to 64 B."]
    swapped = rows.assign(bandwidth=-rows["bandwidth"])
    assert [*ways_claims(swapped, "bandwidth")] == [
        "a: write-combined stores are ahead of descriptors at 1 of 3 sizes, at most 4,096 B."
    ]


def test_bandwidth_stays_below_the_link(messages: Store) -> None:
    rows = rows_of(figures.message_bandwidth_by_size(messages))
    bound = {row["size_bytes"]: row["bandwidth"] for row in rows if "bound" in row}
    assert bound
    assert all(row["bandwidth"] < bound[row["size_bytes"]] for row in rows if "way" in row)


def test_the_loopback_curve_contains_the_measured_point(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(f'{SUITE}{GROUP}pace = "alone"', encoding="utf-8")
    suite = load_message_suite(str(tmp_path / "one.toml"))
    run(suite, profile="exanic-2018", output=tmp_path / "run.db")
    rows = rows_of(figures.modelled_loopback(open_store(tmp_path / "run.db")))
    at_128 = {
        row["part"]: row["latency_ns"] for row in rows if row["link"] == "Gen3 x8" and row["packet_bytes"] == 128
    }
    assert sorted(at_128.values()) == pytest.approx([900, 1000])


def test_a_machine_without_a_measured_loopback_has_no_loopback_figure(messages: Store) -> None:
    with pytest.raises(figures.MissingDataError, match="measured loopback"):
        figures.modelled_loopback(messages)


def test_figures_of_messages_name_the_missing_suite(make_store: MakeStore) -> None:
    store = make_store("a")
    for draw in (
        figures.message_steps, figures.message_latency_by_size, figures.message_bandwidth_by_link,
        figures.modelled_loopback, figures.message_cores, figures.message_evictions,
    ):  # fmt: skip
        with pytest.raises(figures.MissingDataError, match="pcielab run --suite kpio"):
            draw(store)


def test_a_report_of_messages_can_be_written(messages: Store, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    write_report([messages], page)
    text = page.read_text()
    assert "Time of a small message by step" in text
    assert "SIMULATED" in text


def test_a_mux_has_a_line_for_each_connection(tmp_path: Path) -> None:
    group = """
[[group]]
family = "mux"
loop = ["stores-up-to", "eviction"]
ways = ["mux"]
connections = [{ name = "short", sizes = [64], pace = "alone" }, { name = "all", sizes = [64, 2048] }]
stores_up_to = [0, 64, "2K"]
evictions = ["in-order", "random"]
pace = "stream"
messages = 20
"""
    (tmp_path / "mux.toml").write_text(f"{SUITE}{group}", encoding="utf-8")
    suite = load_message_suite(str(tmp_path / "mux.toml"))
    run(suite, profile="kpio-2012", output=tmp_path / "run.db")
    figure = figures.message_mux(open_store(tmp_path / "run.db"))
    rows = [row for row in rows_of(figure) if "limit" in row]
    assert {(row["line"], row["limit"]) for row in rows} == {
        (connection, limit) for connection in ("short", "all") for limit in ("none", "64", "2K")
    }
    # Each eviction order has its own panels: a line has one point at each limit.
    assert {row["panel"] for row in rows} == {
        f"Gen1 x4, mux, eviction {eviction} · {metric}"
        for eviction in ("in-order", "random")
        for metric in ("bandwidth (Gb/s)", "median latency (ns)")
    }
    said = claims_of(figure)
    assert len(said) == 2
    assert all("short: " in one and one.count("of all messages before one sent earlier") == 1 for one in said)
