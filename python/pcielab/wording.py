"""How values and names stand in messages, whatever they are: on one line, short, without control characters."""

import reprlib

MOST_LETTERS = 80
"""A name that is longer is no name that anybody meant: it is cut, and compared with no other."""


def shown(value: object) -> str:
    """A value as it stands in a message: on one line, cut where it is long, control characters as escapes."""
    try:
        return _SHORT.repr(value)
    except ValueError:
        return "a number of thousands of digits"


def named(key: str) -> str:
    """A key or name as it stands in a message: as it is where that is plain and short."""
    return key if key.isprintable() and len(key) <= MOST_LETTERS else shown(key)


def printable(text: str, *, lines: bool = False) -> str:
    """A text that a terminal only shows: blanks of any kind become spaces, other unprintable characters `?`.

    A terminal obeys control characters: they set its title, clear it, or send what is on it back as input.
    Characters that turn the direction of writing, have no width, or have no encoding are replaced as well.

    Args:
        text: Anything.
        lines: Keep line ends.
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


def _stand_in(letter: str) -> str:
    return " " if letter.isspace() and letter not in _TERMINAL_SPACES else "?"


_TERMINAL_SPACES = "\v\f\r\x1c\x1d\x1e\x1f\x85"
"""Blanks that move the cursor, or are control characters."""

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = MOST_LETTERS
_SHORT.maxdict = _SHORT.maxlist = _SHORT.maxlevel = 4
