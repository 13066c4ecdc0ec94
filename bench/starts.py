"""Start-up cost of commands: processor time of help, completion and small answers, relative to Python alone."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from processes import PCIELAB, usage_of

REPETITIONS = 5
TAB = {"_PCIELAB_COMPLETE": "complete_bash", "COMP_WORDS": "pcielab run --profile ib-", "COMP_CWORD": "3"}


@dataclass(frozen=True)
class Start:
    """One command."""

    command: str
    cpu_seconds: float
    """The least of several runs."""
    of_python: float
    """As a multiple of `python -c pass`."""


def starts() -> Iterator[Start]:
    """Measure Python alone, then the commands."""
    alone = _cpu_seconds([sys.executable, "-c", "pass"])
    yield Start("python -c pass", alone, 1.0)
    for words in ("--version", "-h", "run -h", "model bandwidth --format csv", "model bandwidth", "profiles list"):
        taken = _cpu_seconds([PCIELAB, *words.split()])
        yield Start(f"pcielab {words}", taken, taken / alone)
    taken = _cpu_seconds([PCIELAB], TAB)
    yield Start(f"{TAB['COMP_WORDS']}<Tab>", taken, taken / alone)


def _cpu_seconds(command: list[str], environment: dict[str, str] | None = None) -> float:
    variables = os.environ | (environment or {})
    return min(usage_of(command, variables, stderr=None).cpu_seconds for _ in range(REPETITIONS))
