"""The figures of messages, from a store as the runner writes it."""

import json
from pathlib import Path
from typing import Any

import pytest

from pcielab import model
from pcielab.report import figures, write_report
from pcielab.simulation import simulate_messages
from pcielab.store import Store, open_store
from pcielab.suites import load_message_suite

from .conftest import MakeStore

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


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("messages")
    text = SUITE
    for pace in ("alone", "stream"):
        for links in ("", 'links = ["gen3-x8", "gen6-x8"]\n'):
            text += f'{GROUP}pace = "{pace}"\n{links}'
    path = folder / "small.toml"
    path.write_text(text)
    simulate_messages(model.load_message_profile("kpio-2012"), load_message_suite(str(path)), folder / "run.db")
    return open_store(folder / "run.db")


def rows_of(figure: figures.Figure) -> list[dict[str, Any]]:
    datasets = json.loads(figure.to_json(validate=True))["datasets"]
    return [row for rows in datasets.values() for row in rows]


def test_the_time_line_has_the_papers_steps(messages: Store) -> None:
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


def test_bandwidth_stays_below_the_link(messages: Store) -> None:
    rows = rows_of(figures.message_bandwidth_by_size(messages))
    bound = {row["size_bytes"]: row["bandwidth"] for row in rows if "bound" in row}
    assert bound
    assert all(row["bandwidth"] < bound[row["size_bytes"]] for row in rows if "way" in row)


def test_the_loopback_starts_from_the_measured_point(messages: Store) -> None:
    rows = rows_of(figures.modelled_loopback(messages))
    at_128 = {
        row["part"]: row["latency_ns"] for row in rows if row["link"] == "Gen3 x8" and row["packet_bytes"] == 128
    }
    assert sorted(at_128.values()) == pytest.approx([900, 1000])


def test_stores_without_messages_say_what_is_missing(make_store: MakeStore) -> None:
    store = make_store("a")
    for draw in (
        figures.message_steps, figures.message_latency_by_size, figures.message_bandwidth_by_link,
        figures.modelled_loopback,
    ):  # fmt: skip
        with pytest.raises(figures.MissingDataError, match="pcielab run --suite kpio"):
            draw(store)


def test_a_report_of_messages_can_be_written(messages: Store, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    write_report([messages], page)
    text = page.read_text()
    assert "Where the time of a small message goes" in text
    assert "SIMULATED" in text
