"""Take a pasted text apart into lines, without what terminals, mails and logs put around them.

Colours, carriage returns, quotes (`> `), stamps of time and the sign that a difference puts before each line go;
numbers of lines stay those of the file. `Lines` is the cursor with which readers take their lines.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

from pcielab.formats.importers.tools.reading import NUMBER, parse_json, refuse

_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]{0,20}[ -/]?[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|[@-Z\\^_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b\ufeff]")
_ENTITIES = (("&gt;", ">"), ("&lt;", "<"), ("&amp;", "&"), ("\\_", "_"), ("\xa0", " "))
_QUOTES = re.compile(r"(?:[ \t]{0,3}>)+ ?")
_STAMPS = re.compile(
    r"[ \t]*(?:\[\d{1,6},\d{1,6}\]<std(?:out|err)>: ?"
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?:?(?:[ \t]|$)"
    r"|\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?:?(?:[ \t]|$)"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?:\S{1,60} \S{1,60}: ?)?"
    r"|\[ *\d{1,8}\.\d{6}\] )",
    re.ASCII,
)
_PREFIXED = re.compile(r"[ \t]*[>\[\dA-Z]", re.ASCII)
_SIGNS = re.compile(r"[^\w\s{}\[\]\"'.()-]{1,3}[ \t]?")
_MOST_SIGN = 4
_LEAST_SIGNED = 4
"""Lines that share a sign from which it is none of theirs."""
_CELL = re.compile(rf"N/A|-|X|{NUMBER}", re.ASCII)
_WITH_DECIMALS = re.compile(r"N/A|\d{1,15}\.\d{1,15}", re.ASCII)
_CUT = "the file is truncated or damaged; copy it again"


class Lines:
    """A cursor on the lines of a text; blank ones are left out.

    Attributes:
        file: The file, for errors.
        ends_in_line: Whether the text ends without a line's end, so that its last line may be cut.
        command: The last line that was skipped and may be a command: it has the tool's options.
    """

    def __init__(self, text: str, file: Path) -> None:
        self.file = file
        self.command = ""
        whole = _plain(text).split("\n")
        self._text = "\n".join(whole)
        self._lines: list[tuple[int, int, str]] = []
        offset = 0
        for at, line in enumerate(whole, 1):
            if stripped := line.strip():
                self._lines.append((at, offset + line.find(stripped[0]), stripped))
            offset += len(line) + 1
        self._last = len(whole)
        self.ends_in_line = bool(whole[-1])
        self._next = 0

    def peek(self, ahead: int = 0) -> str:
        """A line from the next on; empty at the end."""
        at = self._next + ahead
        return self._lines[at][2] if at < len(self._lines) else ""

    def before(self, count: int) -> list[str]:
        """The lines before the next one, at most `count`, the nearest first."""
        return [self._lines[at][2] for at in range(self._next - 1, max(self._next - count, 0) - 1, -1)]

    @property
    def number(self) -> int:
        """Number of the next line, or of the last one at the end."""
        return self._lines[self._next][0] if self._next < len(self._lines) else self._last

    @property
    def behind(self) -> int:
        """Number of the line before the next one; 0 at the start."""
        return self._lines[self._next - 1][0] if self._next else 0

    def take(self) -> str:
        """The next line, which is then behind.

        Raises:
            InputError: There is none.
        """
        line = self.peek()
        if not line:
            self.refuse("end of the file", _CUT)
        self._next += 1
        return line

    def take_json(self, gathered: str = "") -> Any:
        """The JSON value that begins with the next line; lines to its end are behind.

        Raises:
            InputError: It is not JSON, or truncated.
        """
        _, offset, _ = self._lines[self._next]
        content, end = parse_json(self._text, self.file, gathered, offset)
        while self._next < len(self._lines) and self._lines[self._next][1] < end:
            self._next += 1
        return content

    def begins_json(self, *words: str) -> bool:
        """Whether a JSON object begins with the next line, whose first keys have one of the words."""
        if not self.peek().startswith("{"):
            return False
        offset = self._lines[self._next][1]
        head = self._text[offset : offset + 4096]
        return any(word in head for word in words)

    def refuse(self, text: str, expected: str) -> NoReturn:
        """Raise an error that names file and line."""
        refuse(self.file, self.number, text, expected)

    def cells(self, count: int, first: Sequence[str]) -> list[str]:
        """The words of a row, which may be wrapped: `first`, and those of the lines that continue it.

        A line continues a row if it has numbers with decimals alone, and no more than the row lacks. The last
        line of the row is then the next one.

        Raises:
            InputError: The row has another number of words.
        """
        found = list(first)
        while 0 < len(found) < count:
            more = self.peek(1).split()
            if not more or len(more) > count - len(found) or not all(map(_WITH_DECIMALS.fullmatch, more)):
                break
            found += more
            self._next += 1
        if len(found) != count:
            self.refuse(self.peek(), f"give {count} numbers: {_CUT}")
        return found


def _plain(text: str) -> str:
    """The text without what was put around its lines; numbers of lines stay."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    text = _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    for old, new in _ENTITIES:
        text = text.replace(old, new)
    lines = text.split("\n")
    filled = [line for line in lines if line.strip()]
    sign = _shared_sign(filled)
    lines = [line.removeprefix(sign) for line in lines]
    return "\n".join(map(_line, lines))


def _shared_sign(lines: Sequence[str]) -> str:
    """The sign with which every line begins, like that of a difference; empty if there is none."""
    if not lines:
        return ""
    first, last = min(lines), max(lines)
    shared = 0
    while shared < _MOST_SIGN and first[shared : shared + 1] == last[shared : shared + 1] != "":
        shared += 1
    found = _SIGNS.match(first[:shared]) if len(lines) >= _LEAST_SIGNED else re.match(r"\+", first[:shared])
    return found[0] if found else ""


def _line(line: str) -> str:
    if not _PREFIXED.match(line):
        return line
    for _ in range(2):  # a quoted stamp, or a stamped quote
        for pattern in (_QUOTES, _STAMPS):
            if found := pattern.match(line):
                line = line[found.end() :]
    return line


def read_matrix(
    lines: Lines, corner: re.Pattern[str], *, decimals: int | None = None
) -> list[list[Decimal | None]]:
    """The cells of a matrix: a line with the numbers of its columns, from 0, and a line for each row.

    Args:
        lines: The next line is that of the columns.
        corner: What may stand before the numbers of the columns.
        decimals: Of each number; None for those of the first.

    Returns:
        Its rows; None where a cell is `N/A`, `-` or `X`.

    Raises:
        InputError: A row or cell is missing, or a number lost digits.
    """
    head = lines.peek()
    columns = corner.sub("", head, count=1).split()
    while _continues(lines.peek(1), len(columns)):
        lines.take()
        columns += lines.peek().split()
    if not columns or columns != [str(one) for one in range(len(columns))]:
        lines.refuse(head, f"give the numbers of the devices, from 0: {_CUT}")
    lines.take()
    rows: list[list[Decimal | None]] = []
    while (words := lines.peek().split()) and _is_row(words):
        if words[0] != str(len(rows)):
            lines.refuse(lines.peek(), f"give row {len(rows)} of {len(columns)} cells: {_CUT}")
        cells = lines.cells(len(columns) + 1, words)[1:]
        for cell in cells:
            if not _CELL.fullmatch(cell):
                lines.refuse(cell, f"give a number or N/A: {_CUT}")
            places = len(cell.partition(".")[2])
            decimals = places if decimals is None and cell[0].isdigit() else decimals
            if cell[0].isdigit() and places != decimals and cell != "0":
                lines.refuse(cell, f"give a number with {decimals} decimals: {_CUT}")
        rows.append([Decimal(cell) if cell[0].isdigit() else None for cell in cells])
        lines.take()
    if not rows or lines.peek() == str(len(rows)):
        lines.refuse(lines.peek() or "end of the file", f"give a row of {len(columns)} numbers: {_CUT}")
    return rows


def _is_row(words: Sequence[str]) -> bool:
    """Whether a line is a row, perhaps a damaged one: half of what follows its label are cells."""
    if not re.fullmatch(r"\d{1,4}", words[0], re.ASCII) or len(words) < 2:
        return False
    return 2 * sum(bool(_CELL.fullmatch(word)) for word in words[1:]) >= len(words) - 1


def _continues(line: str, columns: int) -> bool:
    """Whether a line continues the numbers of `columns` columns."""
    words = line.split()
    return columns > 1 and bool(words) and words == [str(columns + one) for one in range(len(words))]
