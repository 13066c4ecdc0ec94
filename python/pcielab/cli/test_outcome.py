"""What `pcielab run` prints of a single test, how it counts tests without a result, and when it fails."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from pcielab import RunError, Store, open_store, run, single_test
from pcielab._core import StoreWriter
from pcielab.cli.outcome import print_single, report_outcome, say_without_result
from pcielab.cli.output import Cell, Format


def printed(capsys: pytest.CaptureFixture[str], operation: str, sets: Sequence[str] = ()) -> dict[str, Cell]:
    """The object that is printed of a test, on the twin of a measured machine."""
    test = single_test(operation, size=64, window="8K", cache="host-warm", transactions=1000)
    print_single(run(test, profile="hsw2620", sets=sets), "hsw2620", Format.JSON)
    row: dict[str, Cell]
    [row] = json.loads(capsys.readouterr().out)
    return row


@pytest.mark.parametrize(
    ("operation", "metric", "unit"), [("bw-rd", "bandwidth", "gbps"), ("lat-rd", "median", "ns")]
)
def test_a_twins_value_has_the_range_in_which_the_machines_lies(
    operation: str, metric: str, unit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    row = printed(capsys, operation)
    low, value, high = (
        float(str(row[key])) for key in (f"expected_low_{unit}", f"{metric}_{unit}", f"expected_high_{unit}")
    )
    assert 0 < low < value < high < 1.5 * low


def test_a_changed_twin_has_its_parameters_and_values_but_no_range(capsys: pytest.CaptureFixture[str]) -> None:
    row = printed(capsys, "lat-rd", ["host.memory.miss_ns=80"])
    assert {key: row[key] for key in ("size_bytes", "window_bytes", "cache", "status", "origin")} == {
        "size_bytes": 64,
        "window_bytes": 8192,
        "cache": "host-warm",
        "status": "ok",
        "origin": "simulated",
    }
    assert [key for key in row if key.endswith("_ns")] == [
        f"{metric}_ns" for metric in ("average", "median", "minimum", "p95", "p99")
    ]


def test_tests_without_a_result_are_counted_by_status_and_message(capsys: pytest.CaptureFixture[str]) -> None:
    ended = [("ok", None), ("failed", "b"), ("not-supported", "a"), ("failed", "b"), ("failed", "a")]
    say_without_result([{"status": status, "message": message} for status, message in ended])
    assert capsys.readouterr().err.splitlines() == ["2 failed: b", "1 not-supported: a", "1 failed: a"]


def stored(path: Path, *statuses: str) -> Store:
    """A run of tests that ended so."""
    with StoreWriter.create(path, json.dumps({"origin": "measured"})) as writer:
        for number, status in enumerate(statuses):
            record = {"id": number, "family": "f", "name": "BW_DMA_RD", "parameters": "{}", "status": status}
            writer.write_test(json.dumps(record | ({} if status == "ok" else {"message": "why"})))
    return open_store(path)


def test_a_run_with_results_and_no_failure_succeeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report_outcome(stored(tmp_path / "run.db", "ok", "not-supported", "ok"), "a card")
    assert capsys.readouterr().err.splitlines() == [
        f"2 tests measured on a card: {tmp_path / 'run.db'}",
        "1 not-supported: why",
    ]


@pytest.mark.parametrize(
    ("statuses", "message"),
    [(["ok", "failed", "failed"], "2 tests failed"), (["not-supported"], "no test has a result")],
)
def test_a_run_with_a_failure_or_without_a_result_fails(tmp_path: Path, statuses: list[str], message: str) -> None:
    with pytest.raises(RunError, match=message):
        report_outcome(stored(tmp_path / "run.db", *statuses), "a card")
