"""Parse sizes and ranges: 64, 4K, 1.5M; 64:1500, 64:1500:4, 64:4K:x2, 60,61,77."""

import re
from collections.abc import Sequence
from itertools import count, takewhile

from pcielab import _core
from pcielab.errors import InputError
from pcielab.wording import shown

MOST_BYTES = 2**63 - 1
"""The largest size."""
RATES_GBYTES_PER_S = {
    "GB/s": 1.0, "MB/s": 1e-3, "KB/s": 1e-6, "B/s": 1e-9, "TB/s": 1e3,
    "GiB/s": 1.073741824, "MiB/s": 1.048576e-3, "KiB/s": 1.024e-6,
    "Gb/s": 0.125, "Mb/s": 1.25e-4, "Tb/s": 125.0, "Gbit/s": 0.125, "Gbps": 0.125, "Mbps": 1.25e-4,
}  # fmt: skip
"""Units of rates, in GB/s."""
_RATE = re.compile(r"(\d{1,12}(?:\.\d{1,12})?) ?([A-Za-z/]{1,6})", re.ASCII)
MOST_SIZES = 100_000
"""Most sizes of one list, with its ranges expanded."""
RANGES = "give first:last, first:last:step or first:last:xFACTOR, first <= last"
"""The remedy for a wrong range."""
_COUNTS = re.compile(r"(\d{1,6})(?::(\d{1,6})(?::(\d{1,6}))?)?", re.ASCII)
_SIZE = re.compile(r"(\d{1,24}(?:\.\d{1,24})?)([KMG]?)B?", re.ASCII | re.IGNORECASE)
_FACTOR = re.compile(r"x([2-9]|[1-9]\d{1,8})", re.ASCII | re.IGNORECASE)
_DASHED = re.compile(rf"{_SIZE.pattern}-{_SIZE.pattern}(:.*)?", re.ASCII | re.IGNORECASE)
"""A range as some other tools write it: `64-1500`."""


def parse_bytes(text: str, option: str) -> int:
    """A size in bytes; K, M and G are powers of 1024 and may follow a decimal (`1.5M`)."""
    value = _core.bytes_of_text(text) if text.isascii() else None
    if value is None:
        raise InputError(
            f"{option}: {shown(text)} is not a size: give whole bytes above 0, for example 64, 4K or 1.5M"
        )
    if value > MOST_BYTES:
        raise InputError(f"{option} {text.strip()}: give at most {MOST_BYTES} bytes")
    return value


def parse_range(text: str, option: str) -> list[int]:
    """A list of sizes: single ones separated by commas, and ranges.

    `first:last` has every size from first to last, `first:last:step` adds step to each (64:1500:4), and
    `first:last:xFACTOR` multiplies each by a whole factor: 64:4K:x2 doubles from 64 to 4096.

    Raises:
        InputError: A part is neither a size nor a range, or there are more than `MOST_SIZES`.
    """
    values: list[int] = []
    for part in text.split(","):
        sizes = _part(part, option)
        if len(values) + len(sizes) > MOST_SIZES:
            raise InputError(
                f"{option}: {shown(part)} has {len(sizes)} sizes: give a step, for {MOST_SIZES} at most in all"
            )
        values.extend(sizes)
    return values


def parse_counts(text: str, option: str, most: int) -> list[int]:
    """A list of counts, 0 to `most`: `3`, `0,3,6`, `first:last` or `first:last:step`.

    Raises:
        InputError: A part is neither a count nor a range of counts.
    """
    counts: list[int] = []
    for part in text.split(","):
        found = _COUNTS.fullmatch(part.strip())
        first, last, step = (int(number) for number in found.groups("-1")) if found else (-1, -1, -1)
        last = first if last < 0 else last
        if not 0 <= first <= last <= most or step == 0:
            problem = f"{option}: {shown(part)} is not a count"
            raise _wrong_range(problem, f"give 0 to {most}, as in 3, 0,3,6 or 0:6")
        counts += range(first, last + 1, max(step, 1))
    return counts


def _part(text: str, option: str) -> Sequence[int]:
    if _DASHED.fullmatch(text.strip()):
        colon = text.strip().replace("-", ":", 1)
        raise _wrong_range(f"{option}: {shown(text)} is not a size", f"a range has a colon: give {colon}")
    first, *rest = text.split(":", 3)
    factor = _FACTOR.fullmatch(rest[1].strip()) if len(rest) == 2 else None
    if factor is None and len(rest) == 2 and rest[1].strip()[:1] in ("x", "X"):
        raise _wrong_range(f"{option}: {shown(text)} is not a range", "give a whole factor from 2, as in 64:4K:x2")
    ends = [parse_bytes(piece, option) for piece in (first, *rest[: 1 if factor else 3])]
    if len(ends) == 1:
        return ends
    if len(ends) > 3 or ends[1] < ends[0]:
        raise _wrong_range(f"{option}: {shown(text)} is not a range", RANGES)
    if factor is None:
        return range(ends[0], ends[1] + 1, ends[2] if len(ends) == 3 else 1)
    return list(takewhile(lambda size: size <= ends[1], (ends[0] * int(factor[1]) ** power for power in count())))


def _wrong_range(problem: str, remedy: str) -> InputError:
    error = InputError(f"{problem}: {remedy}")
    error.remedy = remedy
    return error


def parse_rate(text: str, option: str) -> float:
    """A rate in GB/s: `20GB/s`, `160 Gb/s`.

    Raises:
        InputError: It is not a positive number with a unit of rates.
    """
    found = _RATE.fullmatch(text.strip())
    unit = RATES_GBYTES_PER_S.get(found[2]) if found else None
    if found is None or unit is None or float(found[1]) == 0:
        raise InputError(f"{option}: {shown(text)} is not a rate: give a number with a unit, as 20GB/s or 160Gb/s")
    return float(found[1]) * unit
