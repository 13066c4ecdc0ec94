"""Printing: rows, texts and data on stdout, messages on stderr.

Rows are a table for people, CSV or JSON for programs (full precision, the same keys). Everything that people read
passes `printable` here and nowhere else, since names, titles, versions and paths may come from untrusted files.
Data are printed unchanged: their formats have escaping rules of their own.
"""

import csv
import json
import os
import sys
import textwrap
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from pcielab.wording import printable

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

Cell: TypeAlias = str | int | float | bool | None

# Of a pipe or a file without COLUMNS.
_UNLIMITED_WIDTH = 1_000


class Format(StrEnum):
    """Output format."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


class Theme(StrEnum):
    """Background of a picture."""

    LIGHT = "light"
    DARK = "dark"


ThemeOption: TypeAlias = Annotated[
    Theme, typer.Option("--theme", help="Theme of pictures; .html follows the browser.")
]


def is_stdout(path: Path | None) -> bool:
    """Whether a file goes to stdout (`-o -`), which then carries nothing else."""
    return path is not None and str(path) in ("-", "/dev/stdout")


def say(message: str) -> None:
    """Print a message on stderr."""
    typer.echo(printable(message, lines=True), err=True)


def say_error(problem: str) -> None:
    """Print on stderr why a command ends."""
    from rich.console import Console
    from rich.text import Text

    text = Text.assemble(("error:", "bold red"), " ", printable(problem, lines=True))
    Console(stderr=True).print(text, soft_wrap=True)


def say_sentences(sentences: Iterable[str]) -> None:
    """Print sentences on stderr, each on lines as wide as the terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True)
    for sentence in sentences:
        console.print(Text(printable(sentence)), soft_wrap=not console.is_terminal)


def print_text(text: str) -> None:
    """Print a text for people on stdout."""
    typer.echo(printable(text, lines=True))


def print_data(text: str) -> None:
    """Print data for programs, for example JSON, unchanged on stdout."""
    typer.echo(text)


def _shown(value: Cell) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.2f}" if abs(value) >= 1 else f"{value:.4g}"
    return printable(str(value))


def print_frame(frame: "pd.DataFrame", output_format: Format, title: str | None = None) -> None:
    """Print a frame as `print_rows` prints rows; CSV through Arrow, a million rows in a second."""
    if output_format is Format.CSV:
        from pcielab.formats.spreadsheet import guarded_frame

        guarded = guarded_frame(frame)
        sys.stdout.write(",".join(guarded.columns) + "\n")
        sys.stdout.flush()
        _write_csv(guarded)
        return
    print_rows(records(frame), output_format, title)


def records(frame: "pd.DataFrame") -> list[dict[str, Cell]]:
    """Rows of a frame as plain values; missing ones are None."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{str(key): value for key, value in row.items()} for row in rows]


def _write_csv(frame: "pd.DataFrame") -> None:
    import pyarrow
    import pyarrow.csv

    # Arrow quotes all texts or none.
    texts = frame.select_dtypes(exclude="number")
    special = any(texts[column].astype(str).str.contains('[",\n\r]').any() for column in texts)
    style = "needed" if special else "none"
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style=style)
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    pyarrow.csv.write_csv(table, sys.stdout.buffer, options)


def print_rows(rows: Sequence[dict[str, Cell]], output_format: Format, title: str | None = None) -> None:
    """Print rows with the same keys; JSON is a list of objects, CSV has the keys as its head."""
    if output_format is Format.JSON:
        json.dump(list(rows), sys.stdout, indent=1)
        sys.stdout.write("\n")
        return
    columns = list(rows[0]) if rows else []
    if output_format is Format.CSV:
        from pcielab.formats.spreadsheet import guarded_cell

        writer = csv.DictWriter(sys.stdout, fieldnames=columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: guarded_cell(cell) for key, cell in row.items()} for row in rows)
        return
    _print_table(rows, columns, title)


def _print_table(rows: Sequence[dict[str, Cell]], columns: list[str], title: str | None) -> None:
    from rich.console import Console
    from rich.text import Text

    width = _width()
    texts = [
        [printable(column.replace("_", " ")) for column in columns],
        *([_shown(row[one]) for one in columns] for row in rows),
    ]
    numeric = [any(isinstance(row[column], int | float) for row in rows) for column in columns]
    if len(rows) == 1 and sum(map(_natural, zip(*texts, strict=True))) + _frame(columns) > width:
        table = _one_above_the_other(texts)
    else:
        table = _side_by_side(texts, numeric, width)
    if title is not None:
        Console(width=width).print(Text(printable(title, lines=True), style="italic"))
    # Never truncate: a table that is too wide is left for the terminal to wrap.
    natural = Console(width=_UNLIMITED_WIDTH, markup=False, emoji=False).measure(table).maximum
    # No markup and no emoji: a name may contain brackets or colons.
    Console(width=max(width, natural), markup=False, emoji=False).print(table)


def _width() -> int:
    """Letters of a line: of the terminal, or COLUMNS, which counts for a pipe and a file too."""
    from rich.console import Console

    given = os.environ.get("COLUMNS", "")
    wide = given.isascii() and given.isdigit() and int(given[:5]) > 0
    return Console().width if sys.stdout.isatty() or wide else _UNLIMITED_WIDTH


def _one_above_the_other(texts: list[list[str]]) -> "Table":
    """A single row that is too wide, with one line per column."""
    from rich.table import Table

    table = Table(show_header=False)
    for name, value in zip(*texts, strict=True):
        table.add_row(name, value)
    return table


def _side_by_side(texts: list[list[str]], numeric: list[bool], width: int) -> "Table":
    """A table; if it must be narrow, it breaks texts at spaces and hyphens, and has no frame."""
    from rich import box
    from rich.table import Table

    columns = list(zip(*texts, strict=True))
    least = sum(map(_least, columns))
    if least + _frame(columns) <= width:
        table, between = Table(), _frame(columns)
    else:
        blanks = 2 if least + 2 * len(columns) <= width else 1
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, blanks - 1, 0, 0))
        between = blanks * len(columns)
    widths = _widths(columns, width - between)
    for right in numeric:
        table.add_column(justify="right" if right else "left")
    broken = [[_broken(text, room) for text, room in zip(row, widths, strict=True)] for row in texts]
    for column, head in zip(table.columns, broken[0], strict=True):
        column.header = head
    for row in broken[1:]:
        table.add_row(*row)
    return table


def _frame(columns: Sequence[object]) -> int:
    """Width of the frame: a line and two blanks for each column, and a last line."""
    return 3 * len(columns) + 1


def _widths(columns: Sequence[Sequence[str]], room: int) -> list[int]:
    """Natural widths; if there is less room, heads are broken first, then the widest texts."""
    widths = [_natural(column) for column in columns]
    unbroken_rows = [max(_natural(column[1:]), _least(column)) for column in columns]
    for least in (unbroken_rows, [_least(column) for column in columns]):
        while sum(widths) > room:
            breakable = [column for column, width in enumerate(widths) if width > least[column]]
            if not breakable:
                break
            widths[max(breakable, key=lambda column: widths[column])] -= 1
    return widths


def _natural(column: Sequence[str]) -> int:
    return max(map(len, column), default=0)


def _least(column: Sequence[str]) -> int:
    return max(
        (len(piece) for text in column for piece in textwrap.wrap(text, 1, break_long_words=False)), default=0
    )


def _broken(text: str, width: int) -> str:
    return text if len(text) <= width else textwrap.fill(text, width, break_long_words=False)
