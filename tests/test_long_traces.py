"""Traces of many transfers are played in little memory, and a long one is stopped."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from shell import PCIELAB, refuse, stop_after

_FEW, _MANY = 1_000, 200_000
_MOST_BYTES_PER_LINE = 300
"""Of the text, the columns and the CSV; with Python's objects for each transfer it is over 500."""


def _peak_bytes(folder: Path, lines: int) -> int:
    """The most memory that playing that many transfers takes."""
    file = folder / "some.trace"
    text = "".join(f"{9000 * number} read {64 * (number % 100)} 64\n" for number in range(lines))
    file.write_text("# pcielab trace 1\n" + text, encoding="utf-8")
    output = folder / f"{lines}.csv"
    process = subprocess.Popen(
        [PCIELAB, "trace", "play", file, "-o", output], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    with output.open() as written:
        assert sum(1 for _ in written) == lines + 1
    return used.ru_maxrss * 1024


def test_each_transfer_takes_few_bytes(tmp_path: Path) -> None:
    grown = _peak_bytes(tmp_path, _MANY) - _peak_bytes(tmp_path, _FEW)
    assert grown / (_MANY - _FEW) < _MOST_BYTES_PER_LINE


def test_a_long_trace_needs_a_limit_is_announced_and_stopped(tmp_path: Path) -> None:
    # To its end, it would take minutes.
    file = tmp_path / "long.trace"
    file.write_text("# pcielab trace 1\n" + "0 read 0 4194304\n" * 2000, encoding="utf-8")
    output = tmp_path / "out.csv"
    refused = refuse("trace", "play", file, "-o", output)
    wanted = "--limit is 10000000: the trace has 16384000 TLPs: give 16384000, or fewer bytes"
    assert wanted in refused.replace("\n", " ")
    done = stop_after(1, signal.SIGINT, "trace", "play", file, "-o", output, "--limit", "16384000")
    assert (done.exit_code, done.stdout) == (130, "")
    assert "16384000 TLPs are simulated: Ctrl-C stops it" in done.stderr
    assert "Traceback" not in done.stderr
    assert not output.exists()


@pytest.mark.parametrize("wrong", ["0 read 0 {}", "0 read 0 64 {}", "{} read 0 64", "0 {} 0 64"])
def test_a_wrong_line_of_many_letters_is_shown_by_its_head(tmp_path: Path, wrong: str) -> None:
    file = tmp_path / "wrong.trace"
    file.write_text(f"# pcielab trace 1\n{wrong.format('9' * 5_000_000)}\n", encoding="utf-8")
    refused = refuse("trace", "play", file, "-o", tmp_path / "out.csv")
    assert "line 2" in refused
    assert "999" in refused
    assert len(refused) < 1500
