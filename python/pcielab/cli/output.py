"""Printing: rows, texts and data on stdout, messages on stderr.

Rows are a table for people, CSV or JSON for programs (full precision, the same keys). A number
that is none (NaN, an infinity) is missing in all three. Everything that people read
passes `printable` here and nowhere else, since names, titles, versions and paths may come from untrusted files.
Data are printed unchanged: their formats have escaping rules of their own.
"""

import csv
import os
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from pcielab.strict_json import known, strict_json
from pcielab.wording import printable

if TYPE_CHECKING:
    import pandas as pd

Cell: TypeAlias = str | int | float | bool | None

_PIPED_WIDTH = 120
"""Letters of a line in a pipe or a file without COLUMNS."""
_MANY_CELLS = 500_000
"""Cells of a table whose setting takes seconds."""
_MANY_LETTERS = 5_000_000
"""Letters of one."""


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


FormatOption: TypeAlias = Annotated[Format, typer.Option("--format", help="Output format.")]
OverwriteOption: TypeAlias = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")]


def picture_option(text: str) -> Any:
    """The option of a picture beside what a command prints, the same in all commands."""
    return typer.Option("--output", "-o", metavar="FILE", help=text, show_default=False)


def is_stdout(path: Path | None) -> bool:
    """Whether a file goes to stdout (`-o -`), which then carries nothing else."""
    return path is not None and str(path) in ("-", "/dev/stdout")


def say(message: str) -> None:
    """Print a message on stderr."""
    typer.echo(printable(message, lines=True), err=True)


def say_error(problem: str) -> None:
    """Print on stderr why a command ends. Not by rich: to load it before version 15 reads the clock."""
    if sys.stderr is None:
        return
    head = "error:"
    if sys.stderr.isatty():
        head = typer.style(head, fg=None if "NO_COLOR" in os.environ else "red", bold=True)
    sys.stderr.write(f"{head} {printable(problem, lines=True)}\n")
    sys.stderr.flush()


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
    if known(value) is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.2f}" if abs(value) >= 1 else f"{value:.4g}"
    return printable(str(value))


def print_frame(frame: "pd.DataFrame", output_format: Format, title: str | None = None) -> None:
    """Print a frame as `print_rows` prints rows; CSV through Arrow, a million rows in a second."""
    if output_format is Format.CSV:
        guarded = _guarded(frame)
        sys.stdout.write(",".join(guarded.columns) + "\n")
        sys.stdout.flush()
        _write_csv(guarded)
        return
    print_rows(records(frame), output_format, title)


def print_blocks(blocks: "Iterable[pd.DataFrame]", output_format: Format) -> None:
    """Print the rows of frames with the same columns, at least one frame, for programs; none is kept."""
    if output_format is Format.JSON:
        _print_json(map(records, blocks))
        return
    rest = iter(blocks)
    print_frame(next(rest), output_format)
    for block in rest:
        sys.stdout.flush()
        _write_csv(_guarded(block))


def _print_json(blocks: Iterable[list[dict[str, Cell]]]) -> None:
    """Print blocks of rows as one list, as `print_rows` prints it."""
    before = "["
    for rows in filter(None, blocks):
        sys.stdout.write(before + strict_json(rows, indent=1).removeprefix("[").removesuffix("\n]"))
        before = ","
    sys.stdout.write("[]\n" if before == "[" else "\n]\n")


def _guarded(frame: "pd.DataFrame") -> "pd.DataFrame":
    from pcielab.formats.spreadsheet import guarded_frame

    return guarded_frame(frame).replace([float("inf"), float("-inf")], float("nan"))


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
        sys.stdout.write(strict_json(list(rows), indent=1) + "\n")
        return
    columns = list(rows[0]) if rows else []
    if output_format is Format.CSV:
        from pcielab.formats.spreadsheet import guarded_cell

        writer = csv.DictWriter(sys.stdout, fieldnames=columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: guarded_cell(known(cell)) for key, cell in row.items()} for row in rows)
        return
    letters = sum(len(cell) for row in rows for cell in row.values() if isinstance(cell, str))
    if len(rows) * len(columns) > _MANY_CELLS or letters > _MANY_LETTERS:
        say(f"a table of {len(rows)} rows is made: --format csv prints them at once, Ctrl-C stops it")
    _print_table(rows, columns, title)


def _print_table(rows: Sequence[dict[str, Cell]], columns: list[str], title: str | None) -> None:
    from rich.console import Console
    from rich.text import Text

    from pcielab.cli.tables import Column, tables

    width = _width()
    made = [
        Column(
            printable(column.replace("_", " ")),
            tuple(_shown(row[column]) for row in rows),
            any(isinstance(row[column], int | float) for row in rows),
        )
        for column in columns
    ]
    same, parts = tables(made, width)
    for text in (title, same):
        if text:
            # A pipe gets a title on one line.
            soft = not sys.stdout.isatty()
            Console(width=width).print(Text(printable(text, lines=True), style="italic"), soft_wrap=soft)
    console = Console()
    for part in parts:
        # Never truncated: a word that is too wide is left for the terminal to wrap.
        lines = part.lines(console.options.ascii_only)
        if not sys.stdout.isatty():
            print_data("\n".join(line for line, _ in lines))
            continue
        for line, is_head in lines:
            console.print(Text(line, style="bold" if is_head else ""), soft_wrap=True)


def _width() -> int:
    """Letters of a line: of the terminal, or COLUMNS, which counts for a pipe and a file too."""
    from rich.console import Console

    given = os.environ.get("COLUMNS", "")
    wide = given.isascii() and given.isdigit() and int(given[:5]) > 0
    return Console().width if sys.stdout.isatty() or wide else _PIPED_WIDTH
