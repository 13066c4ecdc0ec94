"""Parse sizes and ranges: 64, 4K, 1.5M; 64:1500, 64:1500:4, 60,61,77."""

import re
from fractions import Fraction

from pcielab.errors import InputError
from pcielab.wording import shown

MOST_BYTES = 2**63 - 1
"""The largest size."""
MOST_SIZES = 100_000
"""Most sizes of one list, with its ranges expanded."""
_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE = re.compile(r"(\d{1,24}(?:\.\d{1,24})?)([KMG]?)B?", re.ASCII | re.IGNORECASE)


def parse_bytes(text: str, option: str) -> int:
    """A size in bytes; K, M and G are powers of 1024 and may follow a decimal (`1.5M`)."""
    found = _SIZE.fullmatch(text.strip())
    value = Fraction(found[1]) * _FACTORS[found[2].upper()] if found else Fraction(0)
    if value < 1 or value.denominator != 1:
        raise InputError(
            f"{option}: {shown(text)} is not a size: give whole bytes above 0, for example 64, 4K or 1.5M"
        )
    if value > MOST_BYTES:
        raise InputError(f"{option} {text.strip()}: give at most {MOST_BYTES} bytes")
    return int(value)


def parse_range(text: str, option: str) -> list[int]:
    """A list of sizes: single ones separated by commas, and ranges first:last[:step], both ends included."""
    values: list[int] = []
    for part in text.split(","):
        sizes = _part(part, option)
        if len(values) + len(sizes) > MOST_SIZES:
            raise InputError(
                f"{option}: {shown(part)} has {len(sizes)} sizes: give a step, for {MOST_SIZES} at most in all"
            )
        values.extend(sizes)
    return values


def _part(text: str, option: str) -> range:
    ends = [parse_bytes(piece, option) for piece in text.split(":", 3)]
    if len(ends) == 1:
        return range(ends[0], ends[0] + 1)
    if len(ends) > 3 or ends[1] < ends[0]:
        raise InputError(
            f"{option}: {shown(text)} is not a range: give first:last or first:last:step, first <= last"
        )
    return range(ends[0], ends[1] + 1, ends[2] if len(ends) == 3 else 1)
