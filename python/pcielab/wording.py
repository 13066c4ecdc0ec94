"""Values and names in messages: on one line, short, without control characters."""

import reprlib

MOST_LETTERS = 80
"""Longer names are truncated, and never compared with known ones."""
_LONG_NS = 10_000.0
_WHOLE_FROM = 100.0


def shown(value: object) -> str:
    """A value in a message: on one line, truncated, control characters escaped."""
    try:
        return _SHORT.repr(value)
    except ValueError:
        return "a number of thousands of digits"


def named(key: str) -> str:
    """A key or name in a message: unchanged if it is printable and short."""
    return key if key.isprintable() and len(key) <= MOST_LETTERS else shown(key)


def printable(text: str, *, lines: bool = False) -> str:
    """A text that is safe on a terminal: blanks of any kind become spaces, other unprintable characters `?`.

    Control characters could set a terminal's title, clear it, or send its content back as input. Characters that
    change the direction of writing, have no width, or have no encoding are replaced as well. `lines` keeps line
    ends.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or (lines and letter == "\n") else _stand_in(letter) for letter in text
    )


def byte_size(count: int) -> str:
    """A number of bytes in the largest unit that divides it: `64 KiB`, `1536 KiB`, `777 B`."""
    for unit, unit_bytes in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count and not count % unit_bytes:
            return f"{count // unit_bytes} {unit}"
    return f"{count} B"


def time_unit(longest_ns: float) -> tuple[str, float]:
    """The unit of a column or axis of times, by the longest of them, and its length in ns: us from 10 us on."""
    return ("us", 1e3) if longest_ns >= _LONG_NS else ("ns", 1.0)


def time_text(ns: float) -> str:
    """A time for people: `71 us`, `2,543 ns`, `45.2 ns`."""
    unit, unit_ns = time_unit(ns)
    time = ns / unit_ns
    return f"{time:,.0f} {unit}" if unit == "us" or time >= _WHOLE_FROM else f"{time:.3g} {unit}"


def _stand_in(letter: str) -> str:
    return " " if letter.isspace() and letter not in _TERMINAL_SPACES else "?"


_TERMINAL_SPACES = "\v\f\r\x1c\x1d\x1e\x1f\x85"
"""Blanks that move the cursor or are control characters."""

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = MOST_LETTERS
_SHORT.maxdict = _SHORT.maxlist = _SHORT.maxlevel = 4
