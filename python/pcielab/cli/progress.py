"""A progress bar that appears once something has taken a while, on a terminal only."""

import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from pcielab.cli.output import say
from pcielab.wording import printable

_QUIET_SECONDS = 2.0
_MANY_CHANGES = 5_000
"""Changes of a fabric whose estimates may take minutes: each takes longer, too, the more flows there are."""


def announce_many(done: int, changes: int) -> None:
    """Say before the first of many changes of a fabric that they take a while."""
    if done == 0 and changes > _MANY_CHANGES:
        say(f"{changes} changes are estimated, one at a time: Ctrl-C stops it")


class Bar:
    """A bar on stderr; a context manager."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("starting")
        self._started = time.monotonic()
        self._shown = False

    def update(self, done: int, total: int, step: str, _name: str = "") -> None:
        """Show the progress and the current step."""
        if not self._shown and time.monotonic() - self._started > _QUIET_SECONDS:
            self._bar.start()
            self._shown = True
        self._bar.update(self._task, completed=done, total=total, description=printable(step) or "starting")

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._shown:
            self._bar.stop()
