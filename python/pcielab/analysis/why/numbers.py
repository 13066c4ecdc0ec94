"""Numbers in sentences.

Stands alone: every question of `why` words its numbers by it.
"""

from collections.abc import Sequence

_SHOWN_TIMES = 4.0


def percent_text(percent: float) -> str:
    """A gain: `+18 %`, or `+0.8 %` where it is small."""
    return f"{percent:+.0f} %" if abs(percent) >= 1 else f"{percent:+.1f} %"


def near(bounds: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """The bounds that a picture shows: those of at most four times the tightest."""
    return [(name, value) for name, value in bounds if value <= _SHOWN_TIMES * bounds[0][1]]


def listed(words: Sequence[str]) -> str:
    """Words with commas, and `and` before the last."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
