"""Sizes and ranges as people type them: 64, 4K, 1.5M; 64:1500, 64:1500:4, 60,61,77."""

from pcielab.errors import InputError

_MOST_SIZES = 100_000
_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_bytes(text: str, option: str) -> int:
    """A size in bytes; K, M and G are powers of 1024 and may follow a decimal (`1.5M`)."""
    cleaned = text.strip().upper().removesuffix("B")
    factor = _FACTORS.get(cleaned[-1:] if cleaned[-1:].isalpha() else "")
    digits = cleaned.rstrip("KMG")
    try:
        value = float(digits) * (factor or 0)
    except ValueError:
        value = 0.0
    if value < 1 or value != int(value):
        raise InputError(f"{option}: {text!r} is not a size: give whole bytes above 0, such as 64, 4K or 1.5M")
    return int(value)


def parse_range(text: str, option: str) -> list[int]:
    """A list of sizes: single ones separated by commas, and ranges first:last[:step], both ends included."""
    values: list[int] = []
    for part in text.split(","):
        ends = [parse_bytes(piece, option) for piece in part.split(":")]
        if len(ends) == 1:
            values.append(ends[0])
        elif len(ends) in (2, 3) and ends[1] >= ends[0]:
            sizes = range(ends[0], ends[1] + 1, ends[2] if len(ends) == 3 else 1)
            if len(sizes) > _MOST_SIZES:
                raise InputError(
                    f"{option}: {part!r} has {len(sizes)} sizes: give a step, for {_MOST_SIZES} at most"
                )
            values.extend(sizes)
        else:
            raise InputError(
                f"{option}: {part!r} is not a range: give first:last or first:last:step, first <= last"
            )
    return values
