"""The rows of a family in the three published forms.

`.csv` has full precision and CRLF line ends. `.dat` (for gnuplot) and `.txt` (for people) have fixed widths and
fewer digits, and a gap between sections. Widths, digits and truncations are those of the published files.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcielab.errors import InputError
from pcielab.published import CACHE_STATES, LATENCY_COLUMNS, PATTERNS, Timer

KIB, MIB = 1 << 10, 1 << 20
PATTERN_WORDS = {pattern: word for word, pattern in PATTERNS.items()}
CACHE_WORDS = {state: word for word, state in CACHE_STATES.items()}

Value = str | int | float
Cells = dict[str, Value]

KEY_FORMATS = {"PAT": ">4", "Cache": ">7", "HO": ">2", "DO": ">2", "WinSZ": ">5", "SZ": ">4"}
LATENCY_FORMATS = {
    "Test": ">12",
    **KEY_FORMATS,
    "TAvg": ">8.1f",
    "Avg": ">6.1f",
    **dict.fromkeys(("Med", "Min", "Max", "95%", "99.9%"), ">5d"),
    "TAvg(ns)": ">10.1f",
    "Avg(ns)": ">7.1f",
    **dict.fromkeys(("Med(ns)", "Min(ns)", "Max(ns)", "95%(ns)"), ">7d"),
    "99.9%(ns)": ">9d",
    "#outliers": ">12d",
    "#samples": ">10d",
}
BANDWIDTH_FORMATS = {
    "Test": ">10",
    **KEY_FORMATS,
    "Time(cyc)": ">13d",
    "Time": ">9",
    "Bytes": ">8",
    "Trans": ">9d",
    "BW (GB/s)": ">11.3f",
    "Trans/s": ">10.1f",
}
"""Width and digits of each column in the `.dat` and `.txt` forms; `d` truncates."""


@dataclass(frozen=True)
class Row:
    """A test, as a row of `Store.scalars`, to be written with a timer's cycles."""

    store: Path
    test: dict[str, Any]
    timer: Timer

    def metric(self, name: str) -> float:
        """A number of the test.

        Raises:
            InputError: It has none of that name.
        """
        value = self.test.get(name, math.nan)
        if math.isnan(value):
            raise InputError(
                f"{self.store}: test {self.test['id']} ({self.test['family']}, {self.test['name']}) has no "
                f"{name!r}, which the published format needs"
            )
        return float(value)

    def cells(self) -> Cells:
        """The columns of the `.csv` form, in order."""
        test = self.test
        key: Cells = {
            "Test": test["name"],
            "PAT": PATTERN_WORDS[test["pattern"]],
            "Cache": CACHE_WORDS[test["cache"]],
            "HO": test["host_offset_bytes"],
            "DO": test["device_offset_bytes"],
            "WinSZ": _window(test["window_bytes"]),
            "SZ": test["size_bytes"],
        }
        return key | (self._latency() if test["name"].startswith("LAT_") else self._bandwidth())

    def _latency(self) -> Cells:
        times_ns = {column: self.metric(metric) for column, metric in LATENCY_COLUMNS.items()}
        cycles: Cells = {column: self.timer.cycles_of(time) for column, time in times_ns.items()}
        cycles |= {column: _truncated(cycles[column]) for column in ("TAvg", "Min", "Max")}
        counts = {"#outliers": int(self.metric("outliers")), "#samples": int(self.metric("samples"))}
        return cycles | {f"{column}(ns)": time for column, time in times_ns.items()} | counts

    def _bandwidth(self) -> Cells:
        return {
            "Time(cyc)": round(self.timer.cycles_of(self.metric("time"))),
            "Time": self.metric("time"),
            "Bytes": int(self.metric("bytes")),
            "Trans": int(self.metric("transactions")),
            "BW (GB/s)": self.metric("bandwidth"),
            "Trans/s": self.metric("rate"),
        }


def row_files(family: str, rows: Sequence[Row]) -> dict[str, str]:
    """The three files of a family, by name."""
    table = [row.cells() for row in rows]
    formats = LATENCY_FORMATS if family.startswith("lat_") else BANDWIDTH_FORMATS
    head = " ".join(f"{column:>{form.lstrip('>').split('.')[0].rstrip('d')}}" for column, form in formats.items())
    sections = _sections(rows, table)
    dat = "\n\n\n".join(
        "\n".join(_fixed(cells | _dat(cells), formats) for cells in section) for section in sections
    )
    txt = "\n\n".join("\n".join(_fixed(cells | _txt(cells), formats) for cells in section) for section in sections)
    lines = [",".join(formats), *(",".join(map(str, cells.values())) for cells in table)]
    return {
        f"{family}.csv": "".join(f"{line}\r\n" for line in lines),
        f"{family}.dat": f"#{head}\n{dat}\n",
        f"{family}.txt": f"{head}\n{txt}\n",
    }


def _sections(rows: Sequence[Row], table: Sequence[Cells]) -> list[list[Cells]]:
    """A new section begins where the test or the cache state changes, or a list of offsets begins again.

    The details families have one section per test.
    """
    sections: list[list[Cells]] = []
    before: Row | None = None
    for row, cells in zip(rows, table, strict=True):
        if before is None or _apart(before.test, row.test):
            sections.append([])
        sections[-1].append(cells)
        before = row
    return sections


def _apart(before: dict[str, Any], after: dict[str, Any]) -> bool:
    if before["name"] != after["name"]:
        return True
    offsets = ("host_offset_bytes", "device_offset_bytes")
    again = any(after[offset] < before[offset] for offset in offsets)
    return not after["details"] and (before["cache"] != after["cache"] or again)


def _fixed(cells: Cells, formats: dict[str, str]) -> str:
    return " ".join(
        format(_truncated(cells[column]) if form.endswith("d") else cells[column], form)
        for column, form in formats.items()
    )


def _truncated(value: Value) -> int:
    """Whole cycles or ns; a value that is whole but for its last bits counts as whole."""
    return math.floor(float(value) + 1e-6)


def _dat(cells: Cells) -> Cells:
    """What the `.dat` form shows differently: times have 12 digits."""
    shown: Cells = {"WinSZ": str(cells["WinSZ"])}
    if "Time" in cells:
        shown |= {"Time": _digits(float(cells["Time"]))}
    return shown


def _txt(cells: Cells) -> Cells:
    """What the `.txt` form shows differently: sizes and times with units."""
    shown: Cells = {"WinSZ": _size(float(cells["WinSZ"]))}
    if "Time" in cells:
        shown |= {"Time": f"{float(cells['Time']) / 1e6:.2f}ms", "Bytes": _size(float(cells["Bytes"]))}
    return shown


def _window(window_bytes: int) -> int | float:
    """The published program held windows of 1.5 MiB as floating-point numbers, and its files show it."""
    return float(window_bytes) if window_bytes > MIB and window_bytes % MIB else window_bytes


def _digits(value: float) -> str:
    text = f"{value:.12g}"
    return text if "." in text or "e" in text else f"{text}.0"


def _size(size_bytes: float) -> str:
    if size_bytes >= MIB:
        return f"{size_bytes / MIB:g}MB"
    return f"{size_bytes / KIB:g}KB" if size_bytes >= KIB else f"{size_bytes:g}B"
