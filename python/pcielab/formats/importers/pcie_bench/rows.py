"""Read the rows of a published CSV file as records of tests, checking each."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pcielab.errors import refusal
from pcielab.formats.importers.pcie_bench.text import read_text
from pcielab.formats.published import BANDWIDTH_HEAD, CACHE_STATES, LATENCY_COLUMNS, LATENCY_HEAD, PATTERNS, Timer
from pcielab.library.suites.benchmark import BENCHMARKS
from pcielab.library.suites.parameter import PARAMETERS
from pcielab.wording import shown

BANDWIDTH_SCALARS = {
    "Time": ("time", "ns"),
    "Bytes": ("bytes", "B"),
    "Trans": ("transactions", "1"),
    "BW (GB/s)": ("bandwidth", "Gb/s"),
    "Trans/s": ("rate", "1/s"),
}
MOST_NUMBER = 1e18
"""Far above every measured number: 30 years in ns, or an exabyte."""
COUNTS = {"#outliers": "outliers", "#samples": "samples"}


@dataclass(frozen=True)
class Row:
    """One line of a file, with its position for errors."""

    path: Path
    line: int
    cells: dict[str, str]

    def refuse(self, column: str, expected: str) -> NoReturn:
        """Raise an error that names file, line, column and value."""
        cell = shown(self.cells[column])
        raise refusal("malformed", f"{self.path}, line {self.line}: column {column!r} is {cell}: give {expected}")

    def number(self, column: str) -> float:
        """The number in a column, from 0 to `MOST_NUMBER`."""
        try:
            value = float(self.cells[column])
        except ValueError:
            value = math.nan
        if not 0 <= value <= MOST_NUMBER:
            self.refuse(column, f"a number, 0 or more and at most {MOST_NUMBER:g}")
        return value

    def whole(self, column: str) -> int:
        """The whole number in a column; the published files write some as `1572864.0`."""
        value = self.number(column)
        if not value.is_integer():
            self.refuse(column, "a whole number")
        return int(value)

    def positive(self, column: str) -> int:
        """A whole number above 0."""
        return self.whole(column) or self.refuse(column, "a number above 0")

    def word(self, column: str, words: dict[str, Any]) -> Any:
        """The value that `words` gives for the word in a column."""
        found = self.cells[column]
        return words[found] if found in words else self.refuse(column, f"one of {', '.join(words)}")


def read_rows(path: Path, timer: Timer) -> list[dict[str, Any]]:
    """The records of a family's file, in file order and without ids.

    Args:
        path: A `.csv` file whose name is that of the family.
        timer: The timer of the file's cycles.
    """
    latency = path.stem.startswith("lat_")
    head = LATENCY_HEAD if latency else BANDWIDTH_HEAD
    tests = {name: test for name, test in BENCHMARKS.items() if test[0].startswith("lat-") == latency}
    read: Callable[[Row, Timer], list[dict[str, Any]]] = _latency_scalars if latency else _bandwidth_scalars
    records = []
    for row in _rows(path, head):
        operation, transfer_path = row.word("Test", tests)
        details = "_details" in path.stem
        records.append(
            {
                "family": path.stem,
                "name": row.cells["Test"],
                "parameters": _parameters(row, operation, transfer_path, details),
                "scalars": read(row, timer),
            }
        )
    return records


def _rows(path: Path, head: Sequence[str]) -> Iterator[Row]:
    text = read_text(path)
    if not text.endswith("\n"):
        last = text.count("\n") + 1
        raise refusal(
            "damaged",
            f"{path}, line {last}: the last line does not end: the file is truncated; copy it again, or end the "
            "line if it is complete",
        )
    lines = text.splitlines()
    found = [name.strip() for name in lines[0].split(",")]
    if found != list(head):
        raise refusal(
            "malformed",
            f"{path}, line 1: the columns are {shown(lines[0])}: a file of this name has {','.join(head)!r}",
        )
    rows = 0
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(head):
            raise refusal(
                "damaged",
                f"{path}, line {number}: {len(cells)} columns where {len(head)} are expected: the file is "
                "truncated or damaged; copy it again",
            )
        rows += 1
        yield Row(path, number, dict(zip(head, cells, strict=True)))
    if not rows:
        raise refusal("damaged", f"{path}, line 2: no rows after the header: the file is truncated; copy it again")


def _parameters(row: Row, operation: str, transfer_path: str, details: bool) -> dict[str, Any]:
    asked = row.positive("#samples" if "#samples" in row.cells else "Trans")
    return {
        **{parameter.key: parameter.default for parameter in PARAMETERS},
        "cache": row.word("Cache", CACHE_STATES),
        "details": details,
        "device_offset_bytes": row.whole("DO"),
        "host_offset_bytes": row.whole("HO"),
        "operation": operation,
        "path": transfer_path,
        "pattern": row.word("PAT", PATTERNS),
        "size_bytes": row.positive("SZ"),
        # A row of reads and writes counts one direction of the two.
        "transactions": 2 * asked if operation == "bw-rdwr" else asked,
        "window_bytes": row.positive("WinSZ"),
    }


def _bandwidth_scalars(row: Row, timer: Timer) -> list[dict[str, Any]]:
    values = {column: row.number(column) for column in BANDWIDTH_SCALARS}
    time_ns = row.number("Time") or row.refuse("Time", "a number above 0")
    _check_cycles(row, "Time(cyc)", "Time", timer)
    for column, expected in (
        ("BW (GB/s)", 8 * values["Bytes"] / time_ns),
        ("Trans/s", 1e9 * values["Trans"] / time_ns),
    ):
        # Wide enough for means of batches, narrow enough to detect a truncated number.
        if not math.isclose(values[column], expected, rel_tol=0.01):
            row.refuse(column, f"about {expected:.6g}, as the columns Time, Bytes and Trans say")
    return [
        {"metric": metric, "unit": unit, "value": values[column]}
        for column, (metric, unit) in BANDWIDTH_SCALARS.items()
    ]


def _latency_scalars(row: Row, timer: Timer) -> list[dict[str, Any]]:
    for column in LATENCY_COLUMNS:
        _check_cycles(row, column, f"{column}(ns)", timer)
    times = [
        {"metric": metric, "unit": "ns", "value": row.number(f"{column}(ns)")}
        for column, metric in LATENCY_COLUMNS.items()
    ]
    counts = [{"metric": metric, "unit": "1", "value": row.whole(column)} for column, metric in COUNTS.items()]
    return times + counts


def _check_cycles(row: Row, cycles_column: str, ns_column: str, timer: Timer) -> None:
    cycles, time_ns = row.number(cycles_column), row.number(ns_column)
    # TAvg is truncated to whole cycles.
    if abs(cycles - timer.cycles_of(time_ns)) > 1:
        expected = cycles * float(timer.cycle_ns)
        row.refuse(
            ns_column, f"about {expected:.6g}: {cycles_column} is {cycles:g} cycles of {timer.cycle_ns} ns each"
        )
