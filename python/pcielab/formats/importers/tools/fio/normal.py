"""Read what fio prints for people: the banner of each job, and the results of each job or group.

    rr: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=32
    rr: (groupid=0, jobs=1): err= 0: pid=8021: Fri Nov 27 12:50:56 2026
      read: IOPS=2056k, BW=8031MiB/s (8421MB/s)(8039MiB/1001msec)
        clat (nsec): min=90, max=12331k, avg=313.89, stdev=39459.11

Rates have the four digits that fio prints: the bandwidth is the first of its two, and `IOPS=2056k` are 2,056,000.
The status of the group at the end has the sums of its jobs, and none of its own.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from pcielab.formats.importers.tools.fio.json import pattern_of
from pcielab.formats.importers.tools.pasted import Lines
from pcielab.formats.importers.tools.writing import Measured, Measurement
from pcielab.kinds.tools.rows import Direction, MeasuredSetting

_BANNER = re.compile(
    r"(?P<name>\S.{0,200}?): \(g=(?P<group>\d{1,6})\): rw=(?P<rw>[a-z:0-9]{2,20}), bs=(?P<bs>.{5,160}), "
    r"ioengine=(?P<io_engine>[\w-]{1,40}), iodepth=(?P<depth>\d{1,7})",
    re.ASCII,
)
_JOB = re.compile(
    r"(?P<name>\S.{0,200}?): \(groupid=(?P<group>\d{1,6}), jobs=(?P<jobs>\d{1,6})\): "
    r"err=\s*(?P<error>\d{1,6})\b.*",
    re.ASCII,
)
BEGINS = (_BANNER, _JOB)
"""Lines with which a report begins, or goes on."""
_PLAIN = r"\d{1,12}(?:\.\d{1,4})?"
_SCALED = rf"{_PLAIN}[kMGTP]?"
_MEAN = r"\d{1,15}\.\d\d"
_RATES = re.compile(
    rf"(?P<way>read|write|trim)\s*: IOPS=(?P<iops>{_SCALED}), BW=(?P<rate>{_PLAIN})(?P<unit>[kKMGTP]?i?B)/s "
    rf"\({_PLAIN}[kKMGTP]?i?B/s\)\({_PLAIN}[kKMGTP]?i?B/\d{{1,12}}msec\).*",
    re.ASCII,
)
_TIMES = re.compile(
    rf"(?P<clock>slat|clat|lat) \((?P<unit>nsec|usec|msec|sec)\)\s*: min=\s*(?P<min>{_SCALED}), "
    rf"max=\s*(?P<max>{_SCALED}), avg=\s*(?P<avg>{_MEAN}), stdev=\s*(?P<dev>{_MEAN})",
    re.ASCII,
)
_PERCENTILES = re.compile(r"(?P<clock>clat|lat) percentiles \((?P<unit>nsec|usec|msec|sec)\):", re.ASCII)
_PERCENTILE = re.compile(rf"(?P<share>\d{{1,3}}\.\d\d)th=\[\s*(?P<time>{_SCALED})\]", re.ASCII)
_WHICH = {"50.00": "median", "95.00": "p95", "99.00": "p99", "99.90": "p999"}
_BLOCK = re.compile(
    r"\((?P<of>[RWT])\) (?P<least>\d{1,9}(?:\.\d{1,4})?)(?P<unit>[KMG]i?)?B-"
    r"(?P<most>[\d.]{1,12})(?P<to>[KMG]i?)?B",
    re.ASCII,
)
_LETTERS = {"read": "R", "write": "W", "trim": "T"}
_POWERS = "KMGTP"
_NS = {"nsec": 1, "usec": 10**3, "msec": 10**6, "sec": 10**9}
_OF_REPORT = re.compile(
    r"fio-\d.*|Starting \d+ .*|\.\.\.|Jobs: \d.*|\| .*"
    r"|(?:bw|iops|lat|cpu|IO depths|submit|complete|issued|latency)\b.*"
    r"|Run status group.*|(?:READ|WRITE|TRIM): .*|Disk stats.*|\S{1,40}: (?:ios|aggrios)=.*|fsync/.*|sync \(.*"
    r"|\S{1,200}: Laying out IO file.*",
    re.ASCII,
)


@dataclass
class _Operation:
    """An operation of a job while its lines are read."""

    rates: re.Match[str]
    times: dict[str, dict[str, Decimal]] = field(default_factory=dict)
    percentiles: dict[str, dict[str, Decimal]] = field(default_factory=dict)


@dataclass
class _Results:
    """A job while its lines are read."""

    head: re.Match[str]
    operations: list[_Operation] = field(default_factory=list)
    is_whole: bool = False


def read_normal(lines: Lines, previous: Measured | None) -> Measured:
    """The tests of the report that begins with the next line.

    Raises:
        InputError: A line of results lost letters.
    """
    banners: dict[tuple[str, str], re.Match[str]] = {}
    jobs: list[_Results] = []
    version, clock = previous.version if previous else None, ""
    while line := lines.peek():
        if found := _BANNER.fullmatch(line):
            banners.setdefault((found["name"], found["group"]), found)
        elif found := _JOB.fullmatch(line):
            jobs.append(_Results(found))
        elif jobs and (found := _RATES.fullmatch(line)):
            jobs[-1].operations.append(_Operation(found))
        elif jobs and jobs[-1].operations and (found := _TIMES.fullmatch(line)):
            jobs[-1].operations[-1].times[found["clock"]] = _times(found)
        elif found := _PERCENTILES.fullmatch(line):
            clock = f"{found['clock']} {found['unit']}"
        elif clock and jobs and jobs[-1].operations and "th=[" in line:
            name, unit = clock.split()
            shares = jobs[-1].operations[-1].percentiles.setdefault(name, {})
            for one in _PERCENTILE.finditer(line):
                if one["share"] in _WHICH:
                    shares[_WHICH[one["share"]]] = _scaled(one["time"]) * _NS[unit]
        elif re.match(r"(?:read|write|trim)\s*: ", line) and jobs:
            lines.refuse(
                line,
                "give IOPS, BW and the bytes in brackets, of fio 3: the file is truncated, or of another version",
            )
        elif found := re.fullmatch(r"fio-(3\.\S{1,40})", line, re.ASCII):
            version = found[1]
        elif not _OF_REPORT.fullmatch(line):
            break
        elif jobs and line.startswith("issued"):
            jobs[-1].is_whole = True
        lines.take()
    entries = Counter(job.head["group"] for job in jobs)
    tests = [test for job in jobs for test in _tests(job, banners, alone=entries[job.head["group"]] == 1)]
    notes = [
        f"fio: the results of {job.head['name'][:60]} end before its line `issued`: latencies may be missing"
        for job in jobs
        if not job.is_whole and job.operations
    ]
    notes += [] if jobs else ["fio: the banner of a job without its results"]
    return Measured("fio", version, tests, notes=notes, form="normal")


def _tests(
    job: _Results, banners: Mapping[tuple[str, str], re.Match[str]], *, alone: bool
) -> Iterator[Measurement]:
    head = job.head
    name = head["name"][:60]
    banner = banners.get((head["name"], head["group"]))
    if head["error"] != "0":
        message = f"fio: error {head['error']} of the job"
        yield Measurement(name, name, MeasuredSetting(tool="fio"), status="failed", message=message)
        return
    for one in job.operations:
        way: Direction = one.rates["way"]  # type: ignore[assignment]
        clock = next((key for key in ("clat", "lat") if key in one.percentiles), None) or next(
            (key for key in ("clat", "lat") if key in one.times), None
        )
        setting = MeasuredSetting(
            tool="fio",
            direction=way,
            beside="others" if not alone else "mixed" if len(job.operations) > 1 else None,
            size_bytes=_block_bytes(banner["bs"], way) if banner else None,
            outstanding=int(banner["depth"]) if banner else None,
            queues=int(head["jobs"]),
            pattern=pattern_of(banner["rw"]) if banner else None,
            io_engine=banner["io_engine"] if banner else None,
            clock="clat" if clock == "clat" else "lat" if clock else None,
        )
        metrics = {
            "bandwidth": _bytes(one.rates["rate"], one.rates["unit"]) * 8 / 10**9,
            "rate": _scaled(one.rates["iops"]),
            **(one.times.get(clock, {}) if clock else {}),
            **(one.percentiles.get(clock, {}) if clock else {}),
        }
        yield Measurement(name, name, setting, metrics)


def _times(found: re.Match[str]) -> dict[str, Decimal]:
    keys = {"min": "minimum", "max": "maximum", "avg": "average", "dev": "deviation"}
    return {metric: _scaled(found[key]) * _NS[found["unit"]] for key, metric in keys.items()}


def _scaled(text: str) -> Decimal:
    """A number with fio's decimal suffix: `2056k`."""
    powers = {"k": 3, "M": 6, "G": 9, "T": 12, "P": 15}
    return Decimal(text[:-1]) * Decimal(10) ** powers[text[-1]] if text[-1] in powers else Decimal(text)


def _bytes(text: str, unit: str) -> Decimal:
    """A number of bytes with its unit: MiB, or MB of 10^6 B."""
    power = _POWERS.find(unit[0].upper()) + 1 if len(unit) > 1 else 0
    return _scaled(text) * Decimal(1024 if "i" in unit else 1000) ** power


def _block_bytes(text: str, way: str) -> int | None:
    """The block size of an operation in a banner; None if it is a range."""
    for one in _BLOCK.finditer(text):
        least, most = ((one[key], one[unit] or "") for key, unit in (("least", "unit"), ("most", "to")))
        if one["of"] == _LETTERS[way]:
            size = _bytes(least[0], f"{least[1]}B")
            return int(size) if least == most and size == int(size) else None
    return None
