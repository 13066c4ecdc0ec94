"""Run work into a store with a progress bar; shared by the commands that run something."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    from pcielab.cli.progress import Bar
    from pcielab.cli.stores import warn_damaged
    from pcielab.devices import running

    carrier = running.open_work(work, device, options, profile=profile, sets=sets)
    announce(carrier)
    if options.repeat_damaged and output is not None:
        warn_damaged(output)
    with Bar() as bar:
        return carrier, running.carry_out(carrier, options, output, bar.update)
