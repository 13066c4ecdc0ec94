"""Time limits of tests, scaled by the machine's load, so that no test fails because the machine is busy."""

import os
from contextlib import suppress
from pathlib import Path

HANGS_AFTER_SECONDS = 600.0
"""A process that runs for longer hangs, however busy the machine is."""


def slowdown() -> float:
    """Runnable threads per processor: how many times longer a thread takes now than alone."""
    runnable = os.getloadavg()[0]  # the average of the last minute
    with suppress(OSError):  # Linux alone has the number of this moment
        runnable = max(runnable, int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0]))
    return max(1.0, runnable / (os.cpu_count() or 1))


def patient(seconds: float) -> float:
    """A time limit for an idle machine, scaled to the load of this one."""
    return seconds * slowdown()
