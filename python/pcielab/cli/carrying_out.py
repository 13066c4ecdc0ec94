"""Work into a store with a progress bar: what every command does that runs something."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pcielab.devices.running import Opened
    from pcielab.store import Store
    from pcielab.work.options import RunOptions, Work


def carry_out(
    work: "Work",
    device: str,
    output: Path,
    options: "RunOptions",
    profile: Any = None,
    sets: Sequence[str] | None = None,
) -> tuple["Opened", "Store"]:
    """Run work as `pcielab.run` does; what it was run on, and the store."""
    from pcielab.cli.progress import Bar
    from pcielab.cli.stores import tell_damaged
    from pcielab.devices.running import open_work

    opened = open_work(work, device, profile=profile, sets=sets or (), options=options)
    if options.repeat_damaged:
        tell_damaged(output)
    with Bar() as bar:
        return opened, opened.run(output, bar.update)
