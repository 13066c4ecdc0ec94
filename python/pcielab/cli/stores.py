"""Open the stores of commands, with warnings on stderr."""

from pathlib import Path
from typing import TYPE_CHECKING

from pcielab.cli.output import say

if TYPE_CHECKING:
    from pcielab.store import Store


def opened(path: Path) -> "Store":
    """Open a store for reading; see `pcielab.store.open_store`."""
    from pcielab.store import open_store
    from pcielab.store.exercised import NOTICE, WHY

    store = open_store(path)
    if store.incomplete:
        say(f"{path}: incomplete: {store.extent}")
    if not store.tells_speed:
        say(f"{path}: {NOTICE}. {WHY}")
    return store


def warn_damaged(path: Path) -> None:
    """Name the damaged tests of a store that is to be resumed; change nothing."""
    from pcielab.store import damaged_tests

    for damaged in damaged_tests(path) if path.exists() else ():
        say(f"{path}: {damaged} is damaged: running it again")
