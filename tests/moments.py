"""Moments of another process by what it has done, not by a clock: a busy machine only delays them."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from patience import HANGS_AFTER_SECONDS

_LOOK_SECONDS = 0.002


def wait_until(happened: Callable[[], bool]) -> None:
    """Wait for something that another process does; fail if it hangs."""
    until = time.monotonic() + HANGS_AFTER_SECONDS
    while not happened():
        assert time.monotonic() < until, "what the test waits for never happens"
        time.sleep(_LOOK_SECONDS)


def processor_seconds(process: int) -> float:
    """Processor time that a process has used, by its number; infinite once it has ended."""
    try:
        state, *numbers = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return float("inf")
    # Fields 14 and 15 of the line: ticks in user and in kernel mode.
    return float("inf") if state == "Z" else sum(map(int, numbers[10:12])) / os.sysconf("SC_CLK_TCK")


def wait_for_work(process: int, seconds: float) -> None:
    """Wait until a process has used that much more processor time, or has ended."""
    enough = processor_seconds(process) + seconds
    wait_until(lambda: processor_seconds(process) >= enough)
