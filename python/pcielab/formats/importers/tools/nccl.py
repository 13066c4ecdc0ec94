"""Read nccl-tests (and rccl-tests): a line for each size, out of place and in place.

    #       size      count    type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
       134217728   33554432   float     sum      -1    11020   12.18   21.31      0    11015   12.18   21.32      0

`algbw` is the size over the time; `busbw` is what the busiest link carries, computed from it by the number of
ranks. Neither is the rate of one device's link. The average in the last line of a report is none of its rows.
Source: the program's own output; NVIDIA/nccl-tests, doc/PERFORMANCE.md.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from pcielab.formats.importers.tools.pasted import Lines
from pcielab.formats.importers.tools.reading import NUMBER
from pcielab.formats.importers.tools.writing import GIGABYTES_GBPS, Measured, Measurement
from pcielab.kinds.tools.rows import MeasuredSetting

BEGINS = (
    re.compile(
        r"#\s*(?:nThread \d.*|size\s+count\s.*|Collective test starting: \w+|(?:nccl|rccl)-tests version .*)"
    ),
)
"""Lines with which a report begins, or goes on."""
_HEAD = re.compile(r"#\s*(size\s+count\s.*)", re.ASCII)
_COLUMNS = frozenset({"size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "error"})
_OPERATIONS = "all_reduce|all_gather|reduce_scatter|broadcast|reduce|alltoall|sendrecv|gather|scatter|hypercube"
_NAME = re.compile(rf"(?:# Collective test starting: |.*?\b)((?:{_OPERATIONS})_perf)\b.*", re.ASCII)
_RANK = re.compile(r"#\s*Rank\s+\d+ .*\bdevice\s+\d+ \[[0-9a-fx:]{1,12}\] (\S.{0,80})", re.ASCII)
_VERSION = re.compile(r"# (?:nccl|rccl)-tests version (\d[\w.]{0,20}).*", re.ASCII)
_COUNT = re.compile(r"\d{1,15}", re.ASCII)
_WORD = re.compile(r"[a-z][a-z0-9_]{1,15}", re.ASCII)
_VALUE = re.compile(NUMBER, re.ASCII)
_CUT = "the file is truncated or damaged; copy it again"


def read_nccl(lines: Lines, previous: Measured | None) -> Measured:
    """The tests from the next line on, to the first line of something else.

    Raises:
        InputError: A line is truncated or damaged.
    """
    tests: list[Measurement] = []
    columns: list[str] = []
    names: set[str] = set()
    found = _NAME.fullmatch(lines.command)
    name, version = found[1] if found else "nccl-tests", previous.version if previous else None
    ended = False
    while line := lines.peek():
        ended = ended or line.startswith("# Avg bus bandwidth")
        if found := _HEAD.fullmatch(line):
            columns = _head(lines, found[1])
        elif found := _RANK.fullmatch(line):
            names.add(found[1])
        elif found := _NAME.fullmatch(line) if line[0] == "#" else None:
            name = found[1]
        elif found := _VERSION.fullmatch(line):
            version = found[1]
        elif columns and _COUNT.fullmatch(line.split()[0]):
            tests += _tests(name, columns, _row(lines, columns), lines)
        elif line[0] != "#":
            break
        lines.take()
    device = names.pop() if len(names) == 1 else previous.device if previous and not names else None
    missing = "nccl-tests: no line with the average bandwidth: later sizes may be missing"
    return Measured("nccl-tests", version, tests, device, notes=[missing] if tests and not ended else [])


def _head(lines: Lines, first: str) -> list[str]:
    """The names of the columns, which may be wrapped; the last of their lines is then the next one."""
    columns = first.split()
    while (more := lines.peek(1).split()) and columns.count("time") < 3 and all(word in _COLUMNS for word in more):
        columns += more
        lines.take()
    if not {"time", "algbw", "busbw"} <= set(columns) <= _COLUMNS:
        lines.refuse(lines.peek(), f"give the columns size, count, type, time, algbw and busbw: {_CUT}")
    return columns


def _row(lines: Lines, columns: Sequence[str]) -> list[str]:
    """The words of a row, which may be wrapped; the last of its lines is then the next one."""
    words = lines.peek().split()
    while len(words) < len(columns) and (more := lines.peek(1).split()) and len(words) + len(more) <= len(columns):
        if not all(_VALUE.fullmatch(word) or word in ("N/A", "-1") for word in more):
            break
        words += more
        lines.take()
    if len(words) != len(columns):
        lines.refuse(lines.peek(), f"give {len(columns)} words: {_CUT}")
    return words


def _tests(name: str, columns: Sequence[str], words: Sequence[str], lines: Lines) -> Iterator[Measurement]:
    """The rates of a row: of the algorithm and of the bus, out of place and in place."""
    places = [at for at, column in enumerate(columns) if column == "time"]
    size = words[columns.index("size")]
    kind = [words[columns.index(key)] for key in ("type", "redop") if key in columns]
    if not _COUNT.fullmatch(size) or not all(word == "none" or _WORD.fullmatch(word) for word in kind):
        lines.refuse(lines.peek(), f"give a size and a type of data: {_CUT}")
    for place, at in zip(("out of place", "in place"), places, strict=False):
        values = dict(zip(columns[at : at + 3], words[at : at + 3], strict=True))
        if values.keys() != {"time", "algbw", "busbw"}:
            lines.refuse(lines.peek(), f"give time, algbw and busbw side by side: {_CUT}")
        if set(values.values()) == {"N/A"}:
            continue
        for value in values.values():
            if not _VALUE.fullmatch(value):
                lines.refuse(value, f"give a number: {_CUT}")
        time, rate = Decimal(values["time"]), Decimal(values["algbw"])
        if not _fits(Decimal(size), time, rate):
            lines.refuse(lines.peek(), f"algbw {rate} is not size {size} over time {time}: {_CUT}")
        for part, key in (("algorithm", "algbw"), ("bus", "busbw")):
            setting = MeasuredSetting(
                tool="nccl-tests", counted="total", part=f"{part}, {place}", size_bytes=int(size) or None
            )
            more = {"average": time * 1000} if part == "algorithm" else {}
            title = " ".join([name, *(word for word in kind if word != "none")])
            yield Measurement(name, title, setting, {"bandwidth": Decimal(values[key]) * GIGABYTES_GBPS, **more})


def _fits(size: Decimal, time: Decimal, rate: Decimal) -> bool:
    """Whether a rate is a size over a time, to the last digit of each."""
    if not time:
        return True
    expected = size / time / 1000
    # A time is printed with two decimals or three digits, a rate with two decimals.
    allowed = Decimal("0.011") + expected * Decimal("0.02")
    return abs(rate - expected) <= allowed
