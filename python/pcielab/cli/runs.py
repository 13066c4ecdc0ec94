"""`pcielab runs`: the stores of a folder.

Stands alone: `commands.py` loads each command at its use.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pcielab.cli.output import Cell, Format, FormatOption, print_rows, say

if TYPE_CHECKING:
    from pcielab.store import Store


def runs(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder to search, with its subfolders.")
    ] = Path(),
    output_format: FormatOption = Format.TABLE,
) -> None:
    """List the stores in a folder, oldest first: machine, suite, origin of the numbers, progress.

    For example:

        pcielab runs

        pcielab runs results --format json
    """
    from pcielab.errors import refusal

    if not folder.is_dir():
        raise refusal("not-found", f"{folder}: not a folder: give one with stores (*.db)")
    rows = [_row(path, folder) for path in sorted(folder.rglob("*.db")) if path.is_file()]
    print_rows(sorted(rows, key=lambda row: str(row["started"] or "")), output_format)
    say(f"{len(rows)} stores in {folder}")


def _row(path: Path, folder: Path) -> dict[str, Cell]:
    from pcielab.errors import InputError
    from pcielab.store import open_store

    name = str(path.relative_to(folder))
    unknown: dict[str, Cell] = dict.fromkeys(("started", "origin", "kind", "tests", "state", "version", "title"))
    try:
        return {"run": name, **unknown, **_described(open_store(path))}
    except InputError as error:
        return {"run": name, **unknown, "state": "cannot be read", "title": str(error).removeprefix(f"{path}: ")}


def _described(store: "Store") -> dict[str, Cell]:
    started = store.manifest.get("started")
    return {
        "started": started if isinstance(started, str) else None,
        "origin": store.origin,
        "kind": store.kind,
        "tests": store.extent.removesuffix(" tests").removesuffix(" test"),
        "state": "incomplete" if store.incomplete else "complete",
        "version": store.manifest.get("version"),
        "title": store.title,
    }
