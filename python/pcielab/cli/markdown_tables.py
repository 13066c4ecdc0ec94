"""Tables in Markdown, for issues and pages; `--format markdown` of commands that print them.

Stands alone: `pcielab expect` and `pcielab tlp` share it.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum

from pcielab.cli.output import Cell


class TableFormat(StrEnum):
    """Output format of commands whose tables people paste."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    MARKDOWN = "markdown"


def markdown_table(rows: Sequence[dict[str, Cell]], number_format: str = ".4g") -> str:
    """A table with the keys of its first row as heads, in words; empty without rows.

    Args:
        rows: Rows with equal keys.
        number_format: How numbers that are not whole are written, as Python's `format` takes it.
    """
    if not rows:
        return ""

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    def shown(cell: Cell) -> str:
        return "-" if cell is None else format(cell, number_format) if isinstance(cell, float) else str(cell)

    head = [line(column.replace("_", " ") for column in rows[0]), line("---" for _ in rows[0])]
    return "\n".join([*head, *(line(map(shown, row.values())) for row in rows)])
