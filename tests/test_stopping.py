"""Ctrl-C is answered in a second, whatever is simulated or written, and what is finished is kept."""

import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

from patience import HANGS_AFTER_SECONDS, patient
from pcielab import open_store
from shell import PCIELAB, Done, stored, succeed


def interrupted(store: Path, tests: int, *arguments: str | Path, after_seconds: float = 0.5) -> tuple[Done, float]:
    """Interrupt a command some time after that many tests were stored; how it ended, and how long that took."""
    process = subprocess.Popen(
        [PCIELAB, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    started = time.monotonic()
    while (not store.exists() or stored(store) < tests) and time.monotonic() - started < HANGS_AFTER_SECONDS:
        time.sleep(0.01)
    time.sleep(after_seconds)
    asked = time.monotonic()
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=HANGS_AFTER_SECONDS)
    return Done(process.returncode, stdout, stderr), time.monotonic() - asked


LIMIT_SECONDS = 20.0
"""Far more than the second that a stop takes on an idle machine, far less than what is stopped would."""


def test_a_simulation_of_a_fabric_that_would_take_minutes_is_stopped(tmp_path: Path) -> None:
    output = tmp_path / "run.db"
    command = ("fabric", "run", "fabrex-u55c", "--flows", "latency", "--duration-us", "1e6", "-o", output)
    done, seconds = interrupted(output, 0, *command)
    assert done.exit_code == 130, done.stderr
    assert "--resume" in done.stderr
    assert seconds < patient(LIMIT_SECONDS)
    assert set(open_store(output).tests["status"]) <= {"interrupted"}


def test_an_estimate_from_simulated_standalones_is_stopped_and_can_be_asked_again(tmp_path: Path) -> None:
    flows = tmp_path / "flows.csv"
    # More than the way carries, which is said before anything is simulated: a sign that it is about to be.
    lines = ["name,source,destination,primitive,size_bytes,outstanding,standalone_gbytes_per_s"]
    lines += [f"F{number},host1,{card},h2d,64,1,100" for number, card in enumerate("LABCD")]
    flows.write_text("\n".join(lines), encoding="utf-8")
    command = (
        "fabric",
        "estimate",
        "fabrex-u55c",
        "--flows",
        flows,
        "--standalone",
        "simulated",
        "--format",
        "csv",
    )
    process = subprocess.Popen(
        [PCIELAB, *map(str, command), "--duration-us", "1e6"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stderr is not None
    assert "F0" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=HANGS_AFTER_SECONDS)
    assert (process.returncode, stdout) == (130, "")
    assert "Traceback" not in stderr
    # It keeps nothing that could be gone on with, and nothing that is in the way.
    assert [path.name for path in tmp_path.iterdir()] == ["flows.csv"]
    again = succeed(*command, "--duration-us", "20")
    assert len(again.stdout.splitlines()) == 6


MANY_MESSAGES = """
name = "many"
title = "Tests as long as they may be"

[provenance]
source = "test"

[[group]]
family = "message_throughput_sizes"
loop = ["size"]
ways = ["write-combined"]
sizes = [8, 16, 24, 32, 40, 48, 56, 64]
pace = "stream"
messages = 262144
"""


def test_a_run_of_many_messages_is_stopped(tmp_path: Path) -> None:
    output, suite = tmp_path / "run.db", tmp_path / "many.toml"
    suite.write_text(MANY_MESSAGES)
    done, _ = interrupted(output, 0, "run", "--suite", suite, "-o", output, after_seconds=0)
    assert done.exit_code == 130, done.stderr
    assert len(open_store(output).tests) < 8


def test_a_locked_store_holds_up_no_stop(tmp_path: Path) -> None:
    output = tmp_path / "run.db"
    command = ("run", "--profile", "snb", "--suite", "quick", "-o", output)
    process = subprocess.Popen(
        [PCIELAB, *map(str, command)],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not output.exists() or stored(output) < 3:
        time.sleep(0.005)
    with closing(sqlite3.connect(output, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        time.sleep(0.3)
        asked = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=HANGS_AFTER_SECONDS)
        assert time.monotonic() - asked < patient(LIMIT_SECONDS)
        other.execute("ROLLBACK")
    assert process.returncode == 130
    assert "--resume" in stderr
    succeed(*command, "--resume")
    assert set(open_store(output).tests["status"]) == {"ok"}
