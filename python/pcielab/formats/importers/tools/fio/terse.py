"""Read terse lines of fio, versions 3, 4 and 5: numbers between semicolons, a line for each job or group.

A line has no block size, depth or engine. The block size is its bandwidth over its operations, if that is a power
of two to the last digit. Source: fio's HOWTO, "Terse output", and its `show_ddir_status_terse`.
"""

import re
from decimal import Decimal

from pcielab.formats.importers.tools.fio.json import OPERATIONS
from pcielab.formats.importers.tools.pasted import Lines
from pcielab.formats.importers.tools.writing import Measured, Measurement
from pcielab.kinds.tools.rows import MeasuredSetting

TERSE = re.compile(r"[2-5];(?:fio-|[^;]{1,80};\d).*")
"""A line of terse output; those of version 2 are refused."""
_VERSION = re.compile(r"fio-(3\.\S{1,40})", re.ASCII)
_NUMBER = re.compile(r"\d{1,18}(?:\.\d{1,9})?", re.ASCII)
_SHARE = re.compile(r"(\d{1,3}\.\d{6})%=(\d{1,12})", re.ASCII)
_WHICH = {"50.000000": "median", "95.000000": "p95", "99.000000": "p99", "99.900000": "p999"}
_HEAD, _TAIL = 5, 34
_PLAIN, _WITH_SAMPLES = 41, 47
_CLAT, _SHARES, _LAT = 8, 12, 32
"""Where the latencies of an operation begin: of completion, their percentiles, and whole ones."""
_US = 1000
_CUT = "the file is truncated or damaged; copy it again"


def read_terse(lines: Lines, previous: Measured | None) -> Measured:
    """The tests of the terse lines from the next one on.

    Raises:
        InputError: A line has too few fields, or a field is not a number.
    """
    tests: list[Measurement] = []
    version = previous.version if previous else None
    while TERSE.fullmatch(lines.peek()):
        fields = lines.peek().split(";")
        found = _VERSION.fullmatch(fields[1])
        if fields[0] == "2" or found is None:
            lines.refuse(lines.peek()[:20], "give a terse line of fio 3 in version 3, 4 or 5 (--terse-version=3)")
        version = found[1]
        tests += _tests(fields, lines)
        lines.take()
    return Measured("fio", version, tests, form="terse")


def _tests(fields: list[str], lines: Lines) -> list[Measurement]:
    width = _WITH_SAMPLES if fields[0] == "5" else _PLAIN
    operations = OPERATIONS if fields[0] in "45" else OPERATIONS[:2]
    least = _HEAD + width * len(operations) + _TAIL
    if len(fields) < least:
        lines.refuse(lines.peek()[:20], f"{len(fields)} of {least} fields: {_CUT}")
    name = fields[2][:60]
    if fields[4] != "0":
        message = f"fio: error {fields[4][:20]} of the job"
        return [Measurement(name, name, MeasuredSetting(tool="fio"), status="failed", message=message)]
    blocks = [fields[_HEAD + at * width :][:width] for at in range(len(operations))]
    done = [at for at, block in enumerate(blocks) if _number(block[0], lines)]
    tests = []
    for at in done:
        rate_kib, iops = (_number(blocks[at][index], lines) for index in (1, 2))
        times = _times(blocks[at], lines)
        setting = MeasuredSetting(
            tool="fio",
            direction=operations[at],
            beside="mixed" if len(done) > 1 else None,
            size_bytes=_block_bytes(rate_kib, iops),
            clock="clat" if times else None,
        )
        tests.append(
            Measurement(name, name, setting, {"bandwidth": rate_kib * 8192 / 10**9, "rate": iops, **times})
        )
    return tests


def _times(block: list[str], lines: Lines) -> dict[str, Decimal]:
    """The latencies of completion, ns."""
    keys = ("minimum", "maximum", "average", "deviation")
    found = {key: _number(block[_CLAT + at], lines) * _US for at, key in enumerate(keys)}
    if not found["average"]:
        return {}
    shares = [_SHARE.fullmatch(field) for field in block[_SHARES:_LAT]]
    return found | {_WHICH[one[1]]: Decimal(one[2]) * _US for one in shares if one and one[1] in _WHICH}


def _number(text: str, lines: Lines) -> Decimal:
    if not _NUMBER.fullmatch(text):
        lines.refuse(text[:20], f"give a number: {_CUT}")
    return Decimal(text)


def _block_bytes(rate_kib: Decimal, iops: Decimal) -> int | None:
    """The block size, if rate and operations a second, both rounded, give one power of two only."""
    if not iops or not rate_kib:
        return None
    average = rate_kib * 1024 / iops
    size = 1 << max(round(average).bit_length() - 1, 0)
    size = size if abs(size - average) < abs(2 * size - average) else 2 * size
    allowed = average * (Decimal("1.5") / iops + Decimal("1.5") / rate_kib)
    return size if abs(size - average) <= allowed and allowed < average / 100 else None
