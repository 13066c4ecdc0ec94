"""Stores that commands read: where one is incomplete, that is said on stderr."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from pcielab.store import Store


def opened(path: Path) -> "Store":
    """Open a store for reading; see `pcielab.store.open_store`."""
    from pcielab.store import open_store

    store = open_store(path)
    if store.incomplete:
        typer.echo(f"{path}: incomplete: {store.extent}", err=True)
    return store
