"""Open the stores of commands, with warnings and borrowed keys on stderr.

Stands alone: ten commands open stores by it, and others load none.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pcielab.cli.output import say

if TYPE_CHECKING:
    from pcielab.store import Store


def say_borrowed(bounds: Iterable[str | None], borrowed: Mapping[str, str]) -> None:
    """Say which borrowed keys each bound is made of; nothing of a system that borrows none."""
    from pcielab.model.bound_keys import borrowed_sentences

    for sentence in borrowed_sentences(bounds, borrowed):
        say(sentence)


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
