"""Undo what mail, forums, terminals and editors do to a text of lspci.

They quote it, fence it, indent it, number it, escape it, or put a prompt, a bar or the sign of a difference before
its lines. Tabs that a forum turned into single blanks cannot be restored: `library.lspci` finds registers by their
names.
"""

import html
import re
from collections import Counter

SLOT = r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_ANY_SLOT = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
_QUOTE = r"(?: {0,3}>)+ ?"
_QUOTED_SLOT = re.compile(rf"^{_QUOTE}[ \t*`]*{_ANY_SLOT}[ /]", re.MULTILINE)
_QUOTES = re.compile(rf"^{_QUOTE}", re.MULTILINE)
_FENCES = re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE)
_BEFORE_SLOTS = re.compile(rf"^[ \t*`]+(?={_ANY_SLOT}[ /])", re.MULTILINE)
_UPPER_SLOT = re.compile(rf"^{_ANY_SLOT}(?=[ /])", re.MULTILINE)
_PROMPT = re.compile(rf"^[^\n]{{0,80}}?[#$%>][ \t]+(?={_ANY_SLOT} [A-Z][^\n:]{{2,80}}:)", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_SPACES = str.maketrans({**dict.fromkeys("\u00a0\u2002\u2003\u2007\u2009\u202f\u3000", " "), "\u200b": None})
_TAGS = re.compile(
    r"</?(?:pre|code|p|div|span|td|tr|table|tbody|b|i|em|strong|font|blockquote)(?: [^<>]{0,200})?>"
)
_BREAKS = re.compile(r"<br ?/?>\n?")
_ENTITY = re.compile(r"&(?:lt|gt|amp|nbsp|quot|#\d{1,5}|#x[0-9a-fA-F]{1,4});")
_MARK = re.compile(rf"^[ \t]{{0,3}}(?P<mark>[|│┃#;!%:]{{1,3}})[ \t]?[*`]*{_ANY_SLOT}[ /]", re.MULTILINE)
_STARTS_WITH_SLOT = re.compile(_ANY_SLOT)
_NUMBERED = re.compile(r"^ {0,6}\d{1,6}[\t:] ?")
_MOST_LETTERS_OF_A_LINE = 2000
_STARTS = re.compile(
    rf"(?<!\s)\s++(?=(?:{_ANY_SLOT} [A-Z][A-Za-z -]{{3,40}}(?: \[[0-9a-f]{{4}}\])?: )|"
    r"Capabilities: \[|Kernel driver in use:|Bus: primary=|Control: I/O|"
    r"(?:Dev|Lnk|Slt|Root)(?:Cap|Ctl|Sta)\d?:|"
    r"(?:UESta|UEMsk|UESvrt|CESta|CEMsk|AERCap|ACSCap|ACSCtl|L1SubCap|L1SubCtl1|DpcSta|DpcCtl|LaneErrStat):)"
)


def as_printed(text: str) -> str:
    """The text as lspci printed it, as far as marks of copying tell; it keeps the number of lines where it can."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").translate(_SPACES)
    text = _unescaped(_COLOUR.sub("", text))
    text = _both_sides(_unmarked(text))
    if _QUOTED_SLOT.search(text):
        text = _QUOTES.sub("", text)
    text = _BEFORE_SLOTS.sub("", _PROMPT.sub("", _FENCES.sub("", text)))
    text = _UPPER_SLOT.sub(lambda found: found[0].lower(), text)
    lines = [line.removeprefix("`").rstrip(" \t*`") for line in text.split("\n")]
    return "\n".join(_unfolded(line) for line in lines)


def _unescaped(text: str) -> str:
    """Line ends and tabs of JSON, and characters of HTML, as themselves."""
    if text.count("\\n") > 4 * text.count("\n"):
        text = (
            text.replace("\\r", "")
            .replace("\\n", "\n")
            .replace("\\t", "\t")
            .replace('\\"', '"')
            .replace("\\/", "/")
        )
    if _ENTITY.search(text) or "<br" in text or "<pre" in text or "</p>" in text:
        text = html.unescape(_TAGS.sub("", _BREAKS.sub("\n", text))).translate(_SPACES)
    return text


def _unmarked(text: str) -> str:
    """The text without the bar, comment sign or number before each of its lines."""
    marks = Counter(found["mark"] for found in _MARK.finditer(text))
    if marks:
        mark = re.escape(marks.most_common(1)[0][0])
        text = re.sub(rf"^[ \t]{{0,3}}{mark} ?", "", text, flags=re.MULTILINE)
    lines = text.split("\n")
    shown = [line for line in lines if line.strip()]
    # A hex dump has numbers before its lines, too, but not before all.
    if len(shown) > 2 and all(_NUMBERED.match(line) and not _STARTS_WITH_SLOT.match(line) for line in shown):
        text = "\n".join(_NUMBERED.sub("", line, count=1) for line in lines)
    return text


def _both_sides(text: str) -> str:
    """Both states of a unified difference, one after the other; any other text unchanged."""
    if not (re.search(r"^@@ -\d", text, re.MULTILINE) or re.search(r"^--- .*\n\+\+\+ ", text, re.MULTILINE)):
        return text
    lines = [line for line in text.split("\n") if not line.startswith(("---", "+++", "@@", "diff ", "index "))]
    sides = ("\n".join(line[1:] for line in lines if not line.startswith(other)) for other in ("+", "-"))
    return "\n\n".join(sides)


def _unfolded(line: str) -> str:
    """The lines of a line that holds a whole function, as where a form took the line ends away."""
    if len(line) < 200 or len(line) > _MOST_LETTERS_OF_A_LINE * 500 or len(_STARTS.findall(line)) < 3:
        return line
    return _STARTS.sub("\n", line)
