"""What commands cost before they begin: processor time of help, a Tab and small answers, beside Python alone."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PCIELAB = str(Path(sys.executable).with_name("pcielab"))
REPETITIONS = 5
TAB = {"_PCIELAB_COMPLETE": "complete_bash", "COMP_WORDS": "pcielab run --profile ib-", "COMP_CWORD": "3"}


@dataclass(frozen=True)
class Start:
    """One command."""

    command: str
    cpu_seconds: float
    """The least of several times."""
    of_python: float
    """As a multiple of `python -c pass`."""


def starts() -> Iterator[Start]:
    """Python alone, then the commands."""
    alone = _cpu_seconds([sys.executable, "-c", "pass"])
    yield Start("python -c pass", alone, 1.0)
    for words in ("--version", "-h", "run -h", "model bandwidth --format csv", "model bandwidth", "profiles list"):
        taken = _cpu_seconds([PCIELAB, *words.split()])
        yield Start(f"pcielab {words}", taken, taken / alone)
    taken = _cpu_seconds([PCIELAB], TAB)
    yield Start(f"{TAB['COMP_WORDS']}<Tab>", taken, taken / alone)


def _cpu_seconds(command: list[str], environment: dict[str, str] | None = None) -> float:
    return min(_once(command, os.environ | (environment or {})) for _ in range(REPETITIONS))


def _once(command: list[str], environment: dict[str, str]) -> float:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} failed with exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime
