"""Long work: a progress bar once it has taken a while, on a terminal only, and words before much of it begins.

And the options that limit the work that a small input can ask for.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from pcielab.cli.output import say
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
        )
        self._task = self._bar.add_task("starting")
        self._started = time.monotonic()
        self._shown = False

    def update(self, done: int, total: int, step: str, _name: str = "") -> None:
        """Show the progress and the current step."""
        is_long = time.monotonic() - self._started > _QUIET_SECONDS
        if is_long and not self._shown and self._console.is_terminal:
            self._bar.start()
            self._shown = True
        self._bar.update(self._task, completed=done, total=total, description=printable(step) or "starting")

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._shown:
            self._bar.stop()


Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        min=1,
        metavar="N",
        help="Most shares to estimate: changes times flows [default: 100000000, about 10 s].",
        show_default=False,
    ),
]
"""Of the changes of flows: `FabricInfluences` has the default."""
TlpLimit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        min=1,
        metavar="N",
        help="Most TLPs to simulate [default: 10000000, about 10 s].",
        show_default=False,
    ),
]
"""Of a trace: `trace_play` has the default."""
_MANY_CHANGES = 3_000
"""Changes of a fabric whose estimates may take seconds: each takes longer, too, the more flows there are."""
_MANY_FLOWS = 2_000
"""Flows whose simulation, or whose rows of a store, may take seconds."""
_MANY_TLPS = 1_000_000
"""TLPs of a trace whose simulation takes seconds."""


def announce_many(done: int, changes: int) -> bool:
    """Say before the first of many changes of a fabric that they take a while; return whether it was said."""
    if done > 0 or changes <= _MANY_CHANGES:
        return False
    say(f"{changes} changes are estimated, one at a time: Ctrl-C stops it")
    return True


def announce_tlps(done: int, tlps: int) -> None:
    """Say before the first of many TLPs of a trace that they take a while."""
    if done == 0 and tlps > _MANY_TLPS:
        say(f"{tlps} TLPs are simulated: Ctrl-C stops it")


def announce_flows(flows: int) -> None:
    """Say before many flows are simulated that they take a while."""
    if flows > _MANY_FLOWS:
        say(f"{flows} flows are simulated: Ctrl-C stops it")
