"""What every run needs of the computer that it runs on, and of the person who waits for it."""

import datetime
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from pcielab.errors import StoppedError

Progress: TypeAlias = Callable[[int, int, str, str], None]
"""Called with the tests done, the tests in all, and family and name of the last one done."""


def no_progress(_done: int, _total: int, _family: str, _name: str) -> None:
    """Tells nobody."""


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def this_computer() -> dict[str, Any]:
    """When and on which computer a run was started: what may differ between equal runs."""
    return {
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.node()}, {platform.machine()}, {platform.system()} {platform.release()}",
    }


@contextmanager
def kept_when_interrupted(output: Path | str | None) -> Iterator[None]:
    """Tells of Ctrl-C that what is finished is kept in `output`; of None, that nothing is.

    Raises:
        StoppedError: The work was interrupted.
    """
    try:
        yield
    except KeyboardInterrupt:
        kept = f"{output}: interrupted: what is finished is kept, and --resume goes on with the rest"
        raise StoppedError(kept if output is not None else "interrupted") from None
