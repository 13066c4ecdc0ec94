"""Stores that commands open: what is missing in one, or wrong with it, is said on stderr."""

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


def tell_damaged(path: Path) -> None:
    """Say which tests of a store whose run is to continue are damaged; nothing is changed."""
    from pcielab.store import damaged_tests

    for damaged in damaged_tests(path) if path.exists() else ():
        say(f"{path}: {damaged} is damaged and is done again")
