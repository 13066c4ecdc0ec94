"""What people see: in a narrow terminal, in a pipe that closes, on a disk that is full."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

import pytest

from shell import PCIELAB, succeed

LINK = ("--gen", "3", "--lanes", "8")


def in_terminal(columns: int, *arguments: str | Path) -> list[str]:
    """The lines that a terminal of that width gets."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        [PCIELAB, *map(str, arguments)],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=environment | {"TERM": "xterm", "NO_COLOR": "1"},
    )
    os.close(follower)
    received = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        received += piece
    os.close(leader)
    assert process.wait() == 0, received
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", received.decode()).replace("\r\n", "\n").splitlines()


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (("model", "bandwidth", *LINK), ("wire-", "downstream", "62.85")),
        (("model", "nic", "niantic-kernel", *LINK), ("upstream", "1500")),
        (("explain", *LINK), ("wire-downstream", "slack")),
        (("profiles", "list"), ("ib-011-nosp", "netfpga-sume")),
        (("suites", "list"), ("2472",)),
    ],
)
def test_tables_fit_and_are_whole(columns: int, command: tuple[str, ...], shown: tuple[str, ...]) -> None:
    lines = in_terminal(columns, *command)
    assert max(map(len, lines)) <= columns
    text = "\n".join(lines)
    assert "…" not in text
    assert all(word in text for word in shown)


@pytest.mark.parametrize(("test", "metrics"), [("bw-rd", ("bandwidth", "rate")), ("lat-rd", ("median", "p99"))])
def test_a_single_test_can_be_read_at_80_columns(test: str, metrics: tuple[str, ...], tmp_path: Path) -> None:
    lines = in_terminal(80, "run", "--test", test, "--size", "64", "-o", tmp_path / "run.db")
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert "simulated" in text
    assert all(re.search(rf"{metric}.*\d", text) for metric in metrics), text
    assert "test: " in text
    assert ("fix: " in text) == (test == "bw-rd")


@pytest.mark.parametrize(
    ("columns", "command"),
    [
        (100, ("explain", "run.db")),
        (100, ("model", "sizing", "--latency-ns", "560,900", "--clock-ghz", "1.2")),
        (80, ("model", "sizing", "--latency-ns", "560,900", "--clock-ghz", "1.2")),
        (80, ("fabric", "list")),
        (80, ("profiles", "show", "hsw2620")),
        (80, ("suites", "show", "rpciebench")),
        (100, ("fabric", "estimate", "fabrex-u55c")),
        (100, ("model", "pio")),
    ],
)
def test_wide_answers_fit(columns: int, command: tuple[str, ...], tmp_path: Path) -> None:
    if "run.db" in command:
        succeed("run", "--profile", "ib-000-nosp", "--suite", "quick", "-o", tmp_path / "run.db")
        command = (*command[:-1], str(tmp_path / "run.db"))
    lines = in_terminal(columns, *command)
    assert max(map(len, lines)) <= columns
    assert "…" not in "\n".join(lines)


def test_a_pipe_that_closes_early_brings_no_message() -> None:
    process = subprocess.Popen(
        [PCIELAB, "suites", "show", "paper", "--format", "csv"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.wait()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("format_", ["table", "csv", "json"])
def test_a_full_disk_is_told_in_one_line(format_: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [PCIELAB, "model", "bandwidth", "--format", format_], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == ["error: output: No space left on device"]
