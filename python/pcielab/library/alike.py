"""Known words that resemble an unknown one: those with its parts first, then those with its letters.

The parts of `bw-read` are `bw` and `read`. A part matches one of a known word that is equal, that begins with it,
or that abbreviates it: `read` matches `rd`. Units match nothing, because half of all keys end in `_ns`.
"""

import difflib
import re
from collections.abc import Callable, Iterable

from pcielab.wording import MOST_LETTERS

UNITS = frozenset(["ps", "ns", "us", "ms", "s", "bits", "b", "bytes", "kb", "kib", "mb", "mib", "gb", "gib"])
_PART = re.compile(r"[a-z]+|\d+")
_MISTYPED = 0.8
"""Share of common letters from which a word is a known one with a typing error."""
_CLOSE = 0.55
"""Share of common letters from which a word without common parts is offered."""
_LEAST_LETTERS = 2


def alike(word: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The known words that resemble an unknown one, the closest first; empty if there are none.

    Args:
        word: The unknown word.
        known: The known words.
        most: Most words to return.
    """
    if len(word) > MOST_LETTERS:
        return []
    choices = {choice: _likeness(word, choice) for choice in known}
    by_letters = sorted(choices, key=lambda choice: -choices[choice])
    if by_letters and choices[by_letters[0]] >= _MISTYPED:
        return [choice for choice in by_letters if choices[choice] == choices[by_letters[0]]][:most]
    close = [choice for choice in by_letters[:1] if choices[choice] >= _CLOSE]
    return with_parts(word, by_letters)[:most] or close


def with_parts(word: str, known: Iterable[str]) -> list[str]:
    """Known words that have all parts of `word`, in their order; abbreviations count if nothing else matches."""
    parts = _parts(word)
    choices = [choice for choice in known if parts] if len(word) <= MOST_LETTERS else []
    found: list[str] = []
    for matches in (_begins, _resembles):
        found = found or [choice for choice in choices if _matching(parts, choice, matches) == len(parts)]
    return found


def parts_first(word: str, known: Iterable[str]) -> list[str]:
    """All known words, those with most parts of `word` first, otherwise in their order."""
    parts = _parts(word) if len(word) <= MOST_LETTERS else []
    return sorted(known, key=lambda choice: -_matching(parts, choice, _resembles))


def with_most_parts(word: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The known words that have the most parts of `word`; empty if none has any."""
    parts = _parts(word) if len(word) <= MOST_LETTERS else []
    counts = {choice: _matching(parts, choice, _begins) for choice in known}
    best = max(counts.values(), default=0)
    return [choice for choice, count in counts.items() if count == best][:most] if best else []


def either(words: list[str]) -> str:
    """Words as alternatives: `a`, `a or b`, `a, b or c`."""
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _likeness(word: str, choice: str) -> float:
    return difflib.SequenceMatcher(None, choice, word).ratio()


def _parts(word: str) -> list[str]:
    return [part for part in _PART.findall(word.lower()) if part not in UNITS]


def _matching(parts: Iterable[str], choice: str, matches: Callable[[str, str], bool]) -> int:
    """The number of parts that match one of a known word."""
    known = _parts(choice)
    return sum(any(matches(part, other) for other in known) for part in parts)


def _begins(part: str, known: str) -> bool:
    return part == known or (len(part) >= _LEAST_LETTERS and known.startswith(part))


def _resembles(part: str, known: str) -> bool:
    return _begins(part, known) or (len(known) >= _LEAST_LETTERS and _abbreviates(known, part))


def _abbreviates(short: str, long: str) -> bool:
    """Whether `short` has letters of `long` in order, with the same first one: `rd` of `read`."""
    letters = iter(long)
    return (
        short[0] == long[0] and len(short) < len(long) and short.isalpha() and all(one in letters for one in short)
    )
