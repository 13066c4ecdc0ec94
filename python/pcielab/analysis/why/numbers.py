"""Numbers in sentences, and the check of a measured one."""

from collections.abc import Sequence

from pcielab.errors import refusal
from pcielab.wording import shown

LEAST_MEASURED, MOST_MEASURED = 1e-6, 1e9
"""Range of a measured value: Gb/s, or ns, of which the highest is a second."""
_SHOWN_TIMES = 4.0


def check_measured(value: float | None) -> None:
    """Refuse an impossible measured value.

    Raises:
        InputError: It is not a number within the range.
    """
    if value is None:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not LEAST_MEASURED <= value <= MOST_MEASURED:
        given = f"{value:g}" if isinstance(value, float) else shown(value)
        raise refusal(
            "out-of-range",
            f"--measured {given}: give a value above 0, from {LEAST_MEASURED:g} to {MOST_MEASURED:g}, in Gb/s, or "
            "in ns for a test of latency",
        )


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
