"""Read the text of nvbandwidth: a head, then a table for each test that ran.

    Running host_to_device_memcpy_ce.
    memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
               0         1
     0     55.26     55.31

    SUM host_to_device_memcpy_ce 110.57

Later versions end with a note. The text of an earlier one does not show that it is whole, unless it ends with the
last test of a complete run, or the user names the last test.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import NoReturn

from pcielab.errors import InputError
from pcielab.formats.importers.tools.nvbandwidth.tables import (
    Table,
    devices_of,
    measurements,
    version_of,
    without_result,
)
from pcielab.formats.importers.tools.reading import NUMBER, number, refuse
from pcielab.formats.importers.tools.writing import Measured, Measurement
from pcielab.wording import shown

_HEAD = "nvbandwidth Version:"
_LAST_OF_ALL = "one_to_all_read_sm"
"""The last test of a complete run of versions before `_WITH_NOTE`."""
_WITH_NOTE = (0, 4)
"""The first version that may end with a note, and that has tests after `_LAST_OF_ALL`."""
_END = "NOTE: The reported results"
_BEGINS = re.compile(r"(?P<how>Running|Waived|WAIVED|Waiving):? (?P<name>\w{1,80})\.?", re.ASCII)
_WAIVED = re.compile(r"(?:Waived|WAIVED|Waiving)\b.*", re.ASCII)
_FAILED = re.compile(r"(?:\[?CUDA_ERROR|\[?NVML_ERROR|\[|ERROR|Error).*", re.ASCII)
_DESCRIPTION = re.compile(r"(?P<words>\S.{0,200}) ?\((?P<unit>GB/s|ns)\)")
_COLUMNS = re.compile(r"\d{1,4}(?:\s+\d{1,4})*", re.ASCII)
_ROW = re.compile(rf"\d{{1,4}}(?:\s+(?:N/A|{NUMBER}))+", re.ASCII)
_SUM = re.compile(rf"(?:SUM (?P<of>\w{{1,90}})|(?P<named>\w{{1,80}})_sum) (?P<sum>{NUMBER})", re.ASCII)
_OTHER_SUMS = re.compile(rf"(?:MIN|MAX|AVG|AVERAGE|MEAN|MEDIAN) \w{{1,90}} {NUMBER}", re.ASCII)
_FACTS = {
    "CUDA Runtime Version": "cuda_runtime",
    "CUDA Driver Version": "cuda_driver",
    "Driver Version": "driver",
}
_MOST_FACT = 80


@dataclass
class _Test:
    """A test while its lines are read."""

    name: str
    line: int
    tables: list[Table] = field(default_factory=list)
    status: str = "ok"
    message: str = ""

    def measurements(self, size_bytes: int | None) -> Iterator[Measurement]:
        if self.status != "ok":
            yield without_result(self.name, size_bytes, self.status, self.message)
        else:
            yield from measurements(self.name, self.tables, size_bytes)


class _Lines:
    """The lines of a file from a line on, blank ones left out."""

    def __init__(self, text: str, file: Path) -> None:
        self.file = file
        self._numbered = [(number, line.strip()) for number, line in enumerate(text.split("\n"), 1)]
        self._numbered = [(number, line) for number, line in self._numbered if line]
        self._next = 0

    def peek(self) -> str | None:
        """The next line; None at the end."""
        return self._numbered[self._next][1] if self._next < len(self._numbered) else None

    @property
    def number(self) -> int:
        """Number of the next line, or of the last one at the end."""
        return self._numbered[min(self._next, len(self._numbered) - 1)][0]

    def take(self) -> str:
        """The next line, which is then behind."""
        line = self.peek()
        if line is None:
            self.refuse("end of the file", "the file is truncated; copy it again")
        self._next += 1
        return line

    def refuse(self, text: str, expected: str) -> NoReturn:
        """Raise an error that names file and line."""
        refuse(self.file, self.number, text, expected)


def read_tables(text: str, file: Path, size_bytes: int | None, last_test: str | None) -> Measured:
    """The tests of a text.

    Raises:
        InputError: It is foreign, truncated or damaged.
    """
    lines = _Lines(text, file)
    version, facts, devices = _head(lines)
    tests, ended = _tests(lines)
    if not ended:
        _check_whole(tests, text, file, last_test or _last_of(version))
    name, addresses = devices_of(devices)
    measured = [one for test in tests for one in test.measurements(size_bytes)]
    return Measured("nvbandwidth", version, measured, name, addresses, facts)


def _head(lines: _Lines) -> tuple[str, dict[str, str], list[str]]:
    """The version, the facts and the devices above the first test."""
    first, line = lines.number, lines.take()
    if not line.startswith(_HEAD):
        refuse(lines.file, first, line, f"the text of nvbandwidth begins with {_HEAD!r}: give its whole output")
    version = version_of(line.removeprefix(_HEAD), f"{lines.file}, line {first}")
    facts, devices = dict[str, str](), list[str]()
    while (line := lines.peek() or "") and not _BEGINS.fullmatch(line):
        key, _, value = line.partition(":")
        if line.startswith("Device "):
            devices.append(line.removeprefix("Device "))
        elif key in _FACTS and value.strip():
            facts[_FACTS[key]] = value.strip()[:_MOST_FACT]
        lines.take()
    return version, facts, devices


def _tests(lines: _Lines) -> tuple[list[_Test], bool]:
    """The tests, and whether the closing note follows them."""
    tests: list[_Test] = []
    names: set[str] = set()
    while (line := lines.peek()) is not None:
        if line.startswith(_END):
            _refuse_more(lines)
            return tests, True
        begins = _BEGINS.fullmatch(line)
        if begins is None:
            lines.refuse(line, "give the output of nvbandwidth as it is: this line belongs to no test")
        if begins["name"] in names:
            lines.refuse(line, "this test ran already: give the output of one run")
        names.add(begins["name"])
        tests.append(_test(lines, begins["name"], waived=begins["how"] != "Running"))
    return tests, False


def _refuse_more(lines: _Lines) -> None:
    while (line := lines.peek()) is not None:
        if _BEGINS.fullmatch(line) or line.startswith(_HEAD):
            lines.refuse(line, "a second run follows: give the output of one run")
        lines.take()


def _test(lines: _Lines, name: str, *, waived: bool) -> _Test:
    test = _Test(name, lines.number)
    lines.take()
    if waived or (_WAIVED.fullmatch(lines.peek() or "") and not _BEGINS.fullmatch(lines.peek() or "")):
        if not waived:
            lines.take()
        test.status, test.message = "not-supported", "waived by nvbandwidth"
        return test
    while (line := lines.peek()) is not None and not _BEGINS.fullmatch(line) and not line.startswith(_END):
        if _FAILED.fullmatch(line):
            test.status, test.message = "failed", f"nvbandwidth: {shown(line)}"
            lines.take()
        elif _DESCRIPTION.fullmatch(line):
            test.tables.append(_table(lines))
        elif found := _SUM.fullmatch(line):
            _add_sum(test, found, lines)
        elif _OTHER_SUMS.fullmatch(line) or test.status == "failed":
            lines.take()
        else:
            lines.refuse(line, f"give the output of nvbandwidth as it is: this is no line of {name}")
    if test.status == "ok" and not test.tables:
        lines.refuse(f"Running {name}.", "no table follows: the file is truncated; copy it again")
    return test


def _table(lines: _Lines) -> Table:
    found = _DESCRIPTION.fullmatch(lines.take())
    assert found is not None
    line = lines.peek() or ""
    columns = line.split()
    if not _COLUMNS.fullmatch(line) or columns != [str(one) for one in range(len(columns))]:
        lines.refuse(line, "give the numbers of the devices, from 0: the file is truncated or damaged")
    lines.take()
    cells: list[list[Decimal | None]] = []
    while _ROW.fullmatch(line := lines.peek() or ""):
        label, *row = line.split()
        if len(row) != len(columns) or label != str(len(cells)):
            lines.refuse(line, f"give row {len(cells)} of {len(columns)} cells: the file is truncated or damaged")
        cells.append([None if cell == "N/A" else number(cell, lines.file, lines.number) for cell in row])
        lines.take()
    if not cells:
        lines.refuse(line, "give a row of numbers: the file is truncated or damaged; copy it again")
    if "GPU(row)" in found["words"] and "GPU(column)" in found["words"] and len(cells) != len(columns):
        lines.refuse(line, f"give {len(columns)} rows, one for each GPU: the file is truncated or damaged")
    return Table(found["words"], found["unit"], cells)


def _add_sum(test: _Test, found: re.Match[str], lines: _Lines) -> None:
    """Add a sum to the first of the test's tables that has it."""
    of = found["of"] or found["named"]
    total = number(found["sum"], lines.file, lines.number)
    fitting = [index for index, table in enumerate(test.tables) if table.total is None and table.sums_to(total)]
    if not of.startswith(test.name) or not fitting:
        lines.refuse(lines.peek() or "", f"this is not the sum of a table of {test.name}: the file is damaged")
    test.tables[fitting[0]] = replace(test.tables[fitting[0]], total=total)
    lines.take()


def _last_of(version: str) -> str | None:
    """The last test of a complete run of a version, if its text has no closing note."""
    major, minor = version.split(".")
    return _LAST_OF_ALL if (int(major), int(minor)) < _WITH_NOTE else None


def _check_whole(tests: list[_Test], text: str, file: Path, last_test: str | None) -> None:
    """Refuse a text that may lack its end: one without the closing note, whose last test is another."""
    line = text.count("\n") + 1
    last = tests[-1] if tests else None
    if last is None or not text.endswith("\n"):
        raise InputError(f"{file}, line {line}: the text ends here: it is truncated; copy it again")
    if last.status == "ok" and last.tables[-1].total is None:
        raise InputError(
            f"{file}, line {line}: the sum of {last.name} is missing: the file is truncated; copy it again"
        )
    if last.name != last_test:
        raise InputError(
            f"{file}, line {line}: nothing shows that the text is whole: it has no closing note, and ends with "
            f"{last.name}, not {last_test or 'a known test'}: if {last.name} was the last, give --last {last.name}"
        )
