"""Undo what mail, forums and editors do to a text of lspci: quoting, code fences, indentation, odd blanks.

Tabs that a forum turned into single blanks cannot be restored: `library.lspci` finds registers by their names.
"""

import re

SLOT = r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_QUOTE = r"(?: {0,3}>)+ ?"
_QUOTED_SLOT = re.compile(rf"^{_QUOTE}[ \t*`]*{SLOT} ", re.MULTILINE)
_QUOTES = re.compile(rf"^{_QUOTE}", re.MULTILINE)
_FENCES = re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE)
_BEFORE_SLOTS = re.compile(rf"^[ \t*`]+(?={SLOT} )", re.MULTILINE)


def as_printed(text: str) -> str:
    """The text as lspci printed it, as far as marks of quoting tell; it keeps the number of lines."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\xa0", " ")
    if _QUOTED_SLOT.search(text):
        text = _QUOTES.sub("", text)
    text = _BEFORE_SLOTS.sub("", _FENCES.sub("", text))
    return "\n".join(line.removeprefix("`").rstrip(" \t*`") for line in text.split("\n"))
