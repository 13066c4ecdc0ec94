"""Known words that resemble an unknown one: those with its parts first, then those with its letters.

The parts of `bw-read` are `bw` and `read`. A part matches one of a known word that is equal, that begins with it,
or that abbreviates it: `read` matches `rd`. The compiled half compares (`pcie_refusal::alike`).
"""

from collections.abc import Iterable

from pcielab import _core


def alike(word: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The known words that resemble an unknown one, the closest first; empty if there are none.

    Args:
        word: The unknown word.
        known: The known words.
        most: Most words to return.
    """
    return _core.alike(_encodable(word), list(known), most)


def with_parts(word: str, known: Iterable[str]) -> list[str]:
    """Known words that have all parts of `word`, in their order; abbreviations count if nothing else matches."""
    return _core.with_parts(_encodable(word), list(known))


def with_most_parts(word: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The known words that have the most parts of `word`; empty if none has any."""
    return _core.with_most_parts(_encodable(word), list(known), most)


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word closest to `word`; None if none is close."""
    return _core.closest(_encodable(word), list(known))


def suggestion(word: str, known: Iterable[str]) -> str:
    """A remedy for an unknown word: the closest known ones, and all known ones if they are few."""
    return _core.suggestion(_encodable(word), list(known))


def either(words: list[str]) -> str:
    """Words as alternatives: `a`, `a or b`, `a, b or c`."""
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _encodable(word: str) -> str:
    """A word without lone surrogates, which an argument that is not UTF-8 has."""
    return word.encode("utf-8", "replace").decode("utf-8")
