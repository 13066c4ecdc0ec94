"""Tables of text that fit a width.

A table that is too wide loses the columns that say the same in every row: one line above it has them. Then heads
and texts are broken at spaces and hyphens. What still does not fit continues in further tables below, each with
the columns that tell its rows apart. A single row is printed one column above the other.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

_READABLE = 16
"""Letters to which a column of texts may be narrowed."""
_MOST_CONSTANT = 60
"""Most letters of a value that is said above the table instead of in each row."""
_MOST_HYPHENATED = 1_000
"""Longest text that is broken at hyphens, in letters."""
_MOST_KEYS = 3
"""Most columns that are repeated to tell rows apart; beyond them, rows are numbered."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        head: Its head.
        cells: The text of each row.
        is_numeric: Whether it is aligned to the right.
    """

    head: str
    cells: tuple[str, ...]
    is_numeric: bool

    @property
    def texts(self) -> tuple[str, ...]:
        """Head and cells."""
        return (self.head, *self.cells)

    @cached_property
    def natural(self) -> int:
        """Letters of its longest text."""
        return max(map(len, self.texts))

    @cached_property
    def least(self) -> int:
        """Letters of its longest word."""
        return _longest_word(self.texts)

    @cached_property
    def readable(self) -> int:
        """Letters to which it may be narrowed if another table can take what does not fit."""
        return max(self.least, min(max(map(len, self.cells), default=0), _READABLE))


def tables(columns: Sequence[Column], width: int) -> "tuple[str, list[Table]]":
    """The columns as tables of at most `width` letters, and a line above them, empty without a constant.

    A table is wider only if a single word needs it.
    """
    rows = len(columns[0].cells) if columns else 0
    if _framed(columns) <= width or not rows:
        return "", [_side_by_side(columns, width)]
    if rows == 1:
        return "", [_one_above_the_other(columns, width)]
    same = [column for column in columns if _is_constant(column)]
    kept = [column for column in columns if column not in same] or list(columns[:1])
    said = "; ".join(f"{column.head} {column.cells[0]}" for column in same)
    line = "\n".join(textwrap.wrap(f"In all rows: {said}", width, break_long_words=False)) if said else ""
    return line, [_side_by_side(part, width) for part in _parts(kept, width)]


def _is_constant(column: Column) -> bool:
    return len(set(column.cells)) == 1 and len(column.cells[0]) <= _MOST_CONSTANT


def _parts(columns: list[Column], width: int) -> list[list[Column]]:
    """The columns of each table: one, if they can be read in one."""
    if sum(column.readable + 1 for column in columns) <= width:
        return [columns]
    keys = _keys(columns, width)
    parts = [[*keys]]
    for column in columns:
        if column in keys:
            continue
        if len(parts[-1]) > len(keys) and sum(one.readable + 1 for one in (*parts[-1], column)) > width:
            parts.append([*keys])
        parts[-1].append(column)
    return parts


def _keys(columns: list[Column], width: int) -> list[Column]:
    """The first columns that tell rows apart, in half of the width; else the numbers of the rows."""
    for number in range(1, _MOST_KEYS + 1):
        first = columns[:number]
        rows = list(zip(*(column.cells for column in first), strict=True))
        if len(set(rows)) == len(rows) and 2 * sum(column.readable + 1 for column in first) <= width:
            return first
    return [Column("row", tuple(str(number) for number in range(1, len(columns[0].cells) + 1)), is_numeric=True)]


def _one_above_the_other(columns: Sequence[Column], width: int) -> "Table":
    """A single row, with one line per column."""
    from rich.table import Table

    room = width - _frame(2) - max(len(column.head) for column in columns)
    table = Table(show_header=False)
    for column in columns:
        table.add_row(column.head, _broken(column.cells[0], max(room, _READABLE)))
    return table


def _side_by_side(columns: Sequence[Column], width: int) -> "Table":
    """A table; if it must be narrow, it breaks texts at spaces and hyphens, and has no frame."""
    from rich import box
    from rich.table import Table

    room = sum(column.readable for column in columns)
    if room + _frame(len(columns)) <= width:
        table, between = Table(), _frame(len(columns))
    else:
        blanks = 2 if room + 2 * len(columns) <= width else 1
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, blanks - 1, 0, 0))
        between = blanks * len(columns)
    widths = _widths(columns, width - between)
    for column, room in zip(columns, widths, strict=True):
        table.add_column(_broken(column.head, room), justify="right" if column.is_numeric else "left")
    broken = [_each_broken(column.cells, room) for column, room in zip(columns, widths, strict=True)]
    for row in zip(*broken, strict=True):
        table.add_row(*row)
    return table


def _framed(columns: Sequence[Column]) -> int:
    """Width of a table with a frame that breaks no text."""
    return sum(column.natural for column in columns) + _frame(len(columns))


def _frame(columns: int) -> int:
    """Width of the frame: a line and two blanks for each column, and a last line."""
    return 3 * columns + 1


def _widths(columns: Sequence[Column], room: int) -> list[int]:
    """Natural widths; if there is less room, heads are broken first, then long texts, then short ones."""
    widths = [column.natural for column in columns]
    unbroken_rows = [max(max(map(len, column.cells), default=0), column.least) for column in columns]
    readable, shortest = ([getattr(column, how) for column in columns] for how in ("readable", "least"))
    for least in (unbroken_rows, readable, shortest):
        while sum(widths) > room:
            breakable = [number for number, width in enumerate(widths) if width > least[number]]
            if not breakable:
                break
            widths[max(breakable, key=lambda number: widths[number])] -= 1
    return widths


def _longest_word(texts: Sequence[str]) -> int:
    return max((len(word) for text in set(texts) for word in _lines(text, 1)), default=0)


def _each_broken(texts: Sequence[str], width: int) -> list[str]:
    """Texts broken at a width, each once however often it stands there: sources repeat from row to row."""
    broken = {text: _broken(text, width) for text in set(texts)}
    return [broken[text] for text in texts]


def _broken(text: str, width: int) -> str:
    return text if len(text) <= width else "\n".join(_lines(text, width))


def _lines(text: str, width: int) -> list[str]:
    """A text's lines. Hyphens of long texts are left alone: looking for them takes the square of the time."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=len(text) <= _MOST_HYPHENATED)
