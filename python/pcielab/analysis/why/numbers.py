"""Numbers in sentences, and the check of a measured one."""

from collections.abc import Sequence

from pcielab.errors import refusal
from pcielab.wording import shown

LEAST_MEASURED, MOST_MEASURED = 1e-6, 1e9
"""Range of a measured value: Gb/s, or ns, of which the highest is a second."""


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


def digits(value: float) -> str:
    """A value with three digits or more: `0.0839`, `6.81`, `39.1`, `1430`."""
    if value >= 100 or value == 0:
        return f"{value:.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 1 else f"{value:.3g}"


def percent_text(percent: float) -> str:
    """A gain: `+18 %`, or `+0.8 %` where it is small."""
    return f"{percent:+.0f} %" if abs(percent) >= 1 else f"{percent:+.1f} %"


def counted(some: int, of: int, one: str, many: str) -> str:
    """Some of all: `3 of 5 rates`, `the only rate`."""
    return f"{some} of {of} {many}" if of > 1 else f"the only {one}"


def listed(words: Sequence[str], conjunction: str = "and") -> str:
    """Words with commas, and a conjunction before the last."""
    *most, last = [*words] or ["nothing"]
    return f"{', '.join(most)} {conjunction} {last}" if most else last
