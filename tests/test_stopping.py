"""Ctrl-C stops a command during any simulation or write, and finished tests are kept.

The commands would run for minutes, or for as long as a lock is held: one that ends has been stopped.
"""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from moments import wait_for_work, wait_until
from patience import HANGS_AFTER_SECONDS
from pcielab import open_store
from pcielab.devices.running import simulate
from pcielab.errors import InputError, StoppedError
from shell import Done, ended, started, succeed
from suite_texts import messages, suite_text


def interrupted(store: Path, *arguments: str | Path) -> Done:
    """Interrupt a command that computes: it has a store, and has used the processor since."""
    process = started(*arguments)
    wait_until(lambda: store.exists() or process.poll() is not None)
    wait_for_work(process.pid, 0.1)
    process.send_signal(signal.SIGINT)
    return ended(process)


def test_a_long_simulation_of_a_fabric_is_stopped(tmp_path: Path) -> None:
    output = tmp_path / "run.db"
    command = ("fabric", "run", "fabrex-u55c", "--flows", "latency", "--duration-us", "1e6", "-o", output)
    done = interrupted(output, *command)
    assert done.exit_code == 130, done.stderr
    assert "--resume" in done.stderr
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
    family, sizes = "message_throughput_sizes", range(1, 65)
    suite.write_text(suite_text(messages(family, "write-combined", *sizes, pace="stream", messages=262144)))
    done = interrupted(output, "run", "--suite", suite, "-o", output)
    assert done.exit_code == 130, done.stderr
    assert len(open_store(output).tests) < len(sizes)


HOLD_LOCK = f"""
import sqlite3, sys

store = sqlite3.connect(sys.argv[1], isolation_level=None, timeout={HANGS_AFTER_SECONDS})
store.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


def is_resumed(store: Path) -> bool:
    """Complete a run, unless a writer still has its store open."""
    try:
        simulate("snb", "quick", store, resume=True)
    except InputError as error:
        if "is open in another process" not in str(error):
            raise
        return False
    return True


def test_a_locked_store_does_not_delay_a_stop(tmp_path: Path) -> None:
    """Another process holds the lock: in one process, two copies of SQLite undo each other's locks."""
    output = tmp_path / "run.db"
    holders: list[subprocess.Popen[str]] = []

    def lock_and_stop(done: int, *_state: object) -> None:
        if done >= 3 and not holders:
            command = [sys.executable, "-c", HOLD_LOCK, str(output)]
            holders.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            assert holders[0].stdout is not None
            assert holders[0].stdout.readline() == "locked\n"
            signal.raise_signal(signal.SIGINT)

    # The store stays locked until the run has ended.
    with pytest.raises(StoppedError, match="--resume"):
        simulate("snb", "quick", output, progress=lock_and_stop)
    holders[0].communicate()
    # The run's writer has the store open until it gets the lock.
    wait_until(lambda: is_resumed(output))
    assert set(open_store(output).tests["status"]) == {"ok"}
