"""Tables of text that fit a width.

A table that is too wide loses the columns that say the same in every row: one line above it has them. Then heads
and texts are broken at spaces and hyphens. What still does not fit continues in further tables below, each with
the columns that tell its rows apart. A single row is printed one column above the other.
"""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from rich import box
from rich.cells import cell_len

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


@dataclass(frozen=True)
class Table:
    """Texts that have been broken to fit, below each other in columns.

    Attributes:
        heads: The head of each column; empty if they have none.
        rows: The texts of each row.
        is_numeric: Whether each column is aligned to the right.
        blanks: Blanks between columns; `None` if lines are between them, and around the table.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    is_numeric: tuple[bool, ...]
    blanks: int | None = None

    def lines(self, ascii_only: bool) -> Iterator[tuple[str, bool]]:
        """Its lines, and whether each is of the heads; one that is empty without columns."""
        if not self.is_numeric:
            yield "", False
            return
        frame = self._box(ascii_only)
        widths = self._widths()
        if self.blanks is None:
            outer = [width + 2 for width in widths]
            yield frame.get_top(outer), False
        else:
            outer = [*(width + self.blanks - 1 for width in widths[:-1]), widths[-1]]
        if self.heads:
            edges = (frame.head_left, frame.head_vertical, frame.head_right)
            yield from ((line, True) for line in self._broken_row(self.heads, widths, edges, from_below=True))
            yield frame.get_row(outer, "head", edge=self.blanks is None), False
        edges = (frame.mid_left, frame.mid_vertical, frame.mid_right)
        for row in self.rows:
            yield from ((line, False) for line in self._broken_row(row, widths, edges))
        if self.blanks is None:
            yield frame.get_bottom(outer), False

    def _box(self, ascii_only: bool) -> box.Box:
        if ascii_only:
            return box.ASCII
        if self.blanks is not None:
            return box.SIMPLE_HEAD
        return box.HEAVY_HEAD if self.heads else box.SQUARE

    def _widths(self) -> list[int]:
        """Letters of the longest line of each column."""
        columns = zip(*([self.heads] if self.heads else []), *self.rows, strict=True)
        return [max(cell_len(line) for text in set(texts) for line in text.split("\n")) for texts in columns]

    def _broken_row(
        self, texts: Sequence[str], widths: Sequence[int], edges: tuple[str, str, str], from_below: bool = False
    ) -> Iterator[str]:
        """The lines of a row; a text of fewer lines begins at its first one, or ends at its last."""
        left, between, right = edges
        cells = [text.split("\n") for text in texts]
        height = max(map(len, cells))
        for number in range(height):
            shown = []
            for lines, width, is_numeric in zip(cells, widths, self.is_numeric, strict=True):
                nth = number - (height - len(lines)) if from_below else number
                line = lines[nth] if 0 <= nth < len(lines) else ""
                line = line.rstrip() if is_numeric else line
                blanks = " " * (width - cell_len(line))
                shown.append(blanks + line if is_numeric else line + blanks)
            if self.blanks is None:
                yield f"{left} {f' {between} '.join(shown)} {right}"
            else:
                yield (" " * (self.blanks - 1) + between).join(shown).rstrip()


def tables(columns: Sequence[Column], width: int) -> tuple[str, list[Table]]:
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


def _one_above_the_other(columns: Sequence[Column], width: int) -> Table:
    """A single row, with one line per column."""
    room = max(width - _frame(2) - max(len(column.head) for column in columns), _READABLE)
    rows = tuple((column.head, _broken(column.cells[0], room)) for column in columns)
    return Table((), rows, (False, False))


def _side_by_side(columns: Sequence[Column], width: int) -> Table:
    """A table; if it must be narrow, it breaks texts at spaces and hyphens, and has no frame."""
    blanks, between = None, _frame(len(columns))
    if _framed(columns) > width:
        room = sum(column.readable for column in columns)
        if room + between > width:
            blanks = 2 if room + 2 * len(columns) <= width else 1
            between = blanks * len(columns)
    widths = _widths(columns, width - between)
    return Table(
        tuple(_broken(column.head, room) for column, room in zip(columns, widths, strict=True)),
        tuple(
            zip(
                *(_each_broken(column.cells, room) for column, room in zip(columns, widths, strict=True)),
                strict=True,
            )
        ),
        tuple(column.is_numeric for column in columns),
        blanks,
    )


def _framed(columns: Sequence[Column]) -> int:
    """Width of a table with a frame that breaks no text."""
    return sum(column.natural for column in columns) + _frame(len(columns))


def _frame(columns: int) -> int:
    """Width of the frame: a line and two blanks for each column, and a last line."""
    return 3 * columns + 1


def _widths(columns: Sequence[Column], room: int) -> list[int]:
    """Natural widths; if there is less room, heads are broken first, then long texts, then short ones."""
    widths = [column.natural for column in columns]
    if sum(widths) <= room:
        return widths
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
    longest = 0
    for text in sorted(set(texts), key=len, reverse=True):
        if len(text) <= longest:
            break
        longest = max((longest, *map(len, _lines(text, 1))))
    return longest


def _each_broken(texts: Sequence[str], width: int) -> list[str]:
    """Texts broken at a width, each once however often it stands there: sources repeat from row to row."""
    broken = {text: _broken(text, width) for text in set(texts)}
    return [broken[text] for text in texts]


def _broken(text: str, width: int) -> str:
    return text if len(text) <= width else "\n".join(_lines(text, width))


def _lines(text: str, width: int) -> list[str]:
    """A text's lines. Hyphens of long texts are left alone: looking for them takes the square of the time."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=len(text) <= _MOST_HYPHENATED)
