"""Ctrl-C stops a command within a second during any simulation or write, and finished tests are kept."""

import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from patience import HANGS_AFTER_SECONDS, patient
from pcielab import open_store
from shell import Done, ended, started, succeed, wait_for_tests
from suite_texts import messages, suite_text


def interrupted(store: Path, *arguments: str | Path, after_seconds: float = 0.5) -> tuple[Done, float]:
    """Interrupt a command some time after its store appears; returns its end and the seconds until then."""
    process = started(*arguments)
    until = time.monotonic() + HANGS_AFTER_SECONDS
    while not store.exists() and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(after_seconds)
    asked = time.monotonic()
    process.send_signal(signal.SIGINT)
    return ended(process), time.monotonic() - asked


LIMIT_SECONDS = 20.0
"""Far more than the second that a stop takes on an idle machine, far less than the rest of the commands here."""


def test_a_long_simulation_of_a_fabric_is_stopped(tmp_path: Path) -> None:
    output = tmp_path / "run.db"
    command = ("fabric", "run", "fabrex-u55c", "--flows", "latency", "--duration-us", "1e6", "-o", output)
    done, seconds = interrupted(output, *command)
    assert done.exit_code == 130, done.stderr
    assert "--resume" in done.stderr
    assert seconds < patient(LIMIT_SECONDS)
    assert set(open_store(output).tests["status"]) <= {"interrupted"}


def test_an_estimate_from_simulated_standalones_is_stopped_and_can_be_repeated(tmp_path: Path) -> None:
    flows = tmp_path / "flows.csv"
    # A rate above the path's limit brings a warning right before the simulation: the test waits for it.
    lines = ["name,source,destination,primitive,size_bytes,outstanding,standalone_gbytes_per_s"]
    lines += [f"F{number},host1,{device},h2d,64,1,100" for number, device in enumerate("LABCD")]
    flows.write_text("\n".join(lines), encoding="utf-8")
    options = ("--flows", flows, "--standalone", "simulated", "--format", "csv")
    command = ("fabric", "estimate", "fabrex-u55c", *options)
    process = started(*command, "--duration-us", "1e6")
    assert process.stderr is not None
    assert "F0" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    done = ended(process)
    assert (done.exit_code, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr
    # It leaves no files.
    assert [path.name for path in tmp_path.iterdir()] == ["flows.csv"]
    again = succeed(*command, "--duration-us", "20")
    assert len(again.stdout.splitlines()) == 6


def test_a_run_of_many_messages_is_stopped(tmp_path: Path) -> None:
    output, suite = tmp_path / "run.db", tmp_path / "many.toml"
    family, sizes = "message_throughput_sizes", range(8, 72, 8)
    suite.write_text(suite_text(messages(family, "write-combined", *sizes, pace="stream", messages=262144)))
    done, _ = interrupted(output, "run", "--suite", suite, "-o", output, after_seconds=0)
    assert done.exit_code == 130, done.stderr
    assert len(open_store(output).tests) < 8


def test_a_locked_store_does_not_delay_a_stop(tmp_path: Path) -> None:
    output = tmp_path / "run.db"
    command = ("run", "--profile", "snb", "--suite", "quick", "-o", output)
    process = started(*command)
    wait_for_tests(process, output, 3)
    with closing(sqlite3.connect(output, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        time.sleep(0.3)
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        done = ended(process)
        assert time.monotonic() - asked < patient(LIMIT_SECONDS)
        other.execute("ROLLBACK")
    assert done.exit_code == 130
    assert "--resume" in done.stderr
    succeed(*command, "--resume")
    assert set(open_store(output).tests["status"]) == {"ok"}
