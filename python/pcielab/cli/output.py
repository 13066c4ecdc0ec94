"""Rows on stdout: a table for people, CSV or JSON for programs (full precision, the same keys)."""

import csv
import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import TypeAlias

from rich.console import Console
from rich.table import Table

Cell: TypeAlias = str | int | float | bool | None


# In a pipe or a file, nothing has to fit.
_UNLIMITED_WIDTH = 1_000


class Format(StrEnum):
    """How rows are printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


def _shown(value: Cell) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.2f}" if abs(value) >= 1 else f"{value:.4g}"
    return str(value)


def print_rows(rows: Sequence[dict[str, Cell]], output_format: Format, title: str | None = None) -> None:
    """Print rows that share their keys; JSON is a list of objects, CSV has the keys as its head."""
    if output_format is Format.JSON:
        json.dump(list(rows), sys.stdout, indent=1)
        sys.stdout.write("\n")
        return
    columns = list(rows[0]) if rows else []
    if output_format is Format.CSV:
        writer = csv.DictWriter(sys.stdout, fieldnames=columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return
    table = Table(title=title, title_justify="left")
    for column in columns:
        numeric = any(isinstance(row[column], int | float) for row in rows)
        widest = max((len(_shown(row[column])) for row in rows), default=0)
        # Where the terminal is narrow, heads wrap at their spaces; numbers are never cut.
        table.add_column(
            column.replace("_", " "),
            justify="right" if numeric else "left",
            overflow="fold",
            min_width=widest if numeric else None,
        )
    for row in rows:
        table.add_row(*(_shown(row[column]) for column in columns))
    Console(width=None if sys.stdout.isatty() else _UNLIMITED_WIDTH).print(table)
