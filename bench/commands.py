"""Whole commands, as people run them: wall time, processor time and peak memory of a process of its own.

Called as a script, this runs one command and prints what it took. Linux counts the memory of the process that
starts another into the other's peak; so nothing but the standard library is loaded here.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

SYSTEM = "snb"


@dataclass(frozen=True)
class Command:
    """One run of a suite."""

    suite: str
    samples: str
    jobs: int
    seconds: float
    cpu_seconds: float
    peak_mib: float


def commands(suites: list[str]) -> Iterator[Command]:
    """Each suite with adaptive sampling, one job and two; and the last one in full, which takes minutes."""
    runs = [(suite, "adaptive", jobs) for suite in suites for jobs in (1, 2)]
    for suite, samples, jobs in [*runs, (suites[-1], "full", 2)]:
        script = [sys.executable, __file__, suite, samples, str(jobs)]
        done = subprocess.run(script, stdout=subprocess.PIPE, text=True, check=True)
        yield Command(**json.loads(done.stdout))


def run(suite: str, samples: str, jobs: int) -> Command:
    """Run a suite into a store that is thrown away."""
    with tempfile.TemporaryDirectory() as directory:
        arguments = [str(Path(sys.executable).with_name("pcielab")), "run", "--profile", SYSTEM, "--suite", suite]
        arguments += ["--samples", samples, "--jobs", str(jobs), "-o", str(Path(directory) / "run.db")]
        start = time.perf_counter()
        process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"pcielab run --suite {suite} failed with exit code {process.returncode}")
    return Command(suite, samples, jobs, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


if __name__ == "__main__":
    print(json.dumps(asdict(run(sys.argv[1], sys.argv[2], int(sys.argv[3])))))
