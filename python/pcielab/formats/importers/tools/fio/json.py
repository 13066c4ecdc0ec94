"""Read the JSON of fio 3 (`fio --output-format=json`, or json+).

Each operation of a job becomes a test of the store: its bandwidth, its operations a second, and its latencies.
What the options of a job do not say, like a block size that varies, stays unknown. With `group_reporting`, fio
adds up the jobs of a group under the options of the first. Source: fio's HOWTO, "JSON output".

Python alone reads it, by pydantic.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pcielab.errors import refusal
from pcielab.formats.importers.tools.writing import Measured, Measurement
from pcielab.kinds.tools.rows import MeasuredSetting
from pcielab.library.validation import checked
from pcielab.wording import shown

_VERSION = re.compile(r"fio-(3\.\d{1,3}(?:[.\-][\w.\-]{1,40})?)", re.ASCII)
_SIZE = re.compile(r"(\d{1,12})([kmgt]?)(?:i?b)?", re.ASCII | re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_WHOLE = re.compile(r"\d{1,7}", re.ASCII)
_PERCENTILES = {"50.000000": "median", "95.000000": "p95", "99.000000": "p99", "99.900000": "p999"}
OPERATIONS: tuple[Literal["read", "write", "trim"], ...] = ("read", "write", "trim")
"""Operations, in the order in which fio reports them."""
_SEQUENTIAL = ("read", "write", "trim", "rw", "readwrite", "trimwrite")
_RANDOM = ("randread", "randwrite", "randtrim", "randrw", "randtrimwrite")
_VARYING_SIZES = ("bsrange", "bssplit", "bs_unaligned", "blocksize_range")
_NAMED = 60

_Number = Annotated[float, Field(ge=0, le=1e18)]
_Count = Annotated[int, Field(ge=0, le=10**18)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, frozen=True, populate_by_name=True)


class _Times(_Part):
    """Latencies in ns."""

    min: _Number = 0
    max: _Number = 0
    mean: _Number = 0
    stddev: _Number = 0
    percentile: dict[str, _Number] = {}


class _Operation(_Part):
    total_ios: _Count
    io_bytes: _Count
    bw_bytes: _Number
    iops: _Number
    clat_ns: _Times | None = None
    lat_ns: _Times | None = None


class _Job(_Part):
    jobname: str
    error: int
    groupid: int = 0
    options: dict[str, Any] = Field(default={}, alias="job options")
    read: _Operation | None = None
    write: _Operation | None = None
    trim: _Operation | None = None


class _File(_Part):
    version: str = Field(alias="fio version")
    jobs: list[_Job]
    options: dict[str, Any] = Field(default={}, alias="global options")


def read_json(content: Any, where: str) -> Measured:
    """The tests in the JSON of fio; `where` is for errors.

    Raises:
        InputError: It is foreign or damaged.
    """
    _check_version(content, where)
    found = checked(_File, content, where)
    options = [{**found.options, **job.options} for job in found.jobs]
    grouped = _grouped(options, found.jobs)
    alone = _alone(options, grouped)
    tests = [
        test
        for index, job in enumerate(found.jobs)
        for test in _tests(
            options[index], job, f"{where}: jobs.{index}", grouped=grouped[index], alone=alone[index]
        )
    ]
    return Measured("fio", found.version.removeprefix("fio-"), tests, form="json")


def _check_version(content: Mapping[str, Any], where: str) -> None:
    """Refuse another version before its keys, which may differ."""
    version = content.get("fio version")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise refusal(
            "unsupported", f"{where}: fio version is {shown(version)}: give the JSON of fio 3, like fio-3.33"
        )


def _grouped(options: Sequence[Mapping[str, Any]], jobs: Sequence[_Job]) -> list[bool]:
    """Whether each entry adds up the clones of its job.

    fio 3.33 and others leave out an option `group_reporting` without a value. Then a job of several clones that
    has one entry only is a group.
    """
    entries = Counter((job.jobname, job.groupid) for job in jobs)
    return [
        str(one["group_reporting"]) != "0"
        if "group_reporting" in one
        else (_whole(one.get("numjobs", 1)) or 1) > 1 and entries[job.jobname, job.groupid] == 1
        for one, job in zip(options, jobs, strict=True)
    ]


def _alone(options: Sequence[Mapping[str, Any]], grouped: Sequence[bool]) -> list[bool]:
    """Whether each entry ran without another: a job waits for those before it only with `stonewall`."""
    batches: list[list[int]] = []
    for index, one in enumerate(options):
        if not batches or "stonewall" in one or "wait_for_previous" in one:
            batches.append([])
        batches[-1].append(index)
    clones = [
        str(one.get("numjobs", "1")) != "1" and not is_group
        for one, is_group in zip(options, grouped, strict=True)
    ]
    return [len(batch) == 1 and not clones[index] for batch in batches for index in batch]


def _tests(
    options: Mapping[str, Any], job: _Job, where: str, *, grouped: bool, alone: bool
) -> Iterator[Measurement]:
    """A test for each operation that a job carried out."""
    done = [name for name in OPERATIONS if (one := getattr(job, name)) is not None and one.total_ios]
    name = job.jobname[:_NAMED]
    if job.error:
        setting = MeasuredSetting(tool="fio")
        yield Measurement(name, name, setting, status="failed", message=f"fio: error {job.error} of the job")
        return
    for direction in done:
        operation: _Operation = getattr(job, direction)
        _check_sums(operation, f"{where}.{direction}")
        clock, times = _times(operation)
        setting = MeasuredSetting(
            tool="fio",
            direction=direction,
            beside="others" if not alone else "mixed" if len(done) > 1 else None,
            size_bytes=_block_bytes(options, OPERATIONS.index(direction), operation),
            outstanding=_whole(options.get("iodepth")),
            queues=_whole(options.get("numjobs", 1)) if grouped else 1,
            pattern=_pattern(options),
            io_engine=_word(options.get("ioengine")),
            access=_access(options),
            clock=clock,
        )
        metrics: dict[str, Decimal | int] = {
            "bandwidth": Decimal(repr(operation.bw_bytes)) * 8 / 10**9,
            "rate": Decimal(repr(operation.iops)),
            "transactions": operation.total_ios,
            "bytes": operation.io_bytes,
        }
        yield Measurement(name, name, setting, metrics | times)


def _check_sums(operation: _Operation, where: str) -> None:
    """Refuse numbers that lost digits: a bandwidth is the operations a second times their average size."""
    expected = operation.iops * operation.io_bytes / operation.total_ios
    if abs(operation.bw_bytes - expected) > 0.05 * max(expected, operation.bw_bytes) + 1024:
        raise refusal(
            "damaged",
            f"{where}: bw_bytes is {operation.bw_bytes:g}, but iops, io_bytes and total_ios give {expected:g}: "
            "the file is damaged; copy it again",
        )


def _times(operation: _Operation) -> tuple[Literal["clat", "lat"] | None, dict[str, Decimal]]:
    """The latencies with percentiles: of completion, unless the job asked for others; their clock."""
    clocks: tuple[tuple[Literal["clat", "lat"], _Times | None], ...] = (
        ("clat", operation.clat_ns),
        ("lat", operation.lat_ns),
    )
    there = [(clock, times) for clock, times in clocks if times is not None and times.mean > 0]
    if not there:
        return None, {}
    clock, times = next((one for one in there if one[1].percentile), there[0])
    found = {"average": times.mean, "minimum": times.min, "maximum": times.max, "deviation": times.stddev}
    found |= {metric: times.percentile[key] for key, metric in _PERCENTILES.items() if key in times.percentile}
    return clock, {metric: Decimal(repr(value)) for metric, value in found.items()}


def _block_bytes(options: Mapping[str, Any], nth: int, operation: _Operation) -> int | None:
    """The block size of an operation, by its place in `bs=read,write,trim`; None if unknown or not one size.

    A size that is not the average of the operation is that of another job of its group.
    """
    if any(key in options for key in _VARYING_SIZES):
        return None
    given = [part.strip() for part in str(options.get("bs", options.get("blocksize", ""))).split(",")]
    # An omitted size is that of the operation before it.
    text = next((part for part in reversed(given[: nth + 1]) if part), "")
    found = _SIZE.fullmatch(text)
    if found is None:
        return None
    base = 1000 if str(options.get("kb_base")) == "1000" else 1024
    size = int(found[1]) * base ** _POWERS[found[2].lower()]
    average = operation.io_bytes / operation.total_ios
    return size if size and abs(size - average) <= size / 100 else None


def _pattern(options: Mapping[str, Any]) -> Literal["sequential", "random"] | None:
    return pattern_of(str(options.get("rw", options.get("readwrite", ""))))


def pattern_of(word: str) -> Literal["sequential", "random"] | None:
    """The pattern of a word of `rw`: `randread`, `rw:8`."""
    plain = word.partition(":")[0]
    return "sequential" if plain in _SEQUENTIAL else "random" if plain in _RANDOM else None


def _access(options: Mapping[str, Any]) -> Literal["direct", "buffered"] | None:
    """Whether the page cache may answer; None if the options do not say."""
    for key, direct in (("direct", "direct"), ("buffered", "buffered")):
        word = str(options.get(key, ""))
        if word in ("0", "1"):
            return "direct" if (word == "1") == (direct == "direct") else "buffered"
    return None


def _whole(value: object) -> int | None:
    text = str(value)
    return int(text) or None if _WHOLE.fullmatch(text) else None


def _word(value: object) -> str | None:
    return value[:_NAMED] if isinstance(value, str) and value.isprintable() else None
