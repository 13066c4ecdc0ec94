"""Read the text of nvbandwidth: a head, then a table for each test that ran.

    Running host_to_device_memcpy_ce.
    memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
               0         1
     0     55.26     55.31

    SUM host_to_device_memcpy_ce 110.57

An excerpt may lack the head, the line that names a test, or the sum. Later versions end with a note. The text of
an earlier one does not show that it is whole, unless it ends with the last test of a complete run.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal

from pcielab.formats.importers.tools.nvbandwidth.tables import (
    Table,
    devices_of,
    measurements,
    version_of,
    without_result,
)
from pcielab.formats.importers.tools.pasted import Lines, read_matrix
from pcielab.formats.importers.tools.reading import NUMBER
from pcielab.formats.importers.tools.writing import Measured, Measurement
from pcielab.wording import shown

_HEAD = "nvbandwidth Version:"
_LAST_OF_ALL = "one_to_all_read_sm"
"""The last test of a complete run of versions before `_WITH_NOTE`."""
_WITH_NOTE = (0, 4)
"""The first version that may end with a note, and that has tests after `_LAST_OF_ALL`."""
_END = "NOTE: The reported results"
_BEGINS = re.compile(r"(?P<how>Running|Waived|WAIVED|Waiving):? (?P<name>\w{1,75}_(?:ce|sm|copy))\.?", re.ASCII)
_WAIVED = re.compile(r"(?:Waived|WAIVED|Waiving)\b.*", re.ASCII)
_FAILED = re.compile(r"(?:\[?CUDA_ERROR|\[?NVML_ERROR|\[|ERROR|Error).*", re.ASCII)
_DESCRIPTION = re.compile(r"(?P<words>\S.{0,200}?\((?:row|column)\).{0,200}?) ?\((?P<unit>GB/s|ns)\)", re.ASCII)
BEGINS = (re.compile(f"{_HEAD}.*|{_END}.*"), _BEGINS, _DESCRIPTION)
"""Lines with which a report begins, or goes on."""
_SUMMED = r"\d{1,15}\.\d\d"
_SUM = re.compile(rf"(?:SUM (?P<of>\w{{1,90}})|(?P<named>\w{{1,80}})_sum) (?P<sum>{_SUMMED})", re.ASCII)
_SUM_CUT = re.compile(r"(?:SUM \w{0,90}|\w{1,80}_sum)(?: \S*)?", re.ASCII)
_OTHER_SUMS = re.compile(rf"(?:MIN|MAX|AVG|AVERAGE|MEAN|MEDIAN) \w{{1,90}} {NUMBER}", re.ASCII)
_FACTS = {
    "CUDA Runtime Version": "cuda_runtime",
    "CUDA Driver Version": "cuda_driver",
    "Driver Version": "driver",
}
_OF_DEVICE = re.compile(r"Device \d{1,4}:", re.ASCII)
_OF_HEAD = re.compile(r"Built from Git version:.*|NOTE: This tool reports.*|Additional system-specific tuning.*")
_OF_NOTE = re.compile(r"Performance can vary with.*")
_BUFFER = re.compile(r".*nvbandwidth\b.*\s(?:-b|--bufferSize)[ =]?(?P<mebibytes>\d{1,7})\b.*", re.ASCII)
_CORNER = re.compile(r"(?!)")
_MOST_FACT = 80
_DECIMALS = 2


@dataclass
class _Test:
    """A test while its lines are read."""

    name: str
    tables: list[Table] = field(default_factory=list)
    status: str = "ok"
    message: str = ""

    def measurements(self, size_bytes: int | None, devices: dict[int, str]) -> Iterator[Measurement]:
        if self.status != "ok":
            yield without_result(self.name, size_bytes, self.status, self.message)
        else:
            yield from measurements(self.name, self.tables, size_bytes, devices)


def read_tables(
    lines: Lines, previous: Measured | None, size_bytes: int | None, last_test: str | None
) -> Measured:
    """The tests from the next line on, to the first line of something else.

    Args:
        lines: The text.
        previous: What an earlier part of the text measured; its head is that of this part, too.
        size_bytes: Size of the buffer; None takes that of a command above.
        last_test: Name of the last test that ran.

    Raises:
        InputError: A table is truncated or damaged.
    """
    buffer = _BUFFER.fullmatch(lines.command)
    size_bytes = int(buffer["mebibytes"]) << 20 if buffer and size_bytes is None else size_bytes
    found = _head(lines) if lines.peek().startswith(_HEAD) else replace(previous or _NOTHING, tests=(), notes=())
    tests: list[_Test] = []
    ended = False
    while line := lines.peek():
        if line.startswith(_END):
            lines.take()
            ended = True
            if _OF_NOTE.fullmatch(lines.peek()):
                lines.take()
            break
        if begins := _BEGINS.fullmatch(line):
            tests.append(_test(lines, begins["name"], waived=begins["how"] != "Running"))
        elif _DESCRIPTION.fullmatch(line):
            tests.append(_test(lines, "", waived=False))
        else:
            break
    devices = found.devices
    measured = [one for test in tests for one in test.measurements(size_bytes, dict(enumerate(devices)))]
    notes = [] if ended or not tests else _unended(tests[-1], found.version, last_test)
    return replace(found, tests=measured, notes=notes)


_NOTHING = Measured("nvbandwidth", None, ())


def _head(lines: Lines) -> Measured:
    """The version, the facts and the devices above the first test."""
    version = version_of(lines.peek().removeprefix(_HEAD), f"{lines.file}, line {lines.number}")
    lines.take()
    facts, devices = dict[str, str](), list[str]()
    while line := lines.peek():
        key, _, value = line.partition(":")
        if _OF_DEVICE.match(line):
            devices.append(line.removeprefix("Device "))
        elif key in _FACTS and value.strip():
            facts[_FACTS[key]] = value.strip()[:_MOST_FACT]
        elif not _OF_HEAD.fullmatch(line) and not any(map(_goes_on, (lines.peek(at) for at in range(1, 4)))):
            break
        lines.take()
    names, addresses = devices_of(devices)
    name = names[0] if len(set(names)) == 1 else None
    return Measured("nvbandwidth", version, (), name, addresses, facts, devices=names)


def _goes_on(line: str) -> bool:
    """Whether a line is of the head: the name of the host and others stand between its lines."""
    return bool(_OF_DEVICE.match(line)) or line.partition(":")[0] in _FACTS


def _test(lines: Lines, name: str, *, waived: bool) -> _Test:
    """The test that begins with the next line; one without a name begins with its table."""
    test = _Test(name)
    title = lines.peek()
    if name:
        lines.take()
    if waived or (_WAIVED.fullmatch(lines.peek()) and not _BEGINS.fullmatch(lines.peek())):
        if not waived:
            lines.take()
        test.status, test.message = "not-supported", "waived by nvbandwidth"
        return test
    while (line := lines.peek()) and not _BEGINS.fullmatch(line) and not line.startswith(_END):
        if name and _FAILED.fullmatch(line):
            test.status, test.message = "failed", f"nvbandwidth: {shown(line)}"
        elif _DESCRIPTION.fullmatch(line):
            if not name and test.tables:
                break
            test.tables.append(_table(lines))
            continue
        elif found := _SUM.fullmatch(line):
            _add_sum(test, found, lines)
            continue
        elif _SUM_CUT.fullmatch(line) and test.tables:
            lines.refuse(line, "give the sum of the table: the file is truncated or damaged")
        elif not _OTHER_SUMS.fullmatch(line) and test.status != "failed":
            break
        lines.take()
    if test.status == "ok" and not test.tables:
        lines.refuse(title, "no table follows: the file is truncated; copy it again")
    test.name = test.name or test.tables[0].description
    return test


def _table(lines: Lines) -> Table:
    found = _DESCRIPTION.fullmatch(lines.take())
    assert found is not None
    cells = read_matrix(lines, _CORNER, decimals=_DECIMALS)
    between = "GPU(row)" in found["words"] and "GPU(column)" in found["words"]
    if between and len(cells) != len(cells[0]):
        lines.refuse(
            lines.peek() or "end of the file",
            f"give {len(cells[0])} rows, one for each GPU: the file is truncated or damaged",
        )
    if between:
        # Versions that leave out the diagonal print it as 0.
        cells = [
            [None if at == row and cell == 0 else cell for at, cell in enumerate(line)]
            for row, line in enumerate(cells)
        ]
    return Table(found["words"], found["unit"], cells)


def _add_sum(test: _Test, found: re.Match[str], lines: Lines) -> None:
    """Add a sum to the first of the test's tables that has it."""
    of = found["of"] or found["named"]
    total = Decimal(found["sum"])
    fitting = [index for index, table in enumerate(test.tables) if table.total is None and table.sums_to(total)]
    if not of.startswith(test.name) or not fitting:
        lines.refuse(lines.peek(), f"this is not the sum of a table of {test.name or of}: the file is damaged")
    test.name = test.name or of
    test.tables[fitting[0]] = replace(test.tables[fitting[0]], total=total)
    lines.take()


def _unended(last: _Test, version: str | None, last_test: str | None) -> list[str]:
    """Why the end of a text without the closing note is unknown; empty if it is known."""
    major, minor = (version or "1.0").split(".")
    known = last_test or (_LAST_OF_ALL if (int(major), int(minor)) < _WITH_NOTE else None)
    if last.name == known and (last.status != "ok" or last.tables[-1].total is not None):
        return []
    return [
        f"nvbandwidth: no closing note: tests after {last.name} may be missing; --last says which was the last"
    ]
