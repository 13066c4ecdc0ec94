"""Random changes to inputs: to tables as TOML holds them, and to the text of a file.

Most changes are small, because an input with one wrong value passes the most checks. New values are those that
people and programs write by mistake (wrong units, other types, "nan", a register that reads as all ones), or to do
harm (numbers of thousands of digits, ten thousand brackets, paths to other folders).
"""

import datetime
import random
import re
from collections.abc import Callable
from typing import Any

WHOLE = [0, 1, 2, 3, 5, 7, 63, 64, 65, 127, 255, 256, 1000, 4095, 4096, 4097, 65_535, 65_536, 10**6, 10**9]
WHOLE += [-1, -(2**31), -(2**63), 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**30]
REAL = [0.0, -0.0, 0.5, 1.0, 1.5, -1.0, 1e-3, 1e-9, 1e-300, 5e-324, 1e3, 1e6, 1e9, 1.0000001e9, 1e15, 1e19, 1e308]
REAL += [float("inf"), float("-inf"), float("nan")]
WORDS = ["", " ", "nan", "inf", "none", "null", "true", "²", "٣", "1e999", "1e19", "0x10", "1_000", "-", "#", "="]
WORDS += ["é", "\x7f", "\x00", "\x1b[2J", "\u202e", "\ufeff", "😀", "a" * 5_000, "9" * 5_000, "a.b.c", "{", "}"]
WORDS += ["{}", "{0}", "{size:>900000000}", "{size:{size}}", "{size!r:>999}", "{direction.__class__}", "%n%s"]
WORDS += ["<script>", "'\"", "../x.toml", "/dev/null", "/etc/hostname", "~nosuchuser/x.toml", "./", "a/b.toml"]
WORDS += ["x.toml", "\\\\?\\nul", "1:1e19", "1:99999999999", "1:1000000:1", "64:1", "64:64:0", "1:2:3:4", "4K"]
WORDS += ["1.5M", "0K", "K", "1.0000001"]
WORDS += ["fixed", "random", "cold", "stream", "packet", "hsw2620", "gen3-x8", "infinite", "BW_DMA_RD", "per-flow"]

Draw = random.Random


def value(draw: Draw, old: Any = None) -> Any:
    """A replacement for `old`, mostly of the same type."""
    kind = draw.random()
    if isinstance(old, bool) and kind < 0.5:
        return not old
    if isinstance(old, int) and kind < 0.6:
        return draw.choice(WHOLE) if draw.random() < 0.6 else int(old * draw.choice([-1, 2, 10, 1000, 10**6]))
    if isinstance(old, float) and kind < 0.6:
        return draw.choice(REAL) if draw.random() < 0.6 else old * draw.choice([-1, 0.001, 10.0, 1e6, 1e12])
    if isinstance(old, str) and kind < 0.6:
        return draw.choice(WORDS) if draw.random() < 0.7 else text(draw, old.encode()).decode(errors="replace")
    return draw.choice(
        [
            lambda: draw.choice(WHOLE),
            lambda: draw.choice(REAL),
            lambda: draw.choice(WORDS),
            lambda: draw.random() < 0.5,
            lambda: [],
            lambda: {},
            lambda: [old if old is not None else 0] * draw.choice([1, 2, 1000]),
            lambda: {"key": old if old is not None else 0},
            lambda: [[], {}, [{}]],
            lambda: datetime.date(2018, 8, 20),
        ]
    )()


def table(draw: Draw, content: dict[str, Any]) -> dict[str, Any]:
    """A copy of nested tables with one to three changes."""
    copied: dict[str, Any] = _copied(content)
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        _change(draw, copied)
    return copied


def _copied(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _copied(inner) for key, inner in content.items()}
    return [_copied(inner) for inner in content] if isinstance(content, list) else content


def _change(draw: Draw, content: dict[str, Any]) -> None:
    holder: Any = content
    while True:
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        if not keys:
            _insert(draw, holder)
            return
        key = draw.choice(keys)
        inner = holder[key]
        if isinstance(inner, dict | list) and inner and draw.random() < 0.85:
            holder = inner
            continue
        break
    change = draw.random()
    if change < 0.70:
        holder[key] = value(draw, inner)
    elif change < 0.80:
        del holder[key]
    elif change < 0.88:
        _insert(draw, holder)
    elif isinstance(holder, dict):
        other = draw.choice(list(holder))
        holder[key], holder[other] = holder[other], holder[key]
    else:
        holder.extend(_copied(holder) * draw.choice([1, 1, 200]))


def _insert(draw: Draw, holder: Any) -> None:
    if isinstance(holder, dict):
        holder[draw.choice([*WORDS, "base", "set", "name", *holder]) or "empty"] = value(draw)
    else:
        holder.insert(draw.randrange(len(holder) + 1), value(draw))


def text(draw: Draw, content: bytes) -> bytes:
    """A copy of the bytes of a text with one to three changes."""
    for _ in range(draw.choice([1, 1, 2, 3])):
        content = draw.choice(_TEXT_CHANGES)(draw, content)
    return content


def _offset(draw: Draw, content: bytes) -> int:
    return draw.randrange(len(content) + 1)


def _cut(draw: Draw, content: bytes) -> bytes:
    return content[: _offset(draw, content)]


def _drop(draw: Draw, content: bytes) -> bytes:
    start = _offset(draw, content)
    return content[:start] + content[start + draw.choice([1, 1, 1, 8, 64]) :]


def _flip(draw: Draw, content: bytes) -> bytes:
    start = _offset(draw, content)
    return content[:start] + bytes([draw.randrange(256)]) + content[start + 1 :]


def _put_in(draw: Draw, content: bytes) -> bytes:
    start = _offset(draw, content)
    pieces = [*(word.encode() for word in WORDS), *(str(number).encode() for number in [*WHOLE, *REAL])]
    pieces += [
        b"\n",
        b"\r\n",
        b",",
        b'"',
        b"'''",
        b"[",
        b"]]",
        b"\xff",
        b"\xc3",
        b"\t",
        b"[" * 20_000,
        b"1" * 5_000,
    ]
    return content[:start] + draw.choice(pieces) + content[start:]


def _number(draw: Draw, content: bytes) -> bytes:
    """Replace a number."""
    digits = [found.start() for found in _DIGIT.finditer(content)]
    if not digits:
        return content
    first = last = draw.choice(digits)
    while first and content[first - 1 : first] in _NUMBER:
        first -= 1
    while last < len(content) and content[last : last + 1] in _NUMBER:
        last += 1
    new = draw.choice([*WHOLE, *REAL, "9" * 5_000, "1e400000000", "nan"])
    return content[:first] + str(new).encode() + content[last:]


_DIGIT = re.compile(rb"[0-9\xb2\xb3\xb9]")
"""A digit, or a superscript of Latin-1."""
_NUMBER = frozenset(bytes([byte]) for byte in b"0123456789.")


def _line(draw: Draw, content: bytes) -> bytes:
    """Repeat, delete or swap a line."""
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    index, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    change = draw.random()
    if change < 0.3:
        lines[index:index] = [lines[index]] * draw.choice([1, 1, 100])
    elif change < 0.6:
        del lines[index]
    else:
        lines[index], lines[other] = lines[other], lines[index]
    return b"".join(lines)


_TEXT_CHANGES: list[Callable[[Draw, bytes], bytes]]
_TEXT_CHANGES = [_cut, _drop, _flip, _put_in, _put_in, _number, _number, _line]
