"""The rows of a family in the three published forms.

`.csv` has full precision and CRLF line ends. `.dat` (for gnuplot) and `.txt` (for people) have fixed widths and
fewer digits, and a gap between sections. Widths, digits and truncations are those of the published files.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from pcielab.errors import refusal
from pcielab.formats.published import CACHE_STATES, LATENCY_COLUMNS, PATTERNS, Timer

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
    """A test (a row of `Store.scalars`) to write in cycles of a timer."""

    store: Path
    test: dict[str, Any]
    timer: Timer
    lacking: bool = False
    """Whether it fills in for a row that the store lacks: its numbers are NaN."""

    def metric(self, name: str) -> float:
        """A number of the test."""
        value = self.test.get(name, math.nan)
        if math.isnan(value):
            raise refusal(
                "missing",
                f"{self.store}: test {self.test['id']} ({self.test['family']}, {self.test['name']}) has no "
                f"{name!r}, which the published format needs",
            )
        return float(value)

    def key(self) -> Cells:
        """The columns that identify the test."""
        test = self.test
        return {
            "Test": test["name"],
            "PAT": PATTERN_WORDS[test["pattern"]],
            "Cache": CACHE_WORDS[test["cache"]],
            "HO": test["host_offset_bytes"],
            "DO": test["device_offset_bytes"],
            "WinSZ": _window(test["window_bytes"]),
            "SZ": test["size_bytes"],
        }

    def cells(self) -> Cells:
        """The columns of the `.csv` form, in order."""
        formats = LATENCY_FORMATS if self.test["name"].startswith("LAT_") else BANDWIDTH_FORMATS
        if self.lacking:
            return dict.fromkeys(formats, math.nan) | self.key()
        return self.key() | (self._latency() if formats is LATENCY_FORMATS else self._bandwidth())

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


Order: TypeAlias = Callable[[list[list[Row]]], list[list[Row]]]
"""Puts the sections of a family in the published order, and fills missing ones."""


def row_files(family: str, rows: Sequence[Row], order: Order) -> dict[str, str]:
    """The three files of a family, by name; `order` applies to the `.dat` form."""
    parts = sections(rows)
    txt = "\n\n".join("\n".join(_fixed(row, _txt, _formats(family)) for row in part) for part in parts)
    lines = [",".join(_formats(family)), *(",".join(map(str, row.cells().values())) for row in rows)]
    return {
        f"{family}.csv": "".join(f"{line}\r\n" for line in lines),
        f"{family}.dat": dat_file(family, order(parts)),
        f"{family}.txt": f"{_head(family)}\n{txt}\n",
    }


def dat_file(family: str, parts: Sequence[Sequence[Row]]) -> str:
    """The `.dat` form of a family's sections."""
    dat = "\n\n\n".join("\n".join(_fixed(row, _dat, _formats(family)) for row in part) for part in parts)
    return f"#{_head(family)}\n{dat}\n"


def _formats(family: str) -> dict[str, str]:
    return LATENCY_FORMATS if family.startswith("lat_") else BANDWIDTH_FORMATS


def _head(family: str) -> str:
    return " ".join(f"{column:>{_width(form)}}" for column, form in _formats(family).items())


def _width(form: str) -> int:
    return int(form.lstrip(">").split(".")[0].rstrip("d"))


def sections(rows: Sequence[Row]) -> list[list[Row]]:
    """Split rows into sections where the test or cache state changes, or a list of offsets restarts.

    The details families have one section per test.
    """
    found: list[list[Row]] = []
    before: Row | None = None
    for row in rows:
        if before is None or _apart(before.test, row.test):
            found.append([])
        found[-1].append(row)
        before = row
    return found


def _apart(before: dict[str, Any], after: dict[str, Any]) -> bool:
    if before["name"] != after["name"]:
        return True
    offsets = ("host_offset_bytes", "device_offset_bytes")
    again = any(after[offset] < before[offset] for offset in offsets)
    return not after["details"] and (before["cache"] != after["cache"] or again)


def _fixed(row: Row, shown_as: Callable[[Cells], Cells], formats: dict[str, str]) -> str:
    cells = row.cells()
    cells |= shown_as(cells)
    return " ".join(_shown(cells[column], form) for column, form in formats.items())


def _shown(value: Value, form: str) -> str:
    if value != value:
        return f"{'NaN':>{_width(form)}}"
    return format(_truncated(value) if form.endswith("d") else value, form)


def _truncated(value: Value) -> int:
    """Truncate to whole cycles or ns, with a tolerance for rounding errors."""
    return math.floor(float(value) + 1e-6)


def _dat(cells: Cells) -> Cells:
    """Cells that the `.dat` form formats differently: times have 12 digits."""
    shown: Cells = {"WinSZ": str(cells["WinSZ"])}
    if "Time" in cells:
        shown |= {"Time": _digits(float(cells["Time"]))}
    return shown


def _txt(cells: Cells) -> Cells:
    """Cells that the `.txt` form formats differently: sizes and times have units."""
    shown: Cells = {"WinSZ": _size(float(cells["WinSZ"]))}
    if "Time" in cells:
        shown |= {"Time": _time(float(cells["Time"])), "Bytes": _size(float(cells["Bytes"]))}
    return shown


def _window(window_bytes: int) -> int | float:
    """A float for windows like 1.5 MiB, as in the published files."""
    return float(window_bytes) if window_bytes > MIB and window_bytes % MIB else window_bytes


def _digits(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    text = f"{value:.12g}"
    return text if "." in text or "e" in text else f"{text}.0"


def _time(time_ns: float) -> str:
    return f"{time_ns / 1e6:.2f}ms" if time_ns >= 1e6 else f"{time_ns / 1e3:.2f}us"


def _size(size_bytes: float) -> str:
    if size_bytes >= MIB:
        return f"{size_bytes / MIB:g}MB"
    return f"{size_bytes / KIB:g}KB" if size_bytes >= KIB else f"{size_bytes:g}B"
