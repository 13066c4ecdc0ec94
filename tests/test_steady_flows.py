"""Averages of flows are those of the steady state; flows that are not steady are marked."""

import csv
import json
from pathlib import Path

import pandas as pd
import pytest

from pcielab import fabric
from pcielab.fabric.flow_numbers import departures
from shell import refuse, succeed

OUTSTANDING = [(65_536, 16), (1 << 20, 64), (4096, 1)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a flow file for each size and number of outstanding requests."""
    made = tmp_path_factory.mktemp("steady")
    head = "name,source,destination,primitive,size_bytes,outstanding"
    for size, outstanding in OUTSTANDING:
        (made / f"{size}x{outstanding}.csv").write_text(f"{head}\nF1,host1,A,h2d,{size},{outstanding}\n")
    return made


def only_row(*arguments: str | Path) -> dict[str, str]:
    shown = succeed("fabric", "run", "fabrex-u55c", *arguments, "--overwrite", "--format", "csv").stdout
    [row] = csv.DictReader(shown.splitlines())
    return row


@pytest.mark.parametrize(("size", "outstanding"), OUTSTANDING)
def test_latencies_follow_littles_law(folder: Path, size: int, outstanding: int) -> None:
    row = only_row("--flows", folder / f"{size}x{outstanding}.csv", "-o", folder / "run.db")
    expected_ns = size * outstanding / float(row["gbytes_per_s"])
    assert float(row["average_ns"]) == pytest.approx(expected_ns, rel=0.002)
    assert float(row["in_flight"]) == pytest.approx(outstanding)
    assert "note" not in row


def test_an_unsteady_flow_is_marked_in_every_output(folder: Path) -> None:
    flows = folder / "65536x16.csv"
    row = only_row("--flows", flows, "--warm-up", "50", "-o", folder / "early.db")
    words = "not steady: 16 in flight, but rate x latency = 14.47 (Little's law)"
    assert row["note"].startswith(words)
    succeed("export", "csv", folder / "early.db", "-o", folder / "early.csv")
    assert words in (folder / "early.csv").read_text(encoding="utf-8")
    succeed("report", folder / "early.db", "-o", folder / "early.html")
    page = (folder / "early.html").read_text(encoding="utf-8")
    assert words in page.replace("&#39;", "'")
    options = ("fabrex-u55c", "--flows", flows, "--warm-up-us", "50")
    assert words in succeed("fabric", "run", *options, "-o", folder / "table.db").stdout
    estimate = succeed("fabric", "estimate", *options, "--standalone", "simulated", "--format", "json")
    [estimated] = json.loads(estimate.stdout)
    assert estimated["note"].startswith(words)


def test_a_flow_without_a_completed_request_is_marked(folder: Path) -> None:
    options = ("--warm-up-us", "0", "--duration-us", "20", "-o", folder / "short.db")
    row = only_row("--flows", folder / "1048576x64.csv", *options)
    assert row["note"] == "no request returned in the counted time: lengthen it"


def test_a_suite_names_the_flows_that_are_not_steady(folder: Path) -> None:
    text = """
name = "early"
title = "Counted too early"
fabric = "fabrex-u55c"

[provenance]
source = "Invented for a test"

[[experiment]]
family = "sizes"
series = "alone"
warm_up_us = 50.0
sweep = "F1.size_bytes"
values = [64, 65536]
flows = [{ name = "F1", source = "host1", destination = "A", primitive = "h2d", outstanding = 16 }]
"""
    (folder / "early.toml").write_text(text, encoding="utf-8")
    command = ("fabric", "run", "fabrex-u55c", "--suite", folder / "early.toml")
    said = succeed(*command, "-o", folder / "suite.db").stderr
    assert "sizes, alone, F1.size_bytes = 65536: flow F1: not steady: 16 in flight" in said
    assert "size_bytes = 64:" not in said
    refused = refuse(*command, "--warm-up", "9", "-o", folder / "no.db")
    assert "set warm_up_us of the suite's experiments" in refused
    refused = refuse("fabric", "run", "fabrex-u55c", "--warm-up-us=-1", "-o", folder / "no.db")
    assert "--warm-up-us: '-1' is not a time: give 0 to 1000000 us" in refused


def test_a_flow_with_more_in_flight_than_rate_times_latency_is_marked() -> None:
    steady = {"size_bytes": 1000, "gbytes_per_s": 1.0, "requests": 50, "average_ns": 4000.0, "in_flight": 4.0}
    rows = [steady, steady | {"in_flight": 4.07}, steady | {"in_flight": 4.1}, steady | {"in_flight": 0.0}]
    found = departures(pd.DataFrame(rows))
    assert [isinstance(one, str) for one in found] == [False, False, True, False]


def test_flows_with_one_queue_are_counted_for_whole_bursts() -> None:
    """Small requests behind large ones come in bursts: half a burst changes their rate by some percent."""
    flows = pd.DataFrame(
        [
            fabric.Flow(
                name=name, source="A", destination="B", primitive="d2d-read", size_bytes=size, outstanding=64
            )
            for name, size in (("small", 4096), ("large", 32_768))
        ]
    )
    found = [fabric.simulate(fabric.load("fabrex-u55c"), flows, duration_us=us).flows for us in (200, 10_000)]
    for metric in ("gbytes_per_s", "average_ns"):
        assert found[0][metric].tolist() == pytest.approx(found[1][metric].tolist(), rel=0.005)
    assert found[0]["note"].isna().all()
