"""How long tests wait: by the processor time that programs get here now, so that a busy machine fails no test."""

import os
from contextlib import suppress
from pathlib import Path

HANGS_AFTER_SECONDS = 600.0
"""What goes on for longer hangs, however busy the machine is: waiting for it costs nothing unless it does."""


def slowdown() -> float:
    """How many times longer a thread needs here than alone: threads that want a processor now, for each one."""
    wanting = os.getloadavg()[0]
    with suppress(OSError):  # Linux alone tells of this moment; the average is of the last minute
        wanting = max(wanting, int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0]))
    return max(1.0, wanting / (os.cpu_count() or 1))


def patient(seconds: float) -> float:
    """A limit that holds on a machine with nothing else to do, as it is on this one now."""
    return seconds * slowdown()
