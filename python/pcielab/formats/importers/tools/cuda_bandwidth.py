"""Read bandwidthTest of the CUDA samples: a table of sizes for each direction, or its lines of CSV.

     Host to Device Bandwidth, 1 Device(s)
     PINNED Memory Transfers
       Transfer Size (Bytes)        Bandwidth(MB/s)
       33554432                     12180.7

Versions before CUDA 10.1 print MB/s and divided by 2^20. A line of CSV decides that: it has the time, too. A table
does not: its MB/s are read as 10^6 B/s, as printed, and a note says what 2^20 would make of them. Source: the
program's own output; NVIDIA/cuda-samples.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from pcielab.formats.importers.tools.pasted import Lines
from pcielab.formats.importers.tools.reading import NUMBER
from pcielab.formats.importers.tools.writing import (
    GIGABYTES_GBPS,
    MEGABYTES_GBPS,
    Measured,
    Measurement,
)
from pcielab.kinds.tools.rows import Direction, MeasuredSetting

_TITLE = r"(?P<way>(?:Host|Device) to (?:Host|Device)) Bandwidth, (?P<devices>\d{1,3}) Device\(s\)"
_CSV = (
    r"bandwidthTest-(?P<to>[HD]2[HD])(?:-(?P<memory>Pinned|Paged|Pageable))?, Bandwidth = "
    rf"(?P<rate>{NUMBER}) (?P<unit>[MG]B/s), Time = (?P<time>{NUMBER}) s, Size = (?P<size>\d{{1,12}}) bytes, "
    r"NumDevsUsed = (?P<used>\d{1,3})"
)
BEGINS = tuple(re.compile(one, re.ASCII) for one in (r"\[CUDA Bandwidth Test\].*", _TITLE, _CSV))
"""Lines with which a report begins, or goes on."""
_DEVICE = re.compile(r"Device (\d{1,3}): (\S.{0,100})", re.ASCII)
_MEMORY = re.compile(r"(PINNED|PAGEABLE) Memory Transfers.*")
_HEAD = re.compile(r"Transfer Size \(Bytes\)\s+Bandwidth\((?P<unit>[MG]B/s)\)", re.ASCII)
_ROW = re.compile(rf"(?P<size>\d{{1,12}})\s+(?P<rate>{NUMBER})", re.ASCII)
_SKIPPED = re.compile(
    r"!+Cumulative Bandwidth.*|Running on\.{3}|(?:Quick|Range|Shmoo) Mode|NOTE: The CUDA Samples.*|\.{2,}"
)
_RESULT = re.compile(r"Result = (?:PASS|FAIL)")
_FACTORS = {"MB/s": MEGABYTES_GBPS, "GB/s": GIGABYTES_GBPS}
_BINARY = Decimal(1 << 20) / 1_000_000
"""The unit of versions that divided by 2^20, in 10^6 B."""
_DECIMAL = "bandwidthTest: MB/s are taken as 10^6 B/s: a version that divided by 2^20 moved 4.9 % more"
_WAYS: dict[str, Direction] = {
    **dict.fromkeys(("Host to Device", "H2D"), "h2d"),
    **dict.fromkeys(("Device to Host", "D2H"), "d2h"),
    **dict.fromkeys(("Device to Device", "D2D"), "local"),
}


def read_cuda_bandwidth(lines: Lines, previous: Measured | None) -> Measured:
    """The tests from the next line on, to the first line of something else.

    Raises:
        InputError: A table is truncated or damaged.
    """
    tests: list[Measurement] = []
    names: list[str] = []
    way, memory, count, unit = "", "", 1, ""
    ended = undecided = False
    while line := lines.peek():
        if found := re.fullmatch(_TITLE, line, re.ASCII):
            way, memory, count, unit = found["way"], "", int(found["devices"]), ""
        elif found := _DEVICE.fullmatch(line):
            names.append(found[2])
        elif found := _MEMORY.fullmatch(line):
            memory = found[1]
        elif found := _HEAD.fullmatch(line):
            unit = found["unit"]
        elif found := re.fullmatch(_CSV, line, re.ASCII):
            pageable = found["memory"] not in (None, "Pinned")
            megabyte = _megabyte(found) if found["unit"] == "MB/s" else Decimal(1)
            undecided |= megabyte is None
            factor = _FACTORS[found["unit"]] * (megabyte or 1)
            tests.append(_test(found["to"], pageable, int(found["used"]), found["size"], found["rate"], factor))
        elif way and unit and line[0].isdigit():
            found = _ROW.fullmatch(line)
            if found is None or len(found["rate"].partition(".")[2]) != 1:
                lines.refuse(
                    line, "give a size and a bandwidth with one decimal: the file is truncated or damaged"
                )
            undecided |= unit == "MB/s"
            factor = _FACTORS[unit]
            tests.append(_test(way, memory == "PAGEABLE", count, found["size"], found["rate"], factor))
        elif _RESULT.fullmatch(line):
            ended = True
        elif not BEGINS[0].fullmatch(line) and not _SKIPPED.fullmatch(line):
            break
        lines.take()
    name = names[0] if len(set(names)) == 1 else previous.device if previous and not names else None
    notes = [*_notes(way, unit, tests, ended=ended), *([_DECIMAL] if undecided else [])]
    return Measured("bandwidthTest", None, tests, name, notes=notes)


def _megabyte(row: re.Match[str]) -> Decimal | None:
    """What MB are in a line with size, rate and time, in 10^6 B; None if both fit its rounded time."""
    rate, time = Decimal(row["rate"]) * 1_000_000, Decimal(row["time"])
    step = Decimal(10) ** -len(row["time"].partition(".")[2])
    fitting = [
        unit for unit in (Decimal(1), _BINARY) if abs(int(row["size"]) - time * rate * unit) <= step * rate * unit
    ]
    return fitting[0] if len(fitting) == 1 else None


def _test(way: str, pageable: bool, devices: int, size: str, rate: str, factor: Decimal) -> Measurement:
    setting = MeasuredSetting(
        tool="bandwidthTest",
        direction=_WAYS.get(way),
        counted="total" if devices > 1 else "one",
        engine="copy",
        size_bytes=int(size),
        state="pageable" if pageable and _WAYS.get(way) != "local" else None,
    )
    name = {"H2D": "Host to Device", "D2H": "Device to Host", "D2D": "Device to Device"}.get(way, way)
    return Measurement("bandwidthTest", name, setting, {"bandwidth": Decimal(rate) * factor})


def _notes(way: str, unit: str, tests: list[Measurement], *, ended: bool) -> Iterator[str]:
    if way and not unit:
        yield f"bandwidthTest: no table follows {way}: the text is cut there"
    elif tests and not ended:
        yield "bandwidthTest: no line with its result: later tests may be missing"
    if any(test.setting.state == "pageable" for test in tests):
        yield "bandwidthTest: memory was pageable: rates with pinned memory are higher"
