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
        table.add_column(column, justify="right" if numeric else "left", no_wrap=numeric)
    for row in rows:
        table.add_row(*(_shown(row[column]) for column in columns))
    console = Console()
    if not console.is_terminal:
        # A file or a pipe has no width: nothing is cut off.
        unbounded = console.options.update(max_width=10_000)
        console.width = max(console.width, console.measure(table, options=unbounded).maximum)
    console.print(table)
