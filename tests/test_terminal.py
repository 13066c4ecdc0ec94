"""Output in a narrow terminal, and on a full disk."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from shell import PCIELAB, forked_into, succeed

LINK = ("--gen", "3", "--lanes", "8")


def in_terminal(columns: int, *arguments: str | Path) -> list[str]:
    """The lines that a terminal of that width shows."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    environment |= {"TERM": "xterm", "NO_COLOR": "1"}
    with ThreadPoolExecutor() as readers:
        received = readers.submit(_all_of, leader)
        exit_code = forked_into(follower, follower, *arguments, environment=environment)
        os.close(follower)
    os.close(leader)
    assert exit_code == 0, received.result()
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", received.result()).replace("\r\n", "\n").splitlines()


def _all_of(leader: int) -> str:
    """What arrives at a terminal until the other end is closed."""
    received = b""
    with suppress(OSError):  # raised when the other end is closed
        while piece := os.read(leader, 65536):
            received += piece
    return received.decode()


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
def test_tables_fit_the_terminal(columns: int, command: tuple[str, ...], shown: tuple[str, ...]) -> None:
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
def test_wide_tables_fit_the_terminal(columns: int, command: tuple[str, ...], tmp_path: Path) -> None:
    if "run.db" in command:
        succeed("run", "--profile", "ib-000-nosp", "--suite", "quick", "-o", tmp_path / "run.db")
        command = (*command[:-1], str(tmp_path / "run.db"))
    lines = in_terminal(columns, *command)
    assert max(map(len, lines)) <= columns
    assert "…" not in "\n".join(lines)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("format_", ["table", "csv", "json"])
def test_a_full_disk_is_reported_in_one_line(format_: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [PCIELAB, "model", "bandwidth", "--format", format_], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert done.stderr.decode().splitlines() == ["error: output: No space left on device"]
