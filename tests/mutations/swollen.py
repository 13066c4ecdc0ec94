"""Texts swollen to as much as a MiB: repeated, nested, with long words, numbers of many digits or large ones.

Random changes of a small file rarely make a reader work. Each text here is one that a reader takes, grown in a way
that makes some readers slow: many entries, alike or each with a number of its own, one long line, deep brackets.
"""

import random
import re
from collections.abc import Callable

Draw = random.Random
MOST_BYTES = 1 << 20
_FILLED = [1 << 14, 1 << 17, MOST_BYTES, MOST_BYTES, MOST_BYTES]
_COPIES = [100, 1_000, 8_000, 10**9, 10**9]
"""Bytes that are filled, and most copies: a file may be refused by its length or its entries, or just not be."""
_TOKEN = re.compile(rb"[A-Za-z_][\w-]*|\d+(?:\.\d+)?")
_NUMBER = re.compile(rb"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
_BETWEEN = [b"", b" ", b",", b", ", b".", b":", b"/", b";", b"\n", b"\t", b"="]
_BRACKETS = [
    (b"[", b"]"),
    (b"{", b"}"),
    (b"(", b")"),
    (b"<a>", b"</a>"),
    (b'"', b'"'),
    (b"'''", b"'''"),
    (b"#", b""),
]
_LARGE = [
    b"999",
    b"65535",
    b"1000000",
    b"4294967295",
    b"1e9",
    b"1e15",
    b"9223372036854775807",
    b"1e300",
    b"0.000001",
]


def _filled(draw: Draw, piece: bytes, rest: int) -> int:
    """A number of copies of a piece beside `rest` other bytes."""
    room = max(draw.choice(_FILLED) - rest, 0)
    return max(1, min(room // max(len(piece), 1), draw.choice(_COPIES)))


def _lines(draw: Draw, text: bytes) -> tuple[bytes, bytes, bytes]:
    """A few lines, with what is before and behind them."""
    lines = text.splitlines(keepends=True) or [b"\n"]
    first = draw.randrange(len(lines))
    last = first + draw.choice([1, 1, 1, 2, 4, 12, len(lines)])
    return b"".join(lines[:first]), b"".join(lines[first:last]), b"".join(lines[last:])


def repeated(draw: Draw, text: bytes) -> bytes:
    """Repeat a few lines."""
    before, piece, behind = _lines(draw, text)
    return before + piece * _filled(draw, piece, len(before) + len(behind)) + behind


def numbered(draw: Draw, text: bytes) -> bytes:
    """Repeat a few lines, with another word or number in each."""
    before, piece, behind = _lines(draw, text)
    tokens = [*dict.fromkeys(_TOKEN.findall(piece))]
    if not tokens:
        return repeated(draw, text)
    chosen = draw.sample(tokens, min(draw.choice([1, 1, 2, 3]), len(tokens)))
    template = piece.replace(b"%", b"%%")
    for token in chosen:
        template = template.replace(token, b"%(n)d" if token.isdigit() else token.replace(b"%", b"%%") + b"%(n)d")
    count = _filled(draw, piece + b"0" * 5 * len(chosen), len(before) + len(behind))
    # A token within another's replacement may have made one that is none.
    try:
        return before + b"".join(template % {b"n": number} for number in range(count)) + behind
    except (ValueError, KeyError, TypeError):
        return repeated(draw, text)


def stretched(draw: Draw, text: bytes) -> bytes:
    """Repeat a word, with something between."""
    found = [*_TOKEN.finditer(text)]
    if not found:
        return repeated(draw, text)
    token = draw.choice(found)
    piece = draw.choice(_BETWEEN) + token[0]
    return text[: token.end()] + piece * _filled(draw, piece, len(text)) + text[token.end() :]


def long_word(draw: Draw, text: bytes) -> bytes:
    """Replace a word by a long one, or by a number of many digits."""
    found = [*_TOKEN.finditer(text)]
    if not found:
        return repeated(draw, text)
    token = draw.choice(found)
    letter = draw.choice([b"a", b"1", b"9", b"0", b"\t", b" ", b"-", b"\\", b"\xc3\xa9"])
    return text[: token.start()] + letter * _filled(draw, letter, len(text)) + text[token.end() :]


def nested(draw: Draw, text: bytes) -> bytes:
    """Put brackets around a place, or open ones before it."""
    opened, closed = draw.choice(_BRACKETS)
    at = draw.randrange(len(text) + 1)
    count = _filled(draw, opened + closed, len(text))
    behind = closed * count if draw.random() < 0.6 else b""
    return text[:at] + opened * count + behind + text[at:]


def larger(draw: Draw, text: bytes) -> bytes:
    """Replace a few numbers by large ones."""
    share = draw.choice([0.02, 0.1, 0.5, 1.0])
    number = draw.choice(_LARGE)
    return _NUMBER.sub(lambda found: number if draw.random() < share else found[0], text)


_WAYS: list[Callable[[Draw, bytes], bytes]] = [
    *[repeated] * 3, *[numbered] * 5, *[stretched] * 2, *[long_word] * 2, nested, larger,
]  # fmt: skip


def swollen(draw: Draw, text: bytes) -> bytes:
    """A text, grown in one way or two, of a MiB at most."""
    for _ in range(draw.choice([1, 1, 1, 2])):
        text = draw.choice(_WAYS)(draw, text[:MOST_BYTES])
    return text[:MOST_BYTES]
