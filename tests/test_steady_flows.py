"""Averages of flows are those of the steady state; a flow that is not steady says so."""

import csv
import json
from pathlib import Path

import pandas as pd
import pytest

from pcielab import fabric
from pcielab.store.littles_law import departures
from shell import pcielab, succeed

OUTSTANDING = [(65_536, 16), (1 << 20, 64), (4096, 1)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Flows of one H2D, by what is outstanding."""
    made = tmp_path_factory.mktemp("steady")
    for size, outstanding in OUTSTANDING:
        frame = pd.DataFrame(
            {
                "name": ["F1"],
                "source": ["host1"],
                "destination": ["A"],
                "primitive": ["h2d"],
                "size_bytes": [size],
                "outstanding": [outstanding],
            }
        )
        frame.to_csv(made / f"{size}x{outstanding}.csv", index=False)
    return made


def only_row(*arguments: str | Path) -> dict[str, str]:
    shown = succeed("fabric", "run", "fabrex-u55c", *arguments, "--overwrite", "--format", "csv").stdout
    [row] = csv.DictReader(shown.splitlines())
    return row


@pytest.mark.parametrize(("size", "outstanding"), OUTSTANDING)
def test_latencies_are_what_littles_law_says(folder: Path, size: int, outstanding: int) -> None:
    row = only_row("--flows", folder / f"{size}x{outstanding}.csv", "-o", folder / "run.db")
    expected_ns = size * outstanding / float(row["gbytes_per_s"])
    assert float(row["average_ns"]) == pytest.approx(expected_ns, rel=0.002)
    assert float(row["in_flight"]) == pytest.approx(outstanding)
    assert "note" not in row


def test_a_flow_that_is_not_steady_says_so_everywhere(folder: Path) -> None:
    flows = folder / "65536x16.csv"
    row = only_row("--flows", flows, "--warm-up", "50", "-o", folder / "early.db")
    words = "not steady: 16 in flight, but rate x latency = 14.47 (Little's law)"
    assert row["note"].startswith(words)
    succeed("export", "csv", folder / "early.db", "-o", folder / "early.csv")
    assert words in (folder / "early.csv").read_text(encoding="utf-8")
    succeed("report", folder / "early.db", "-o", folder / "early.html")
    page = (folder / "early.html").read_text(encoding="utf-8")
    assert words in page.replace("&#39;", "'")
    assert (
        words
        in succeed(
            "fabric", "run", "fabrex-u55c", "--flows", flows, "--warm-up-us", "50", "-o", folder / "table.db"
        ).stdout
    )
    [estimated] = json.loads(
        succeed(
            *("fabric", "estimate", "fabrex-u55c", "--flows", flows, "--standalone", "simulated"),
            *("--warm-up-us", "50", "--format", "json"),
        ).stdout
    )
    assert estimated["note"].startswith(words)


def test_a_request_that_never_comes_back_is_said(folder: Path) -> None:
    row = only_row(
        *(
            "--flows",
            folder / "1048576x64.csv",
            "--warm-up-us",
            "0",
            "--duration-us",
            "20",
            "-o",
            folder / "short.db",
        )
    )
    assert row["note"] == "no request came back in the counted time: lengthen it"


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
    said = succeed(
        "fabric", "run", "fabrex-u55c", "--suite", folder / "early.toml", "-o", folder / "suite.db"
    ).stderr
    assert "sizes, alone, F1.size_bytes = 65536: flow F1: not steady: 16 in flight" in said
    assert "size_bytes = 64:" not in said
    refused = pcielab(
        *(
            "fabric",
            "run",
            "fabrex-u55c",
            "--suite",
            folder / "early.toml",
            "--warm-up",
            "9",
            "-o",
            folder / "no.db",
        )
    )
    assert (refused.exit_code, "set warm_up_us of the suite's experiments" in refused.stderr) == (2, True)
    refused = pcielab("fabric", "run", "fabrex-u55c", "--warm-up-us=-1", "-o", folder / "no.db")
    assert (refused.exit_code, "--warm-up-us -1: give microseconds" in refused.stderr) == (2, True)


def test_a_flow_in_flight_longer_than_its_rate_allows_is_said() -> None:
    steady = {"size_bytes": 1000, "gbytes_per_s": 1.0, "requests": 50, "average_ns": 4000.0, "in_flight": 4.0}
    rows = [steady, steady | {"in_flight": 4.07}, steady | {"in_flight": 4.1}, steady | {"in_flight": 0.0}]
    found = departures(pd.DataFrame(rows))
    assert [isinstance(one, str) for one in found] == [False, False, True, False]


def test_flows_with_one_queue_are_counted_for_whole_bursts() -> None:
    """Small requests behind large ones come in bursts: half a burst more would change their rate by percents."""
    flows = pd.DataFrame(
        [
            fabric.Flow(
                name=name, source="A", destination="B", primitive="d2d-read", size_bytes=size, outstanding=64
            ).model_dump()
            for name, size in (("small", 4096), ("large", 32_768))
        ]
    )
    found = [fabric.simulate(fabric.load("fabrex-u55c"), flows, duration_us=us).flows for us in (200, 10_000)]
    for metric in ("gbytes_per_s", "average_ns"):
        assert found[0][metric].tolist() == pytest.approx(found[1][metric].tolist(), rel=0.005)
    assert found[0]["note"].isna().all()
