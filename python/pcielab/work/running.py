"""Progress, cores, Ctrl-C and the facts of this computer, for every run."""

import datetime
import os
import platform
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from pcielab import _core
from pcielab.errors import StoppedError

Progress: TypeAlias = Callable[[int, int, str, str], None]
"""Called with the number of tests done, the number of all, and family and name of the last one done."""


def no_progress(_done: int, _total: int, _family: str, _name: str) -> None:
    """Report nothing."""


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def this_computer() -> dict[str, Any]:
    """Start time and computer of a run, which may differ between identical runs."""
    return {
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.node()}, {platform.machine()}, {platform.system()} {platform.release()}",
    }


@contextmanager
def kept_when_interrupted(output: Path | str | None) -> Iterator[None]:
    """Turn Ctrl-C into an error that says that finished work is kept in `output`, if there is one.

    Raises:
        StoppedError: The work was interrupted.
    """
    try:
        yield
    except KeyboardInterrupt:
        kept = f"{output}: interrupted: finished work is kept: continue with --resume"
        raise StoppedError(kept if output is not None else "interrupted") from None


@contextmanager
def stop_when_interrupted() -> Iterator[_core.Stop]:
    """A request to stop that Ctrl-C makes, for work that returns what it has done by then; in the main thread."""
    stop = _core.Stop()
    before = signal.signal(signal.SIGINT, lambda _number, _frame: stop.request())
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
