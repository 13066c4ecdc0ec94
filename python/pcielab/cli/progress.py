"""A progress bar that appears once something has taken a while, on a terminal only, and runs that show one."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from pcielab.wording import printable

if TYPE_CHECKING:
    from pcielab.devices import Carrier
    from pcielab.store import Store
    from pcielab.work.options import RunOptions, Work


def carry_out(
    work: "Work",
    device: str,
    output: Path | None,
    options: "RunOptions",
    profile: Any = None,
    sets: Sequence[str] = (),
    announce: "Callable[[Carrier], None]" = lambda _: None,
) -> "tuple[Carrier, Store]":
    """Run work as `pcielab.run` does; return the carrier that ran it and the store.

    `announce` is called with the carrier before anything runs.
    """
    from pcielab.cli.stores import warn_damaged
    from pcielab.devices import running

    carrier = running.open_work(work, device, options, profile=profile, sets=sets)
    announce(carrier)
    if options.repeat_damaged and output is not None:
        warn_damaged(output)
    with Bar() as bar:
        return carrier, running.carry_out(carrier, options, output, bar.update)


_QUIET_SECONDS = 2.0


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
