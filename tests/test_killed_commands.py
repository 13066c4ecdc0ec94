"""Commands killed at any moment leave a whole store or one marked incomplete, which `--resume` completes.

`make kill-loop` kills each a hundred times; these tests a few times.
"""

import os
import random
import signal
import time
from pathlib import Path
from subprocess import DEVNULL

import pytest

from patience import HANGS_AFTER_SECONDS
from pcielab import open_store
from shell import exported, pcielab, started, stop_after, succeed

KILLS = int(os.environ.get("PCIELAB_KILLS", "2"))
TESTS = 81
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
RUN = ("run", "--suite", "quick")
MESSAGES = ("run", "--suite", Path(__file__).parent / "documents" / "small" / "messages" / "kpio.toml")
FABRIC = ("fabric", "run", "fabrex-u55c", "--flows", "latency", "--duration-us", "100")


def killed(arguments: tuple[str | Path, ...], output: Path, after_s: float, number: int) -> None:
    """Start a command, and send it a signal `after_s` seconds after its first output appears."""
    process = started(*arguments, "-o", output, stdout=None, stderr=DEVNULL)
    while process.poll() is None and not any(output.parent.iterdir()):
        time.sleep(0.001)
    time.sleep(after_s)
    process.send_signal(number)
    process.wait(HANGS_AFTER_SECONDS)


@pytest.mark.parametrize("arguments", [RUN, MESSAGES, FABRIC], ids=["run", "messages", "fabric"])
def test_a_killed_command_can_be_resumed(arguments: tuple[str | Path, ...], tmp_path: Path) -> None:
    whole = tmp_path / "whole.db"
    start = time.monotonic()
    succeed(*arguments, "-o", whole)
    lasts_s = time.monotonic() - start
    expected = exported(whole)
    moments = random.Random(1)
    for number in range(KILLS):
        folder = tmp_path / str(number)
        folder.mkdir()
        output = folder / "run.db"
        killed(arguments, output, moments.uniform(0, lasts_s), SIGNALS[number % len(SIGNALS)])
        if output.exists():
            store = open_store(output)
            assert store.incomplete or exported(output) == expected
            output.with_suffix(".json").unlink(missing_ok=True)
        succeed(*arguments, "-o", output, "--resume")
        assert exported(output) == expected
        assert sorted(path.name for path in folder.iterdir()) == ["run.db", "run.json"]


def test_readers_report_how_much_of_a_run_is_stored(tmp_path: Path) -> None:
    output = tmp_path / "run.db"
    stop_after(5, signal.SIGKILL, *RUN, "-o", output)
    said = f"incomplete: {open_store(output).done} of {TESTS} tests"
    assert said in pcielab("explain", output).stderr
    assert said in pcielab("export", "csv", output, "-o", tmp_path / "out.csv").stderr
    reported = pcielab("report", output, "-o", tmp_path / "report.html")
    assert said in reported.stderr
    assert f"{open_store(output).done} of {TESTS} tests" in (tmp_path / "report.html").read_text()
