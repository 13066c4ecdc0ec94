"""A command in a process of its own: wall time, processor time and peak memory.

Linux counts the memory of a parent into the peak of its child, so this module loads only the standard library.
"""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

PCIELAB = str(Path(sys.executable).with_name("pcielab"))


@dataclass(frozen=True)
class Usage:
    """Resources that a process used."""

    seconds: float
    cpu_seconds: float
    peak_mib: float


def usage_of(
    command: list[str], environment: dict[str, str] | None = None, stderr: int | None = subprocess.DEVNULL
) -> Usage:
    """Run a command without its output; exits if it fails."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} failed with exit code {process.returncode}")
    return Usage(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
