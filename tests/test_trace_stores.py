"""A trace from its recording to a report, through the command line."""

import json
from pathlib import Path

import pytest

from shell import refuse, succeed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a trace, and stores of it on two hosts."""
    made = tmp_path_factory.mktemp("traces")
    succeed(
        "trace", "record", "--test", "bw-rdwr", "--size", "256", "--transactions", "500", "-o", made / "a.trace"
    )
    succeed("trace", "play", made / "a.trace", "-o", made / "a.db")
    succeed("trace", "play", made / "a.trace", "--set", "link.tags=8", "-o", made / "b.db")
    return made


def test_a_trace_is_explained_compared_and_reported(folder: Path) -> None:
    rows = json.loads(succeed("explain", folder / "b.db", "--format", "json").stdout)
    assert [(row["direction"], row["origin"]) for row in rows] == [("read", "simulated"), ("write", "simulated")]
    assert rows[0]["bound"] == "tags"
    pairs = json.loads(succeed("compare", folder / "a.db", folder / "b.db", "--format", "json").stdout)
    assert all(pair["bandwidth_b_gbps"] < pair["bandwidth_a_gbps"] for pair in pairs)
    assert (
        "link.tags 32 -> 8: reads of the trace lose" in succeed("explain", folder / "a.db", folder / "b.db").stdout
    )
    succeed("report", folder / "a.db", folder / "b.db", "-o", folder / "report.html")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "SIMULATED" in page
    assert all(f'data-figure="trace-{name}"' in page for name in ("latencies", "distributions", "rates"))


def test_a_trace_is_shown_over_time(folder: Path) -> None:
    succeed("export", "perfetto", folder / "a.db", "-o", folder / "a.json")
    events = json.loads((folder / "a.json").read_text(encoding="utf-8"))["traceEvents"]
    assert sum(event["ph"] == "X" for event in events) == 500


def test_an_existing_store_is_kept(folder: Path) -> None:
    before = (folder / "a.db").read_bytes()
    assert "a.db" in refuse("trace", "play", folder / "a.trace", "-o", folder / "a.db")
    assert (folder / "a.db").read_bytes() == before
