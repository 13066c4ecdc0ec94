"""`pcielab run` as people run it: wall time, processor time and peak memory.

As a script, it runs one suite and prints the usage, from a small parent process (see `processes`).
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from processes import PCIELAB, usage_of

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
    """Run each suite with adaptive sampling, one job and two, and the last one in full, which takes minutes."""
    runs = [(suite, "adaptive", jobs) for suite in suites for jobs in (1, 2)]
    for suite, samples, jobs in [*runs, (suites[-1], "full", 2)]:
        script = [sys.executable, __file__, suite, samples, str(jobs)]
        done = subprocess.run(script, stdout=subprocess.PIPE, text=True, check=True)
        yield Command(**json.loads(done.stdout))


def run(suite: str, samples: str, jobs: int) -> Command:
    """Run a suite into a temporary store."""
    with tempfile.TemporaryDirectory() as directory:
        arguments = ["--suite", suite, "--samples", samples, "--jobs", str(jobs), "-o", f"{directory}/run.db"]
        used = usage_of([PCIELAB, "run", "--profile", SYSTEM, *arguments])
    return Command(suite, samples, jobs, used.seconds, used.cpu_seconds, used.peak_mib)


if __name__ == "__main__":
    print(json.dumps(asdict(run(sys.argv[1], sys.argv[2], int(sys.argv[3])))))
