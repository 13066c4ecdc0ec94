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


def printable(text: str) -> str:
    """A text of somebody else's as it stands in a message: what cannot be printed is a question mark."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = MOST_LETTERS
_SHORT.maxdict = _SHORT.maxlist = _SHORT.maxlevel = 4
